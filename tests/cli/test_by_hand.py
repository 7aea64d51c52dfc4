"""Points that a person sets, or takes from another grading: what the commands write, and what they leave alone."""

from __future__ import annotations

from tests.cli.test_grades import put, run
from tests.samples import a_check, a_part


def test_points_of_another_device_are_taken_over(monkeypatch, capsys, tmp_path):
    """Who has no result there is passed over."""
    owed = a_check(outcome="unavailable", points=0, reason="no bar for cpu")
    for name in ("ada", "ben"):
        put(tmp_path / "cpu", name, a_part("part3_amp", "AMP", owed))
    put(tmp_path / "gpu", "ada", a_part("part3_amp", "AMP", a_check(outcome="passed", points=6)))
    _, once, _ = run(monkeypatch, capsys, "settle", tmp_path / "cpu", tmp_path / "gpu")
    _, twice, _ = run(monkeypatch, capsys, "settle", tmp_path / "cpu", tmp_path / "gpu")

    left = "6 points of 1 submission still owed\n"
    assert f"ada: part3_amp.amp_is_faster\n1 check settled for 1 submission; {left}" in once
    assert f"0 checks settled for 0 submissions; {left}" in twice
    assert "judged on" in (tmp_path / "cpu/ada/feedback.html").read_text()


def test_a_sheet_with_points_that_were_not_read_in_is_not_written_over(
    monkeypatch, capsys, tmp_path
):
    """Once they are read in, it is written anew."""
    notes = a_check(id="notes", basis="person", outcome="unavailable", points=0, max_points=2)
    put(tmp_path / "out", "ada", a_part("part3_amp", "AMP", notes))
    words = ("rubric", tmp_path / "out", "--out", tmp_path / "sheet.csv")
    first, _, _ = run(monkeypatch, capsys, *words)
    rows = (tmp_path / "sheet.csv").read_text(encoding="utf-8-sig")
    typed = rows.replace("ada,part3_amp.notes,,", "ada,part3_amp.notes,1.5,")
    (tmp_path / "sheet.csv").write_text(typed, encoding="utf-8-sig")
    refused, _, said = run(monkeypatch, capsys, *words)
    kept = (tmp_path / "sheet.csv").read_text(encoding="utf-8-sig")
    run(monkeypatch, capsys, "rubric", tmp_path / "out", "--read", tmp_path / "sheet.csv")
    again, _, _ = run(monkeypatch, capsys, *words)

    assert (0, 2, 0) == (first, refused, again)
    assert "sheet.csv: 1 row not read in yet; perflab rubric" in said
    assert typed == kept != rows


def test_where_nothing_is_to_be_read_there_is_no_sheet(monkeypatch, capsys, tmp_path):
    results = tmp_path / "results"
    put(results, "ada", a_part("part3_amp", "AMP", a_check()))
    status, said, _ = run(monkeypatch, capsys, "rubric", results, "--out", tmp_path / "sheet.csv")

    assert (0, False) == (status, (tmp_path / "sheet.csv").exists())
    assert f"{results}: nothing in it is for a person to read, so there is no sheet\n" == said


def test_one_result_is_settled_and_the_pages_of_its_folder_are_written_again(
    monkeypatch, capsys, tmp_path
):
    owed = a_check(outcome="error", points=0, cause="aside", reason="set aside: its grader died")
    put(tmp_path / "out", "cy", a_part("part3_amp", "AMP", owed))
    put(tmp_path / "alone", "cy", a_part("part3_amp", "AMP", a_check(outcome="passed", points=6)))
    _, said, _ = run(monkeypatch, capsys, "settle", tmp_path / "out/cy", tmp_path / "alone")

    assert "cy: part3_amp.amp_is_faster\n1 check settled for 1 submission; nothing is owed" in said
    assert "cy,6,6," in (tmp_path / "out/grades.csv").read_text()
    assert "Set aside" not in (tmp_path / "out/index.html").read_text()
