"""Reads a PNG that a student handed in: whether it is one, how large, whether something is drawn; and judges figures.

Only the standard library, streaming and under caps: a picture is never decoded into pixels here.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from autograder.checks.hints import Hints, hint_for
from autograder.checks.numerics import close, shown
from autograder.errors import SubmissionError
from autograder.model import (
    Failed,
    Observation,
    Passed,
    Picture,
    Verdict,
)
from autograder.traces.words import many

BYTES = 16 * 1024 * 1024
LEGIBLE = (400, 200)  # pixels of a figure
LARGEST = 10_000  # pixels along one side
PIXELS = 40_000_000
SIGNATURE = b"\x89PNG\r\n\x1a\n"
# Colour type -> values per pixel.
CHANNELS = {
    0: 1,
    2: 3,
    3: 1,
    4: 2,
    6: 4,
}
DISTINCT = 8  # counting further says nothing more
# An even area is stored as at most this many kinds of line, whatever filter the writer chose.
BLANK = 4
NOISE = 0.7  # of `packed`: plots of the course are at most 0.03, 12,000 dots in random colours 0.2, noise 0.79
STEP = 64 * 1024
FIGURE = re.compile(r"\d{1,12}(\.\d+)?", re.ASCII)
LETTER = re.compile(r"[^\W\d_]")
CHUNKS = 10_000  # writers put 8 KiB or more of pixels into each

LABELS = "the label of an axis, or the title, must say what a panel shows, and in which unit"
TRIES: Hints = {
    "in one panel": "plt.subplots(1, 2), one panel for each quantity, and no twinx()",
    "are drawn": "draw each row in the panel: one line or bar for each version or name",
    " instead": "draw the numbers of the rows that are returned, as they are",
    "the nearest one lacks": "draw each row, with the number that is returned",
    "no visible panel": "a visible panel with this column of the returned rows",
    "does not say what it shows": "write the quantity and its unit on the axis of each panel, with set_ylabel",
    "is drawn under the name": "draw the rows that are returned, each value with the name of its own row",
    "do not begin at 0": "leave out set_ylim, or let the axis begin at 0",
    "is not drawn as one bar": "draw bars and not lines: axis.bar, one bar for each row",
    "no panel names the line": "label= in each call that draws a line, then axis.legend()",
    "no panel names the bar": "write the name of its row at each bar",
    "has no": "put this column into each row that is returned",
}
"""What to try, by words of what is wrong with a figure."""
CAUSES: Hints = {
    "in one panel": "two quantities share a panel, and each needs one of its own",
    "are drawn": "the figure leaves out rows",
    " instead": "usually the figure shows other numbers than the rows returned",
    "the nearest one lacks": "usually the figure leaves out rows",
    "no visible panel": "the figure does not show the numbers of the rows that are returned",
    "does not say what it shows": LABELS,
    "is drawn under the name": "the row that is returned has this value under another name",
    "do not begin at 0": "the length of a bar shows its number only if it begins at 0",
    "is not drawn as one bar": "each row needs a bar of its own",
    "no panel names the line": "the lines have no names: a label= shows only in a legend",
    "no panel names the bar": "the bars do not have the names of their rows",
}
"""The same: why."""
SHOWS = "the figure must show each row under its own name, and each quantity in a panel of its own"
BARS = "one bar per row, with its name and value, and set_ylabel with the unit"
# What the label of a panel must match, by the unit.
RATE = r"/|per|\bpro\b|s⁻¹|\^\{?-1"
RATIO = r"\bx\b|\xd7|[Ss]peed-?up|[Gg]ain|ratio|times"
MEGABYTES = r"MB|[Mm]egabyte"
SECONDS = r"\bs\b|[Ss]e[ck]"


def read(data: bytes, file: str) -> Picture:
    """Check every byte of a PNG and count its distinct lines, as they are stored."""
    if len(data) > BYTES:
        raise SubmissionError(f"{file}: {len(data)} bytes; at most {BYTES} are read")
    if not data.startswith(SIGNATURE):
        raise SubmissionError(f"{file}: is no PNG, whatever its name says; write it with savefig")
    chunks = list(islice(_chunks(data, file), CHUNKS + 1))
    if len(chunks) > CHUNKS:
        raise SubmissionError(
            f"{file}: is cut into more than {CHUNKS} pieces; write it with savefig"
        )
    width, height, line_bytes = _header(chunks[0], file)
    pixels = b"".join(body for kind, body in chunks if kind == b"IDAT")
    distinct = _distinct(pixels, line_bytes, height, file)
    return Picture(
        file,
        width,
        height,
        distinct,
        zlib.crc32(data),
        _packed(pixels, line_bytes * height),
    )


def is_drawn(picture: Picture, *, try_: str, at_least: tuple[int, int] = LEGIBLE) -> Verdict:
    """Pass a picture that is large enough to read, and neither blank nor noise."""
    size = f"{picture.width} x {picture.height} pixels"
    if picture.width < at_least[0] or picture.height < at_least[1]:
        return Failed(
            size,
            f"too small to read; make it at least {at_least[0]} x {at_least[1]}",
            try_,
        )
    if picture.distinct_lines <= BLANK:
        why = "the figure that was saved last was empty: usually plt.show() or plt.close() came before"
        return Failed(f"{picture.file}: {size}, blank", why, try_)
    if picture.packed > NOISE:
        return Failed(
            f"{size}, noise",
            f"its pixels are random: {picture.file} shows no figure",
            try_,
        )
    return Passed(size)


def shows_the_rows(
    observation: Observation,
    file: str,
    units: Mapping[str, str],
    key: str,
    try_: str,
    *,
    apart: str = "",
) -> Verdict:
    """Pass a figure whose panels show the rows that were returned with it, and whose picture was written.

    The probe answers with `rows`, `panels` and the bytes of the `picture`. For *apart*, see `crowded`.
    """
    panels = observation.values["panels"]
    data = observation.arrays["picture"].tobytes()
    if not data:
        return Failed(
            f"no {file} in folder",
            f"your code {'draws a figure, and ' * bool(panels)}leaves no file of this name in folder",
            f"savefig(Path(folder) / '{file}')",
        )
    try:
        drawn = is_drawn(read(data, file), try_="save the figure with the panels on it")
    except SubmissionError as problem:
        return Failed(
            f"{file} cannot be read",
            str(problem),
            "write it with savefig and leave it as it is",
        )
    if not isinstance(drawn, Passed):
        return drawn
    places = {panel["place"] for panel in panels}
    axes = f" with {len(panels)} axes" if len(panels) > len(places) else ""
    measured = f"{file}: {many(len(places), 'panel')}{axes}"
    rows = observation.values["rows"]
    why = unshown(panels, rows, units, key) or (
        crowded(panels, rows, units, apart) if apart else ""
    )
    if not why:
        return Passed(measured)
    return Failed(f"{file}: {why}", hint_for(why, CAUSES) or SHOWS, hint_for(why, TRIES) or try_)


def unshown(
    panels: Sequence[Mapping[str, Any]],
    rows: Sequence[Mapping[str, Any]],
    units: Mapping[str, str],
    key: str,
) -> str:
    """Say which column of *rows* no panel shows, or shows without its unit, or under another row's name.

    *units* maps columns to patterns; a row's name is in its column *key*.
    """
    keys = [str(row.get(key)) for row in rows]
    for name, unit in units.items():
        wanted = [row.get(name) for row in rows]
        if None in wanted:
            return f"row {wanted.index(None) + 1} has no {name}"
        showing = [panel for panel in panels if shows(panel, rows, name)]
        if not showing:
            free = [it for it in panels if not any(shows(it, rows, other) for other in units)]
            missing, others = _nearest(free, wanted)
            lacking = ", ".join(shown(wanted[at]) for at in missing)
            if len(missing) < len(wanted):
                of = ", ".join(dict.fromkeys(keys[at] for at in missing))
                ends = f", and shows {', '.join(map(shown, others[:3]))} instead" * bool(others)
                lacks = f"the nearest one lacks {lacking} (of {of}){ends}"
                return f"no panel shows the {name} of the rows; {lacks}"
            return f"no visible panel shows the {name} of the rows ({lacking})"
        if not any(re.search(unit, panel["label"]) for panel in showing):
            says = f"; the panel says '{showing[0]['label']}'" * bool(showing[0]["label"])
            return f"the panel of {name} does not say what it shows, with its unit{says}"
        for row, expected in zip(keys, wanted, strict=True):
            named = [word for panel in showing for word in drawn_as(panel, expected)]
            if not any(_may_be(word, row, keys) for word in named):
                return f"{name} of {key} {row} ({shown(expected)}) is drawn under the name '{named[0]}'"
    names = [drawn["name"] for panel in panels for drawn in panel["values"]]
    words = [key for key in keys if any(key in panel["title"] for panel in panels)]
    bare = all(map(LETTER.search, keys)) and not any(map(LETTER.search, [*names, *words]))
    kind = "bar" if any(panel.get("bars") for panel in panels) else "line"
    return f"no panel names the {kind} of {keys[0]}" if keys and bare else ""


def _nearest(
    panels: Sequence[Mapping[str, Any]], wanted: Sequence[Any]
) -> tuple[Sequence[int], Sequence[Any]]:
    """Return which figures are missing in the panel that shows most of them, and the others that it shows."""
    places = range(len(wanted))
    each = [([at for at in places if not drawn_as(panel, wanted[at])], panel) for panel in panels]
    missing, panel = min(each, key=lambda it: len(it[0]), default=(places, {"values": ()}))
    own = [it for it in panel["values"] if not any(drawn_as({"values": [it]}, of) for of in wanted)]
    return missing, [it["value"] for it in own]


def crowded(
    panels: Sequence[Mapping[str, Any]],
    rows: Sequence[Mapping[str, Any]],
    names: Iterable[str],
    kind: str,
) -> str:
    """Say which column has no panel of its own, as twins of one axis have none, or no bars if the *kind* is "bars"."""
    taken: dict[int, str] = {}
    for name in names:
        showing = [panel for panel in panels if shows(panel, rows, name)]
        if kind == "bars" and not any(panel["bars"] >= len(rows) for panel in showing):
            if cut := next((panel["cut"] for panel in showing if panel.get("cut")), 0):
                return f"the axis of {name} begins at {shown(cut)}, so its bars do not begin at 0"
            return f"{name} is not drawn as one bar for each row"
        place = next(
            (panel["place"] for panel in showing if panel["place"] not in taken),
            None,
        )
        if place is None:
            other = taken[showing[0]["place"]]
            return f"{name} and {other} are in one panel: each wants one of its own"
        taken[place] = name
    return ""


def shows(panel: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], name: str) -> bool:
    return all(drawn_as(panel, row.get(name)) for row in rows)


def drawn_as(panel: Mapping[str, Any], wanted: Any) -> list[str]:
    """Return the names under which a panel draws a number, or a text that begins with one, such as 1.80x.

    That a row must not hold a text, the judge of the rows says.
    """
    decimals = 9
    if isinstance(wanted, str) and (figure := FIGURE.match(wanted)):
        wanted = float(figure[0])
        decimals = len(figure[0].partition(".")[2])
    if not isinstance(wanted, float | int):
        return []
    return [
        drawn["name"]
        for drawn in panel["values"]
        if close(drawn["value"], wanted, 0.01) or round(drawn["value"], decimals) == wanted
    ]


def _may_be(words: str, row: str, keys: Sequence[str]) -> bool:
    """Whether *words* name this row, or none of them."""
    one_line = " ".join(words.split())
    said = [
        key for key in keys if re.search(rf"(?<!\w){re.escape(key)}(?!\w)", one_line, re.IGNORECASE)
    ]
    return not said or row in said


def _chunks(data: bytes, file: str) -> Iterator[tuple[bytes, bytes]]:
    at = len(SIGNATURE)
    while at + 12 <= len(data):
        (length,) = struct.unpack_from(">I", data, at)
        kind = data[at + 4 : at + 8]
        body = data[at + 8 : at + 8 + length]
        end = at + 12 + length
        if end > len(data):
            break
        if zlib.crc32(kind + body) != struct.unpack_from(">I", data, end - 4)[0]:
            raise SubmissionError(f"{file}: is damaged: a checksum does not fit; write it again")
        yield kind, body
        if kind == b"IEND":
            return
        at = end
    raise SubmissionError(f"{file}: ends in the middle; write it again")


def _header(chunk: tuple[bytes, bytes], file: str) -> tuple[int, int, int]:
    kind, body = chunk
    if kind != b"IHDR" or len(body) != 13:
        raise SubmissionError(f"{file}: does not begin as a PNG does; write it again")
    width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", body)
    if not (0 < width <= LARGEST and 0 < height <= LARGEST and width * height <= PIXELS):
        raise SubmissionError(
            f"{file}: is {width} x {height} pixels; at most {LARGEST} a side are read"
        )
    if colour not in CHANNELS or depth not in (1, 2, 4, 8, 16) or interlaced:
        raise SubmissionError(
            f"{file}: is an unusual PNG (interlaced, or unknown colours); write it with savefig"
        )
    # One byte names the filter.
    return (
        width,
        height,
        1 + (width * CHANNELS[colour] * depth + 7) // 8,
    )


def _distinct(pixels: bytes, line_bytes: int, height: int, file: str) -> int:
    lines: set[bytes] = set()
    buffer, total = b"", 0
    try:
        for more in _inflated(pixels, max(STEP, line_bytes)):
            total += len(more)
            buffer = _collect(lines, buffer + more, line_bytes)
            if total >= line_bytes * height:
                break
    except zlib.error:
        raise SubmissionError(f"{file}: its pixels cannot be unpacked; write it again") from None
    if total < line_bytes * height:
        raise SubmissionError(f"{file}: has fewer pixels than it says; write it again")
    return len(lines)


def _packed(pixels: bytes, whole: int) -> float:
    """Say how small the pixels become; who wrote them may not have compressed at all."""
    if len(pixels) > NOISE * whole:
        pixels = zlib.compress(zlib.decompressobj().decompress(pixels, whole), 1)
    return len(pixels) / whole


def _inflated(packed: bytes, most: int) -> Iterator[bytes]:
    """Unpack in pieces of at most so many bytes: what is left of one is copied, so it is handed over in pieces too."""
    inflate = zlib.decompressobj()
    for at in range(0, len(packed), STEP):
        rest = packed[at : at + STEP]
        while rest and not inflate.eof:
            yield inflate.decompress(rest, most)
            rest = inflate.unconsumed_tail


def _collect(lines: set[bytes], buffer: bytes, line_bytes: int) -> bytes:
    """Add the whole lines of *buffer*, while they still matter; return the rest."""
    whole = len(buffer) // line_bytes * line_bytes
    for at in range(0, whole, line_bytes):
        if len(lines) == DISTINCT:
            break
        lines.add(buffer[at : at + line_bytes])
    return buffer[whole:]
