"""The sheet of what a person reads: evidence filled in, points read back, all or nothing, as often as one likes."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from zipfile import ZipFile

import pytest

from autograder.errors import UserError
from autograder.handed_in.roster import Student
from autograder.results import overrides, rubric
from autograder.results.overrides import applied
from autograder.results.standing import Standing
from tests.samples import a_part, a_result, a_silent_check

ITEM = "part3_amp.explains_where_autocast_goes"


def a_standing(tmp_path, name="ada", **changes):
    """A result with a folder that keeps what was written."""
    home = tmp_path / name
    home.mkdir(exist_ok=True)
    with ZipFile(home / "handed_in.zip", "w") as kept:
        kept.writestr("part3_notes.md", "=cmd() Autocast stands around the forward pass.")
        kept.writestr("part4_notes.md", "of another part")
        kept.writestr("part3_amp.py", "code")
    return Standing(a_result(submission=name, **changes), home, Student(name))


def lines(text):
    return list(csv.DictReader(io.StringIO(text, newline="")))


def filled(tmp_path, standings, **cells):
    """The sheet as an instructor hands it back."""
    file = tmp_path / "rubric.csv"
    rows = [{**row, **cells} for row in lines(rubric.table(standings))]
    with file.open("w", newline="", encoding="utf-8-sig") as out:
        writer = csv.DictWriter(out, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return file


def read(file, standings):
    return rubric.read(file, standings, by="meera", at="now")


def test_a_sheet_with_bare_digits_of_the_files_is_read(tmp_path):
    """As sheets were once written: nobody fills one in twice."""
    one = a_standing(tmp_path)
    file = filled(tmp_path, [one], points="1", files=one.result.submission_sha256[:12])

    assert [1.0] == [made.points for _, made in read(file, [one])]


def test_the_sheet_has_a_row_an_item_with_what_was_written(tmp_path):
    """Beside it what the checks of that part found; no cell is a formula."""
    [row] = lines(rubric.table([a_standing(tmp_path)]))

    assert ("ada", ITEM, "", "2", "") == tuple(row[name] for name in rubric.COLUMNS[:5])
    assert "'=cmd() Autocast stands around the forward pass." == row["written"]
    assert "sha256 " == row["files"][:7]  # bare digits a spreadsheet would take for a number
    assert "passed 6/6 follows_fp32\nfailed 0/6 amp_is_faster" in row["checks"]
    assert "owed 0/2 explains_where_autocast_goes" in row["checks"]


def test_the_answer_of_the_reference_stands_beside_it(tmp_path):
    """Without the marks that cut it from the template."""
    answer = b"## Why?\n\n<!-- BEGIN SOLUTION -->\nBecause.\n<!-- END SOLUTION -->\n"
    models = {"resnet18": {"part3_notes.md": answer, "part4_notes.md": b"of another part"}}
    [row] = lines(rubric.table([a_standing(tmp_path)], models))

    assert "## Why?\n\nBecause." == row["model"].strip()
    report = {"report.md": b"whole", "bonus_notes.md": b"a bonus", "bonus.py": b"code"}
    [row] = lines(rubric.table([a_standing(tmp_path)], {"resnet18": report}))
    assert "whole" == row["model"]


def test_a_report_is_shown_with_its_figures(tmp_path):
    """Where a part has no notes of its own, what is no part's is its; a name of nothing is left as it is."""
    one = a_standing(tmp_path)
    with ZipFile(one.home / "handed_in.zip", "w") as kept:
        kept.writestr("report.md", "It is {AMP.speedup}x as fast. {AMP.speedup:.2f}")
        kept.writestr("results.csv", "name,speedup\nAMP,2.5\n")
    assert "It is 2.5x as fast. 2.50" == lines(rubric.table([one]))[0]["written"]

    with ZipFile(one.home / "handed_in.zip", "w") as kept:
        kept.writestr("report.md", "It is {AMP.speedup}x as fast.")
    assert "It is {AMP.speedup}x as fast." == lines(rubric.table([one]))[0]["written"]


def test_an_upload_that_could_not_be_read_has_no_row(tmp_path):
    """There is nothing to read, and all of its points are one task of their own."""
    notes = a_silent_check(id="why", outcome="unread", basis="person")

    assert [] == lines(rubric.table([a_standing(tmp_path, parts=(a_part("p", "P", notes),))]))


