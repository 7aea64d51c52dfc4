"""What is handed in: the same files from a folder, zip or tar, which of them are taken, and what is kept with them."""

from __future__ import annotations

import json
import tarfile
import time
import zipfile
from pathlib import Path

import pytest

from autograder.errors import SubmissionError
from autograder.handed_in.submission import load, packed, unpacked
from autograder.handed_in.unpack import MIB, Caps
from autograder.model import Submission
from tests.handed_in.archives import (
    CODE,
    CSV,
    FILES,
    LISTED,
    PNG,
    PY,
    folder,
    special,
    tarred,
    zipped,
)

# The same content


HIDDEN = ".perflab/attempts.jsonl"


def test_the_attempts_that_a_student_kept_are_no_part_of_a_submission(tmp_path: Path):
    """Neither taken nor hashed nor noted, even below the name of a listed file."""
    kept = FILES | {HIDDEN: b"{}\n", f".perflab/{PY}": b"1"}
    ways = [
        folder(tmp_path / "ada", kept),
        zipped(tmp_path / "ada.zip", *kept.items()),
        tarred(tmp_path / "ada.tar.gz", *kept.items()),
    ]
    plain = load(folder(tmp_path / "plain" / "ada", FILES), LISTED)

    assert [plain] * 3 == [load(way, [*LISTED, "attempts.jsonl"]) for way in ways]


REQUESTS = {
    "on top": ({"request.md": b"part3_amp.x\nwhy"}, "part3_amp.x\nwhy"),
    "the one on top of two": ({"request.md": b"top", "old/request.md": b"below"}, "top"),
    "not a text": ({"request.md": b"\xff\xfea"}, "\nrequest.md cannot be read: it is UTF-16 text"),
    "none": ({}, ""),
}


@pytest.mark.parametrize(("more", "said"), REQUESTS.values(), ids=REQUESTS)
def test_a_request_for_a_second_look_is_read_and_is_no_part_of_the_work(
    tmp_path: Path, more: dict[str, bytes], said: str
):
    plain = load(folder(tmp_path / "plain", FILES), LISTED)
    asking = load(folder(tmp_path / "asking", {**FILES, **more}), LISTED)

    assert asking.request.startswith(said)
    assert (plain.sha256, plain.files, ()) == (asking.sha256, asking.files, asking.left_out)


def test_a_folder_a_zip_and_a_tar_of_the_same_files_are_the_same_submission(tmp_path: Path):
    ways = [
        folder(tmp_path / "ada", FILES),
        zipped(tmp_path / "ada.zip", *FILES.items()),
        zipped(
            tmp_path / "ada.ZIP",
            ("lab\\", b""),
            *((f"lab\\{name}", data) for name, data in FILES.items()),
        ),
        tarred(tmp_path / "ada.tar", *FILES.items(), mode="w"),
        tarred(
            tmp_path / "ada.tgz",
            (special("./ada", tarfile.DIRTYPE), b""),
            *((f"./ada/{name}", data) for name, data in reversed(FILES.items())),
        ),
        tarred(tmp_path / "ada.tar.gz", *FILES.items()),
    ]
    found = [load(way, LISTED) for way in ways]

    assert [Submission("ada", found[0].sha256, FILES)] * len(ways) == found


def test_an_archive_is_known_by_its_content_and_not_by_its_name(tmp_path: Path):
    tarred(tmp_path / "ada.zip", (PY, CODE))
    zipped(tmp_path / "bob.tar.gz", (PY, CODE))

    assert [{PY: CODE}] * 2 == [
        load(tmp_path / name, LISTED).files for name in ("ada.zip", "bob.tar.gz")
    ]


def test_the_hash_changes_with_a_name_with_a_byte_and_with_where_one_file_ends(tmp_path: Path):
    contents = [
        {PY: b"ab", CSV: b"c"},
        {PY: b"a", CSV: b"bc"},
        {PY: b"ab", CSV: b"d"},
        {PY: b"ab"},
        {CSV: b"ab"},
        {},
    ]
    found = {
        load(folder(tmp_path / str(i), files or {"x": b""}), LISTED).sha256
        for i, files in enumerate(contents)
    }

    assert len(contents) == len(found)


