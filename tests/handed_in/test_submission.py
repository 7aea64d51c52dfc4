"""What is handed in: the same files from a folder, zip or tar, and an answer in words to everything hostile or broken."""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import stat
import tarfile
import time
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from autograder.errors import SubmissionError
from autograder.handed_in.notebook import Released
from autograder.handed_in.submission import load, packed, unpacked
from autograder.handed_in.unpack import MIB, Caps
from autograder.model import Submission

PY, CSV, PNG = "part3_amp.py", "amp_results.csv", "amp_comparison.png"
LISTED = [PY, CSV, PNG]
CODE = b"import torch\r\n\nprint('\xc3\xa9')\n"
FILES = {PY: CODE, CSV: b"precision,speedup\n", PNG: b"\x89PNG\r\n\x1a\n\x00\xff"}

LINK = "it is a link; hand in the file itself"
SPECIAL = "it is not an ordinary file; hand in the file itself"
OUTSIDE = "its path leads out of the archive; make the archive again"
DAMAGED = "it is damaged in the archive; make the archive again"


def folder(at: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        (at / name).parent.mkdir(parents=True, exist_ok=True)
        (at / name).write_bytes(data)
    return at


def zipped(
    at: Path, *entries: tuple[str | zipfile.ZipInfo, bytes], how: int = zipfile.ZIP_DEFLATED
) -> Path:
    with zipfile.ZipFile(at, "w", how) as archive:
        for name, data in entries:
            archive.writestr(name, data)
    return at


def tarred(at: Path, *entries: tuple[str | tarfile.TarInfo, bytes], mode: str = "w:gz") -> Path:
    with tarfile.open(at, mode) as archive:
        for name, data in entries:
            info = tarfile.TarInfo(name) if isinstance(name, str) else name
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return at


def special(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def mode(name: str, kind: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.create_system, info.external_attr = 3, (kind | 0o644) << 16
    return info


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


# One file that is refused while the rest is graded


TEXTS = {
    "UTF-16 with its mark": ("héllo".encode("utf-16"), "it is UTF-16 text; save it as UTF-8"),
    "UTF-16 without": ("héllo".encode("utf-16-le"), "it is UTF-16 text; save it as UTF-8"),
    "Latin-1": (
        "# ok\n# für\n".encode("latin-1"),
        "line 2 is not UTF-8 (it looks like Latin-1); save it as UTF-8",
    ),
    "marks of git": (
        b"x = 1\n<<<<<<< HEAD\nx = 2\n=======\nx = 3\n>>>>>>> theirs\n",
        "git left its marks of a conflict in it; settle that, and save it again",
    ),
    "half a character": (
        b"x = '\xed\xa0\x80'",
        "line 1 is not UTF-8 (it looks like Latin-1); save it as UTF-8",
    ),
    "a NUL byte": (b"x = 1\0\n", "it has a NUL byte at 5, so it is no text; save it as UTF-8"),
    "too large": (b"#" * (MIB + 1), "it is larger than 1 MiB"),
}


@pytest.mark.parametrize(("data", "why"), TEXTS.values(), ids=TEXTS)
def test_a_text_that_is_not_utf8_is_refused_and_named_for_what_it_looks_like(
    tmp_path: Path, data: bytes, why: str
):
    found = load(folder(tmp_path, FILES | {PY: data}), LISTED)

    assert ({PY: why}, {CSV, PNG}) == (found.refused, set(found.files))


ZIP_ENTRIES = {
    "a link": ([(mode(PY, stat.S_IFLNK), b"/etc/passwd")], LINK),
    "a FIFO": ([(mode(PY, stat.S_IFIFO), b"")], SPECIAL),
    "a device": ([(mode(PY, stat.S_IFBLK), b"")], SPECIAL),
    "above": ([(f"../{PY}", CODE)], OUTSIDE),
    "above by the back door": ([(f"a/..\\../{PY}", CODE)], OUTSIDE),
    "absolute": ([(f"/{PY}", CODE)], OUTSIDE),
    "on a drive": ([(f"C:\\{PY}", CODE)], OUTSIDE),
    "in two folders": (
        [(f"a/{PY}", CODE), (f"b/{PY}", CODE)],
        "it stands in 'a' and in 'b'; hand in one",
    ),
    "twice under two spellings": (
        [(PY, CODE), (f"./{PY}", b"evil")],
        "it is there twice; hand in one",
    ),
    "a link beside the file": (
        [(PY, CODE), (mode(f".//{PY}", stat.S_IFLNK), b"x")],
        "it is there twice; hand in one",
    ),
}


@pytest.mark.parametrize(("entries", "why"), ZIP_ENTRIES.values(), ids=ZIP_ENTRIES)
def test_a_zip_entry_that_is_no_plain_file_is_refused_in_words(
    tmp_path: Path, entries: list, why: str
):
    found = load(zipped(tmp_path / "a.zip", *entries), LISTED)

    assert ({}, {PY: why}) == (found.files, found.refused)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_that_stands_twice_in_an_archive_counts_neither_time(tmp_path: Path):
    ways = [
        zipped(tmp_path / "a.zip", (PY, CODE), (PY, b"evil")),
        tarred(tmp_path / "a.tar", (PY, CODE), (PY, b"evil")),
    ]

    assert [{PY: "it is there twice; hand in one"}] * 2 == [
        load(way, LISTED).refused for way in ways
    ]


TAR_ENTRIES = {
    "a symbolic link": (special(PY, tarfile.SYMTYPE, "/etc/passwd"), LINK),
    "a hard link": (special(PY, tarfile.LNKTYPE, CSV), LINK),
    "a FIFO": (special(PY, tarfile.FIFOTYPE), SPECIAL),
    "a device": (special(PY, tarfile.CHRTYPE), SPECIAL),
    "above": (tarfile.TarInfo(f"../{PY}"), OUTSIDE),
    "absolute": (tarfile.TarInfo(f"/tmp/{PY}"), OUTSIDE),
}


@pytest.mark.parametrize(("entry", "why"), TAR_ENTRIES.values(), ids=TAR_ENTRIES)
def test_a_tar_entry_that_is_no_plain_file_is_refused_in_words(
    tmp_path: Path, entry: tarfile.TarInfo, why: str
):
    found = load(tarred(tmp_path / "a.tar.gz", (CSV, b"x"), (entry, b"")), LISTED)

    assert ({CSV: b"x"}, {PY: why}) == (found.files, found.refused)


def test_links_and_special_files_of_a_folder_are_refused_and_never_opened(tmp_path: Path):
    """A FIFO would wait for a writer for ever; a link would read what the grader may read."""
    secret = folder(tmp_path / "secret", {"key.txt": b"secret", PNG: b"secret"})
    path = folder(tmp_path / "ada", {"x": b""})
    (path / PY).symlink_to(secret / "key.txt")
    (path / "linked").symlink_to(secret)
    os.mkfifo(path / CSV)
    found = load(path, LISTED)

    assert ({}, {PY: LINK, CSV: SPECIAL}, ("linked", "x")) == (
        found.files,
        found.refused,
        found.left_out,
    )


def test_a_folder_that_becomes_a_link_after_it_was_listed_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The kind is asked again of what was opened: only that cannot be exchanged any more."""
    path = folder(tmp_path / "ada", {f"sub/{PY}": CODE})
    folder(tmp_path / "secret", {PY: b"secret"})
    real = os.listdir

    def exchange(fd: int) -> list[str]:
        names = real(fd)
        if names == [PY]:
            (path / "sub").rename(path / "old")
            (path / "sub").symlink_to(tmp_path / "secret")
        return names

    monkeypatch.setattr(os, "listdir", exchange)

    assert {PY: "it cannot be read: Not a directory"} == load(path, LISTED).refused


def test_a_file_that_becomes_a_fifo_after_it_was_listed_is_refused_without_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = folder(tmp_path / "ada", {PY: CODE})
    real = os.stat

    def exchange(name: str, **how: object) -> os.stat_result:
        seen = real(name, **how)
        if name == PY:
            (path / PY).unlink()
            os.mkfifo(path / PY)
        return seen

    monkeypatch.setattr(os, "stat", exchange)

    assert {PY: "it cannot be read: no longer an ordinary file"} == load(path, LISTED).refused


def test_a_folder_that_may_not_be_opened_is_passed_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = folder(tmp_path / "ada", {PY: CODE, "shut/x": b""})
    real = os.open

    def shut(name: str | Path, flags: int, **how: int) -> int:
        if name == "shut":
            raise PermissionError(13, "Permission denied")
        return real(name, flags, **how)

    monkeypatch.setattr(os, "open", shut)

    assert {PY: CODE} == load(path, LISTED).files
    monkeypatch.setattr(os, "open", lambda *_args, **_how: shut("shut", 0))
    assert answer(path) == "Permission denied; name a folder, zip, tar or notebook"


def patched(path: Path, old: bytes, new: bytes) -> Path:
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new))
    return path


def test_an_encrypted_entry_says_so(tmp_path: Path):
    path = zipped(tmp_path / "a.zip", (PY, CODE))
    data = bytearray(path.read_bytes())
    data[6] |= 1
    data[data.index(b"PK\1\2") + 8] |= 1
    path.write_bytes(data)

    assert {PY: "it is encrypted; make the archive without a password"} == load(
        path, LISTED
    ).refused


def test_packing_that_a_plain_zip_does_not_use_is_refused(tmp_path: Path):
    path = zipped(tmp_path / "a.zip", (PY, CODE), how=zipfile.ZIP_LZMA)

    assert {PY: "it is packed in an unusual way; make a plain zip"} == load(path, LISTED).refused


def test_a_damaged_entry_is_refused_and_the_rest_is_taken(tmp_path: Path):
    path = patched(
        zipped(tmp_path / "a.zip", (PY, CODE), (CSV, b"x"), how=zipfile.ZIP_STORED),
        CODE,
        CODE[::-1],
    )
    found = load(path, LISTED)

    assert ({CSV: b"x"}, {PY: DAMAGED}) == (found.files, found.refused)


def test_a_name_with_a_nul_byte_is_not_the_name_before_it(tmp_path: Path):
    path = patched(zipped(tmp_path / "a.zip", (PY + "#.exe", CODE)), b"#", b"\0")
    found = load(path, LISTED)

    assert ({}, ("part3_amp.py?.exe",)) == (found.files, found.left_out)


# Bombs


@pytest.mark.parametrize("declared", [0, 10, 2**31], ids=["none", "little", "much"])
def test_a_zip_bomb_is_read_no_further_than_its_cap_whatever_it_declares(
    tmp_path: Path, declared: int
):
    path = zipped(tmp_path / "a.zip", (PNG, b"\0" * 40 * MIB), (PY, CODE))
    data = bytearray(path.read_bytes())
    for start, field in ((0, 22), (data.index(b"PK\1\2"), 24)):
        data[start + field : start + field + 4] = declared.to_bytes(4, "little")
    path.write_bytes(data)
    tracemalloc.start()
    found = load(path, LISTED)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 20 * MIB
    assert ({PY: CODE}, {PNG}) == (found.files, set(found.refused))
    assert found.refused[PNG] in ("it is larger than 8 MiB", DAMAGED)


def test_a_tar_bomb_is_unpacked_no_further_than_the_cap(tmp_path: Path):
    path = tmp_path / "a.tar.gz"
    path.write_bytes(gzip.compress(b"\0" * 2 * MIB))

    assert (
        answer(path, Caps(archive=MIB)) == "holds more than 1 MiB; hand in the listed files alone"
    )


def test_files_that_are_small_alone_and_too_large_together_are_refused_from_there_on(
    tmp_path: Path,
):
    path = zipped(tmp_path / "a.zip", (PNG, b"\0" * 60), (CSV, b"," * 60), (PY, b"#" * 40))
    found = load(path, LISTED, Caps(total=100))

    assert ({PNG, PY}, {CSV: "the files together are larger than 100 bytes"}) == (
        set(found.files),
        found.refused,
    )


def sparse(name: str, size: int) -> bytes:
    """Write a tar header of the old GNU kind: a file of *size* bytes that is all hole."""
    info = tarfile.TarInfo(name)
    header = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    header[156:157] = tarfile.GNUTYPE_SPARSE
    header[386 : 386 + 24] = b"%011o\0%011o\0" % (0, 0)
    header[483:495] = b"%011o\0" % size
    header[148:156] = b"        "
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header) + b"\0" * 1024


def test_a_sparse_file_that_takes_no_room_in_a_tar_takes_none_here(tmp_path: Path):
    path = tmp_path / "a.tar"
    path.write_bytes(sparse(PNG, 2**32))

    assert set(load(path, LISTED).refused) == {PNG}


# Submissions that cannot be read as a whole


def answer(path: Path, caps: Caps | None = None) -> str:
    with pytest.raises(SubmissionError) as caught:
        load(path, LISTED, caps or Caps())
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix(f"{path}: ")


WHOLE = {
    "nothing": (b"", "is not a folder, zip or tar, or is a damaged one; make the archive again"),
    "a Python file": (
        CODE,
        "is not a folder, zip or tar, or is a damaged one; make the archive again",
    ),
    "RAR": (b"Rar!\x1a\x07\x01\0", "is a RAR archive; hand in a folder, zip or tar"),
    "7z": (b"7z\xbc\xaf\x27\x1c", "is a 7z archive; hand in a folder, zip or tar"),
    "half a zip": (b"PK\3\4" + b"\0" * 40, "is a damaged zip; make the archive again"),
    "half a tar.gz": (
        gzip.compress(b"\0" * 10240)[:20],
        "is a damaged tar.gz; make the archive again",
    ),
    "gzip of something else": (
        gzip.compress(b"hello"),
        "is not a folder, zip or tar, or is a damaged one; make the archive again",
    ),
}


@pytest.mark.parametrize(("data", "why"), WHOLE.values(), ids=WHOLE)
def test_bytes_that_are_no_submission_say_what_they_are(tmp_path: Path, data: bytes, why: str):
    (tmp_path / "a.zip").write_bytes(data)

    assert why == answer(tmp_path / "a.zip")


def test_a_path_that_is_missing_a_link_or_a_device_says_so(tmp_path: Path):
    (tmp_path / "link").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "fifo")

    assert [
        "No such file or directory; name a folder, zip, tar or notebook",
        "is a link; name the folder or archive itself",
        "is not a folder, zip, tar or notebook",
    ] == [answer(tmp_path / name) for name in ("none", "link", "fifo")]


@pytest.mark.parametrize("kind", ["folder", "zip", "tar"])
def test_more_entries_than_anybody_hands_in_are_refused(tmp_path: Path, kind: str):
    entries = [(f"{i}.txt", b"") for i in range(6)]
    make = {
        "zip": zipped,
        "tar": tarred,
        "folder": lambda at, *some: folder(at, {f"d/{n}": data for n, data in some} | {"e/x": b""}),
    }

    assert "more than 5 files; hand in the listed ones alone" == answer(
        make[kind](tmp_path / "a", *entries), Caps(entries=5)
    )


@pytest.mark.parametrize("kind", ["zip", "tar", "tgz"])
def test_no_damage_gets_past_the_reader(tmp_path: Path, kind: str):
    """Whatever bytes are changed, the answer is a Submission or a SubmissionError."""
    make = {"zip": zipped, "tgz": tarred, "tar": lambda at, *some: tarred(at, *some, mode="w")}[
        kind
    ]
    path = make(tmp_path / "a", *((f"ada/{name}", data) for name, data in FILES.items()))
    good, rng = path.read_bytes(), random.Random(kind)
    ends = set()
    for _ in range(400):
        bad = bytearray(good)
        for _ in range(rng.randint(1, 4)):
            bad[rng.randrange(min(len(bad), 4096))] = rng.choice(
                [0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)]
            )
        path.unlink()  # some file systems wait for the disk when a file is written over
        path.write_bytes(bad[: rng.choice([len(bad), len(bad), rng.randrange(len(bad))])])
        try:
            ends.add(type(load(path, LISTED)))
        except SubmissionError:
            ends.add(SubmissionError)

    assert {Submission, SubmissionError} == ends


# Notebooks


STUBBED = "def work():\n    # YOUR CODE HERE\n    raise NotImplementedError()\n"
RELEASED = Released("1", {PY: f"# %%\nimport torch\n\n# %%\n{STUBBED}"}, {"notes.md": ""})
NB, WRITTEN, ALSO = "part3_amp.ipynb", "def work():\n    return 1\n", "def work():\n    return 2\n"


def notebook(source: str, *more: dict[str, object], pad: int = 0) -> bytes:
    cell = {"cell_type": "code", "metadata": {}, "source": source, "outputs": [{"text": "x" * pad}]}
    return json.dumps({"nbformat": 4, "metadata": {}, "cells": [cell, *more]}).encode()


def taken(path: Path, listed: list[str] | None = None) -> Submission:
    return load(path, listed or LISTED, released=RELEASED)


def test_a_notebook_is_the_same_submission_from_a_folder_a_zip_or_alone(tmp_path: Path):
    """The part file that it stands for is what is graded, and what is hashed."""
    ways = [
        folder(tmp_path / "ada", {NB: notebook(WRITTEN)}),
        zipped(tmp_path / "ada.zip", (f"lab/{NB}", notebook(WRITTEN, pad=3 * MIB))),
        folder(tmp_path, {"ada-part3_amp (1).ipynb": notebook(WRITTEN)})
        / "ada-part3_amp (1).ipynb",
        folder(tmp_path / "colab", {f"Copy of {NB}": notebook(WRITTEN)}),
        folder(tmp_path, {"ben.part3_amp.IPYNB": notebook(WRITTEN)}) / "ben.part3_amp.IPYNB",
    ]
    found = [taken(way) for way in ways]

    assert ["ada", "ada", "ada-part3_amp (1)", "colab", "ben.part3_amp"] == [
        one.name for one in found
    ]
    assert [{PY}] * 5 == [set(one.files) for one in found]
    assert 1 == len({one.sha256 for one in found}) == len({one.files[PY] for one in found})
    assert WRITTEN.strip() in found[0].files[PY].decode()
    assert [()] * 5 == [one.left_out for one in found]
    called = ("ada-part3_amp (1).ipynb", f"Copy of {NB}", "ben.part3_amp.IPYNB")
    assert [(), (), *((f"{name} was read as {NB}",) for name in called)] == [
        one.notes for one in found
    ]


BOTH = {
    "both written": (
        WRITTEN,
        ALSO,
        WRITTEN,
        "both part3_amp.py and part3_amp.ipynb were handed in; part3_amp.py was graded",
    ),
    "an untouched file": (
        STUBBED,
        ALSO,
        ALSO,
        "both part3_amp.py and part3_amp.ipynb were handed in; part3_amp.ipynb was graded, more of it is written",
    ),
    "an untouched notebook": (
        WRITTEN,
        STUBBED,
        WRITTEN,
        "both part3_amp.py and part3_amp.ipynb were handed in; part3_amp.py was graded",
    ),
}


@pytest.mark.parametrize(("file", "cells", "graded", "note"), BOTH.values(), ids=BOTH)
def test_of_a_file_and_a_notebook_the_more_written_counts_else_the_file(
    tmp_path: Path, file, cells, graded, note
):
    """And the notes say which."""
    found = taken(folder(tmp_path, {PY: file.encode(), NB: notebook(cells)}))

    assert note == found.notes[0]
    assert graded.strip() in found.files[PY].decode()


def test_a_notebook_that_cannot_be_read_leaves_its_part_without_a_file_and_says_why(tmp_path: Path):
    """A file beside it still counts."""
    why = "it is damaged, or no notebook; save it again"

    assert {NB: why, PY: f"{NB} was not taken: {why}"} == taken(
        folder(tmp_path / "a", {NB: b"{"})
    ).refused
    found = taken(folder(tmp_path / "b", {NB: b"{", PY: CODE}))
    assert ({PY: CODE}, {NB: why}) == (found.files, found.refused)


def test_a_notebook_that_is_too_large_says_how_to_make_it_smaller(tmp_path: Path):
    """Its outputs are what is large."""
    caps = Caps(notebook=1000)
    found = load(folder(tmp_path, {NB: notebook(WRITTEN, pad=1000)}), LISTED, caps, RELEASED)
    why = "it is larger than 1000 bytes; clear its outputs, save it and hand it in again"

    assert {NB: why, PY: f"{NB} was not taken: {why}"} == found.refused


def test_a_report_written_in_the_notebook_is_the_report_unless_there_is_a_file(tmp_path: Path):
    """Both ways of handing it in are read."""
    cell = {
        "cell_type": "markdown",
        "metadata": {"perflab": {"file": "notes.md"}},
        "source": "Because.",
    }
    listed = [*LISTED, "notes.md"]
    alone = taken(folder(tmp_path / "a", {NB: notebook(WRITTEN, cell)}), listed)
    beside = taken(
        folder(tmp_path / "b", {NB: notebook(WRITTEN, cell), "notes.md": b"So."}), listed
    )

    assert (b"Because.\n", b"So.") == (alone.files["notes.md"], beside.files["notes.md"])


def test_what_became_of_a_notebook_is_kept_with_the_submission(tmp_path: Path):
    """A replay says the same."""
    found = taken(folder(tmp_path / "ada", {NB: notebook(WRITTEN + "work()")}))
    (tmp_path / "kept.zip").write_bytes(packed(found))

    assert found == unpacked(tmp_path / "kept.zip", "ada", LISTED)
    assert "left out, because it runs something" in found.notes[0]


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


def test_of_copies_of_a_notebook_the_one_of_the_very_name_counts(tmp_path: Path):
    """Where none has it, nobody guesses which of several is meant."""
    copies = {"part3_amp-Copy1.ipynb": notebook(ALSO), "part3_amp-Copy2.ipynb": notebook(ALSO)}
    found = taken(folder(tmp_path / "a", {NB: notebook(WRITTEN), **copies}))

    assert WRITTEN.strip() in found.files[PY].decode()
    assert tuple(copies) == found.left_out
    assert "it is there twice; hand in one" == taken(folder(tmp_path / "b", copies)).refused[NB]


def test_a_notebook_of_unknown_name_is_not_guessed_at(tmp_path: Path):
    """It is listed as not looked at."""
    (tmp_path / "Untitled.ipynb").write_bytes(notebook(WRITTEN))

    assert ({}, ("Untitled.ipynb",)) == (
        taken(tmp_path / "Untitled.ipynb").files,
        taken(tmp_path / "Untitled.ipynb").left_out,
    )


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


# Archives where files should be


def zip_of(*entries: tuple[str, bytes]) -> bytes:
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        for name, data in entries:
            archive.writestr(name, data)
    return whole.getvalue()


WORK = zip_of(*FILES.items())


@pytest.mark.parametrize(
    "files",
    [
        {"hand in.ZIP": WORK},
        {"ada/work.zip": WORK, "ada/notes.pdf": b"%PDF"},
        {"outer.zip": zip_of(("lab/inner.zip", zip_of(("work.zip", WORK))))},
        {"code.zip": zip_of((PY, CODE)), "rest.zip": zip_of(*list(FILES.items())[1:])},
        {
            "work.zip": WORK,
            "damaged.zip": WORK[:40],
            "__MACOSX/._work.zip": b"?",
            "other.rar": b"Rar!",
        },
    ],
    ids=[
        "as Moodle hands on",
        "beside other files",
        "three deep",
        "one a part",
        "beside broken ones",
    ],
)
def test_an_archive_in_a_folder_is_looked_into_where_nothing_listed_lies_beside_it(
    tmp_path: Path, files: dict
):
    """What is graded is what was meant."""
    assert FILES == load(folder(tmp_path / "ada", files), LISTED).files


def test_an_archive_beside_the_files_is_left_alone(tmp_path: Path):
    """A copy in it is no second hand-in."""
    found = load(folder(tmp_path / "ada", {**FILES, "copy.zip": zip_of((PY, b"old"))}), LISTED)

    assert (FILES, {}, ("copy.zip",)) == (found.files, found.refused, found.left_out)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"Rar!", "work.zip: is a RAR archive; hand in a folder, zip or tar"),
        (WORK[:60], "work.zip: is a damaged zip; make the archive again"),
        (
            zip_of(("a", b"0" * 2000)),
            "work.zip: holds more than 1000 bytes; hand in the listed files alone",
        ),
    ],
    ids=["RAR", "half", "too large"],
)
def test_of_the_only_archive_in_a_folder_it_is_said_what_is_wrong(
    tmp_path: Path, data: bytes, why: str
):
    with pytest.raises(SubmissionError, match=why):
        load(folder(tmp_path / "ada", {"work.zip": data}), LISTED, Caps(archive=1000))


def test_the_same_name_in_two_archives_counts_neither_time(tmp_path: Path):
    """Which is meant is not guessed."""
    found = load(
        folder(tmp_path / "ada", {"a.zip": zip_of((PY, CODE)), "b.zip": zip_of((PY, b""))}), LISTED
    )

    assert {PY: "it stands in 'a.zip' and in 'b.zip'; hand in one"} == found.refused


def test_archives_together_are_taken_no_further_than_one_alone(tmp_path: Path):
    """However many there are."""
    found = load(
        folder(tmp_path / "ada", {"a.zip": WORK, "b.zip": zip_of((PY, CODE))}),
        LISTED,
        Caps(archive=len(WORK)),
    )

    assert (FILES, ("b.zip",)) == (found.files, found.left_out)


def test_what_archives_unpack_to_counts(tmp_path: Path):
    """Else a thousand small ones hold gigabytes."""
    large = tarred(tmp_path / "one.tar.gz", ("data.bin", bytes(3 * MIB))).read_bytes()
    found = load(
        folder(tmp_path / "ada", {"a.tgz": large, "b.tgz": large}), LISTED, Caps(archive=5 * MIB)
    )

    assert ("b.tgz", "a.tgz/data.bin") == found.left_out


@pytest.mark.parametrize(("damaged", "files"), [(3, FILES), (4, {})])
def test_archives_that_are_read_in_vain_count(tmp_path: Path, damaged: int, files: dict):
    """Else a thousand of them take minutes."""
    packed = {**{f"{n}.zip": b"PK\3\4" for n in range(damaged)}, "work.zip": WORK}

    assert files == load(folder(tmp_path / "ada", packed), LISTED, Caps(archive=4 * MIB)).files


def test_a_packed_trace_of_another_name_is_no_archive(tmp_path: Path):
    """It is listed as not looked at, and what is missing is said."""
    found = load(folder(tmp_path / "ada", {"my_trace.json.gz": gzip.compress(b"{}")}), LISTED)

    assert ({}, ("my_trace.json.gz",)) == (found.files, found.left_out)


def test_an_archive_that_may_not_be_read_is_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Nobody's grading stops at it."""
    home = folder(tmp_path / "ada", {"a.zip": WORK})
    monkeypatch.setattr("autograder.handed_in.unpack._read_below", lambda *_: 1 / 0)

    assert ({}, ("a.zip",)) == (load(home, LISTED).files, load(home, LISTED).left_out)