def test_nothing_kept_is_an_empty_cell(tmp_path):
    """As is an archive that is broken."""
    one = a_standing(tmp_path)
    for damage in (lambda file: file.write_bytes(b"PK"), lambda file: file.unlink()):
        damage(one.home / "handed_in.zip")

        assert "" == lines(rubric.table([one]))[0]["written"]


def test_points_are_read_back_as_decisions(tmp_path):
    """With the comment as the reason; rows without points wait on."""
    one = a_standing(tmp_path)
    [(home, made)] = read(filled(tmp_path, [one], points="1.5", comment="half of it"), [one])

    assert (one.home, ITEM, 1.5, "half of it", "meera") == (
        home,
        made.check,
        made.points,
        made.reason,
        made.by,
    )
    assert "read by a person" == read(filled(tmp_path, [one], points="0"), [one])[0][1].reason
    assert [] == read(filled(tmp_path, [one]), [one])


def test_a_sheet_read_twice_changes_nothing_the_second_time(tmp_path):
    """And what was set is in the next sheet."""
    one = a_standing(tmp_path)
    file = filled(tmp_path, [one], points="1.5", comment="half of it")
    overrides.append(one.home, [made for _, made in read(file, [one])])
    after = replace(one, result=applied(one.result, overrides.read(one.home)))

    assert [] == read(file, [after])
    assert ("1.5", "half of it") == tuple(
        lines(rubric.table([after]))[0][name] for name in ("points", "comment")
    )


def test_a_sheet_of_a_spreadsheet_with_decimal_commas_is_read(tmp_path):
    """It has semicolons between its columns."""
    one = a_standing(tmp_path)
    [row] = lines(rubric.table([one]))
    (tmp_path / "s.csv").write_text(
        f"submission;item;points;files\nada;{ITEM};1,5;{row['files']}\n"
    )

    assert [1.5] == [made.points for _, made in read(tmp_path / "s.csv", [one])]


def test_points_can_be_taken_back_in_the_sheet(tmp_path):
    """As the message about wrong points says; where nothing was set there is nothing to take back."""
    one = a_standing(tmp_path)
    taken_back = filled(tmp_path, [one], points="graded")
    set_ = overrides.decide(one.result, ITEM, 1, "good", by="meera", at="now")
    after = replace(one, result=applied(one.result, [set_]))

    assert [] == read(taken_back, [one])
    assert [None] == [made.points for _, made in read(taken_back, [after])]


def test_an_item_that_has_points_twice_is_refused(tmp_path):
    """Two people's sheets, put together: which counts is theirs to say."""
    one = a_standing(tmp_path)
    file = filled(tmp_path, [one], points="1")
    file.write_text(file.read_text() + f"ada,{ITEM},2\n")
    with pytest.raises(UserError, match=f"row 3: '{ITEM}' of 'ada' has points twice; keep one"):
        read(file, [one])


def test_every_mistake_is_told_at_once(tmp_path):
    """Nobody reads the sheet back three times to find three of them."""
    one = a_standing(tmp_path)
    file = filled(tmp_path, [one], points="1")
    file.write_text(file.read_text() + f"zoe,{ITEM},2\nada,no.item,2\n")
    with pytest.raises(UserError) as raised:
        read(file, [one])

    assert [
        f"{file}: row 3: there is no result of 'zoe'",
        f"{file}: row 4: 'no.item' is no item that a person reads",
    ] == str(raised.value).splitlines()


MISTAKES = {
    "nobody": ({"submission": "zoe"}, "there is no result of 'zoe'"),
    "a check of the machine": (
        {"item": "part3_amp.follows_fp32"},
        "'part3_amp.follows_fp32' is no item that a person reads",
    ),
    "words": (
        {"points": "good"},
        "good: give points as a number, or 'graded' to take back what was set",
    ),
    "too many": (
        {"points": "3"},
        f"{ITEM}: 3 points; give 0 to 2 in hundredths, or 'graded' to take it back",
    ),
    "of other files": (
        {"files": "0" * 12},
        "the sheet is about other files than were graded; write a new one",
    ),
}


@pytest.mark.parametrize(("cells", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_one_line_and_nothing_is_read(tmp_path, cells, message):
    """With the row, as a spreadsheet counts: cells have many lines."""
    one = a_standing(tmp_path)
    file = filled(tmp_path, [one], **{"points": "1", **cells})
    with pytest.raises(UserError) as raised:
        read(file, [one])

    assert f"{file}: row 2: {message}" == str(raised.value)