def test_a_byte_order_mark_is_taken_off_a_text_and_off_nothing_else(tmp_path: Path):
    found = load(folder(tmp_path, {PY: b"\xef\xbb\xbf" + CODE, PNG: b"\xef\xbb\xbf"}), LISTED)

    assert {PY: CODE, PNG: b"\xef\xbb\xbf"} == found.files


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("ada.zip", "ada"),
        ("ada.v1.tar.gz", "ada.v1"),
        ("...zip", "submission"),
        (".zip", "submission"),
        ("a\x1b[31m.zip", "a?[31m"),
    ],
    ids=["zip", "dots inside", "only dots", "no stem", "control characters"],
)
def test_the_name_is_the_stem_fit_to_be_shown_and_to_be_a_folder(
    tmp_path: Path, file: str, name: str
):
    assert name == load(zipped(tmp_path / file, (PY, CODE)), LISTED).name


def test_a_dot_is_named_as_the_folder_it_stands_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(folder(tmp_path / "ada.v1", FILES))

    assert load(Path(), LISTED).name == "ada.v1"


# Where files are found


def test_files_come_from_the_shallowest_folder_that_holds_a_listed_one(tmp_path: Path):
    path = zipped(
        tmp_path / "a.zip",
        ("lab/sub/part3_amp.py", b"new"),
        ("lab/sub/baseline/part3_amp.py", b"old"),
        ("notes.txt", b""),
    )
    found = load(path, LISTED)

    assert ({PY: b"new"}, ("notes.txt", "lab/sub/baseline/part3_amp.py")) == (
        found.files,
        found.left_out,
    )


def test_files_of_two_folders_side_by_side_are_taken_when_each_name_stands_once(tmp_path: Path):
    assert {PY: CODE, CSV: b"x"} == load(
        folder(tmp_path, {f"p3/{PY}": CODE, f"results/{CSV}": b"x"}), LISTED
    ).files


def test_what_systems_and_editors_leave_behind_is_passed_over(tmp_path: Path):
    litter = [
        f"__MACOSX/._{PY}",
        f"__MACOSX/{PY}",
        f".ipynb_checkpoints/{PY}",
        f".git/{PY}",
        f"__pycache__/{PY}",
        ".DS_Store",
    ]
    names = [*litter, f"ada/{PY}"]
    ways = [
        folder(tmp_path / "a", dict.fromkeys(names, CODE)),
        zipped(tmp_path / "a.zip", *((n, CODE) for n in names)),
    ]

    assert [({PY: CODE}, {}, ())] * 2 == [
        (s.files, s.refused, s.left_out) for s in (load(way, LISTED) for way in ways)
    ]


def test_an_empty_folder_zip_or_tar_is_a_submission_without_files(tmp_path: Path):
    (tmp_path / "a").mkdir()
    ways = [
        tmp_path / "a",
        zipped(tmp_path / "a.zip"),
        tarred(tmp_path / "a.tar", mode="w"),
        tarred(tmp_path / "a.tgz"),
    ]

    assert [{}] * 4 == [load(way, LISTED).files for way in ways]


def test_at_most_fifty_names_are_left_out_by_name_and_none_can_steer_a_terminal(tmp_path: Path):
    names = ["\x1b[2J\u202e.txt", *(f"{i:03}.txt" for i in range(80)), "z" * 300]
    found = load(zipped(tmp_path / "a.zip", *((n, b"") for n in names)), LISTED).left_out

    assert (50, "?[2J?.txt") == (len(found), found[0])


def test_a_data_set_deep_in_a_folder_does_not_hide_the_files_above_it(tmp_path: Path):
    folder(tmp_path, {PY: CODE, **{f"data/{i}": b"" for i in range(8)}, "data/more/x": b""})

    assert {PY: CODE} == load(tmp_path, LISTED, Caps(entries=5)).files


def test_folders_nested_without_end_are_not_followed_to_it(tmp_path: Path):
    assert load(folder(tmp_path, {"d/" * 8 + PY: CODE}), LISTED).files == {}


def test_names_without_number_and_of_any_script_are_kept_with_the_submission(tmp_path: Path):
    """What is said of them fits into no comment of a zip, and reads back all the same."""
    strange = [f"{n}{chr(0x1F600) * 100}" for n in range(50)]
    twice = [(f"{side}/{file}", b"") for side in "ab" for file in (PY, CSV)]
    found = load(zipped(tmp_path / "ada.zip", *((name, b"") for name in strange), *twice), LISTED)
    (tmp_path / "kept.zip").write_bytes(packed(found))

    assert found == unpacked(tmp_path / "kept.zip", "ada", LISTED)
    assert (50, {PY, CSV}) == (len(found.left_out), {*found.refused})


def test_what_was_kept_in_the_comment_of_a_zip_is_still_read(tmp_path: Path):
    """Results of an earlier perflab can be replayed, and go on."""
    found = load(folder(tmp_path / "ada", {PY: CODE, "x.txt": b""}), LISTED)
    rest = {
        "sha256": found.sha256,
        "refused": {CSV: "too large"},
        "left_out": ["x.txt"],
        "notes": ["one"],
    }
    with zipfile.ZipFile(tmp_path / "kept.zip", "w") as kept:
        kept.writestr(PY, CODE)
        kept.comment = json.dumps(rest).encode()

    read = unpacked(tmp_path / "kept.zip", "ada", LISTED)
    assert (found.files, found.sha256, {CSV: "too large"}, ("x.txt",), ("one",)) == (
        read.files, read.sha256, read.refused, read.left_out, read.notes,
    )  # fmt: skip


@pytest.mark.parametrize(
    "comment", [b"", b'{"sha256": "12', b"[]", b'{"sha256": 1, "refused": {}, "left_out": []}']
)
def test_what_was_kept_and_cannot_be_read_back_is_one_line(tmp_path: Path, comment: bytes):
    """The comment of a zip is cut off at 64 KiB."""
    with zipfile.ZipFile(tmp_path / "kept.zip", "w") as kept:
        kept.comment = comment
    with pytest.raises(
        SubmissionError, match=r"kept\.zip: what was kept cannot be read back \(.*\); grade again"
    ):
        unpacked(tmp_path / "kept.zip", "ada", LISTED)


@pytest.mark.parametrize(
    ("code", "noted"),
    [
        pytest.param("from autograder.worker import plans\n", 1, id="imported"),
        pytest.param("import torch, autograder.worker as w\n", 1, id="among others"),
        pytest.param(
            "x = importlib.import_module('autograder.labs.resnet18.bonus.rig.plans')\n",
            1,
            id="by a text",
        ),
        pytest.param('x = sys.modules[f"autograder.{y}"]\n', 1, id="by a text with a value in it"),
        pytest.param("x = f'{load(\"autograder.worker\")}'\n", 1, id="by a piece of a text"),
        pytest.param(
            "x = f'{load('autograder.worker')}'\n", 1, id="by a piece in the quotes of the text"
        ),
        pytest.param(
            "if'autograder.worker' in sys.modules: pass\n", 1, id="by a text behind a word"
        ),
        pytest.param("x = '\nimport autograder\n", 1, id="below a text that does not end"),
        pytest.param("x = f'the autograder of {x}'\n", 0, id="in a sentence with a value in it"),
        pytest.param("# the autograder counts copies\nx = 1\n", 0, id="in a comment"),
        pytest.param('"""What an autograder measures."""\n', 0, id="in a sentence"),
        pytest.param("autograder_free = True\n", 0, id="part of a name"),
        pytest.param("import autograder\nimport autograder\n", 1, id="once a file"),
        pytest.param("x = (\n", 0, id="no Python"),
    ],
)
def test_a_file_that_names_the_grader_is_noted_and_taken(tmp_path: Path, code: str, noted: int):
    """Whoever looks into the package finds what answers are compared with; that is for a person to judge."""
    (tmp_path / "part1.py").write_text(code)

    seen = load(tmp_path, ["part1.py"])

    assert ["part1.py"] == list(seen.files)
    assert noted == len([note for note in seen.notes if "names the grader's own package" in note])


def test_a_file_takes_no_longer_to_look_through_than_it_is_long(tmp_path: Path):
    """A megabyte of quotes that open and never close was hours to the tokenizer, outside of every limit."""
    (tmp_path / PY).write_bytes(b"# autograder\n" + b"'\\" * (MIB // 2 - 10))
    began = time.process_time()

    assert [PY] == list(load(tmp_path, LISTED).files)
    assert time.process_time() - began < 60
