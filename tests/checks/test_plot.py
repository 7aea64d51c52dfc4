"""Pictures and figures: PNG bytes under caps, blank ones, and whether panels show the rows."""

from __future__ import annotations

import random
import struct
import zlib

import pytest

from autograder.checks import plot, read
from autograder.checks.hints import hint_for
from autograder.errors import SubmissionError
from autograder.model import Failed, Passed, Picture


def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(width=400, height=200, lines=None, *, header=None, pixels=None):
    """A grey picture, each line of one value: the line's number modulo *lines*."""
    header = header or struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    if pixels is None:
        pixels = zlib.compress(
            b"".join(b"\0" + bytes([y % (lines or 100)]) * width for y in range(height))
        )
    return plot.SIGNATURE + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def test_a_picture_is_its_size_and_its_distinct_lines():
    assert Picture("p.png", 400, 200, plot.DISTINCT) == read(png(), "p.png")


def test_a_picture_in_several_chunks_and_steps_is_read_whole():
    data = png(3000, 300, lines=3)
    at = data.index(b"IDAT") - 4
    (length,) = struct.unpack_from(">I", data, at)
    body = data[at + 8 : at + 8 + length]
    split = (
        data[:at] + chunk(b"IDAT", body[:100]) + chunk(b"IDAT", body[100:]) + chunk(b"IEND", b"")
    )

    assert Picture("p.png", 3000, 300, 3) == plot.read(split, "p.png")


def ihdr(width=4, height=4, depth=8, colour=0, interlaced=0):
    return struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlaced)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        pytest.param(b"GIF89a", "p.png: is no PNG, whatever its name says", id="another format"),
        pytest.param(b"", "p.png: is no PNG", id="empty"),
        pytest.param(png()[:-20], "p.png: ends in the middle", id="cut"),
        pytest.param(png()[:60], "p.png: ends in the middle", id="cut early"),
        pytest.param(plot.SIGNATURE, "p.png: ends in the middle", id="signature only"),
        pytest.param(png().replace(b"IDAT", b"IDAX"), "p.png: is damaged", id="checksum"),
        pytest.param(
            plot.SIGNATURE + chunk(b"IEND", b""),
            "p.png: does not begin as a PNG does",
            id="no header",
        ),
        pytest.param(png(header=ihdr(0)), "p.png: is 0 x 4 pixels", id="no width"),
        pytest.param(
            png(header=ihdr(10_001)), "p.png: is 10001 x 4 pixels; at most 10000", id="too wide"
        ),
        pytest.param(
            png(header=ihdr(60_000, 60_000)),
            "p.png: is 60000 x 60000 pixels; at most 10000",
            id="a bomb by its header",
        ),
        pytest.param(
            png()[:33] + 10_001 * chunk(b"tEXt", b"") + png()[33:],
            "p.png: is cut into more than 10000 pieces",
            id="a bomb of pieces",
        ),
        pytest.param(
            png(header=ihdr(9000, 9000)), "p.png: is 9000 x 9000 pixels", id="too many pixels"
        ),
        pytest.param(png(header=ihdr(interlaced=1)), "p.png: is an unusual PNG", id="interlaced"),
        pytest.param(png(header=ihdr(colour=5)), "p.png: is an unusual PNG", id="unknown colours"),
        pytest.param(png(header=ihdr(depth=7)), "p.png: is an unusual PNG", id="unknown depth"),
        pytest.param(
            png(pixels=b"no zlib"), "p.png: its pixels cannot be unpacked", id="not packed"
        ),
        pytest.param(
            png(pixels=zlib.compress(b"\0")),
            "p.png: has fewer pixels than it says",
            id="too few pixels",
        ),
        pytest.param(
            png(pixels=zlib.compress(bytes(9))[:-6]),
            "p.png: has fewer pixels",
            id="packed data cut",
        ),
        pytest.param(b"x" * (plot.BYTES + 1), "bytes; at most 16777216 are read", id="too large"),
    ],
)
def test_what_is_no_picture_is_refused_in_words(data, words):
    with pytest.raises(SubmissionError) as refused:
        plot.read(data, "p.png")

    assert words in str(refused.value)


def test_a_bomb_is_unpacked_no_further_than_the_picture_is_large():
    bomb = zlib.compress(bytes(64 * 1024 * 1024))

    assert 1 == plot.read(png(header=ihdr(), pixels=bomb), "p.png").distinct_lines


def test_what_is_left_of_a_bomb_is_not_copied_at_each_step(monkeypatch):
    """Else a picture of many lines, before much that is no picture, would take its length times its lines."""
    handed, inflate = [], zlib.decompressobj

    class Counted:
        def __init__(self):
            self.own = inflate()

        def decompress(self, data, most):
            handed.append(len(data))
            return self.own.decompress(data, most)

        def __getattr__(self, name):
            return getattr(self.own, name)

    monkeypatch.setattr(plot.zlib, "decompressobj", Counted)
    packed = zlib.compress(bytes(401 * 10_000))
    plot.read(png(400, 10_000, pixels=packed + bytes(1_000_000)), "p.png")

    assert max(handed) <= plot.STEP


def test_pixels_behind_the_last_line_are_passed_over():
    """Some writers pad the last block."""
    lines = b"".join(b"\0" + bytes([y % 50]) * 400 for y in range(210))

    assert (
        plot.DISTINCT
        == plot.read(png(400, 200, pixels=zlib.compress(lines)), "p.png").distinct_lines
    )


@pytest.mark.parametrize(
    ("picture", "measured"),
    [
        pytest.param(Picture("p.png", 399, 200, 8), "399 x 200 pixels", id="too narrow"),
        pytest.param(Picture("p.png", 400, 199, 8), "400 x 199 pixels", id="too low"),
        pytest.param(Picture("p.png", 400, 200, 3), "p.png: 400 x 200 pixels, blank", id="blank"),
    ],
)
def test_a_small_or_blank_picture_fails(picture, measured):
    verdict = plot.is_drawn(picture, at_least=(400, 200), try_="try")

    assert isinstance(verdict, Failed)
    assert measured == verdict.measured


def noise(level):
    """A picture of random bytes, and whether its writer compressed them or not."""
    lines = (b"\0" + random.Random(y).randbytes(400) for y in range(200))
    return zlib.compress(b"".join(lines), level)


@pytest.mark.parametrize("level", [0, 9])
def test_noise_fails_however_it_was_packed(level):
    verdict = plot.is_drawn(plot.read(png(pixels=noise(level)), "p.png"), try_="try")

    assert isinstance(verdict, Failed)
    assert "400 x 200 pixels, noise" == verdict.measured


def test_a_drawn_picture_that_its_writer_did_not_compress_passes():
    lines = b"".join(b"\0" + bytes([y % 100]) * 400 for y in range(200))

    assert isinstance(
        plot.is_drawn(plot.read(png(pixels=zlib.compress(lines, 0)), "p.png"), try_="try"), Passed
    )


def test_a_drawn_picture_passes():
    assert Passed("400 x 200 pixels") == plot.is_drawn(
        Picture("p.png", 400, 200, 8), at_least=(400, 200), try_="try"
    )


def panel(values, label="samples/s", names=("FP32", "AMP")):
    drawn = [{"value": value, "name": name} for value, name in zip(values, names, strict=False)]
    return {"label": label, "title": "", "values": drawn}


ROWS = [{"throughput": 10.0, "precision": "FP32"}, {"throughput": 21.0, "precision": "AMP"}]


ADDED = [{"throughput": 10.0, "step": "Baseline"}, {"throughput": 21.0, "step": "+ workers"}]


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        pytest.param(["Baseline", "Baseline\n+ workers"], "", id="names that grow"),
        pytest.param(["Baseline", "+\nworkers"], "", id="a name on two lines"),
        pytest.param(["+ workers", "Baseline"], "throughput of step Baseline (10) is drawn under the name '+ workers'", id="the other's"),
    ],
)  # fmt: skip
def test_names_that_begin_with_a_sign_are_names_too(names, problem):
    assert problem == plot.unshown(
        [panel([10, 21], names=names)], ADDED, {"throughput": "/s"}, "step"
    )


@pytest.mark.parametrize(
    ("panels", "rows", "problem"),
    [
        pytest.param([panel([1.0, 2.1], "x"), panel([10.05, 21])], ROWS, "", id="shown"),
        pytest.param([panel([21, 10], names=["AMP", "FP32"])], ROWS, "", id="in another order"),
        pytest.param(
            [panel([10, 21], names=["fp32 (baseline)", "amp, bfloat16"])], ROWS, "", id="more words"
        ),
        pytest.param(
            [panel([10, 21], names=["before", "samples"])], ROWS, "", id="words that name neither"
        ),
        pytest.param(
            [panel([10, 21], names=["FP32", "AMP over FP32"])], ROWS, "", id="words that name both"
        ),
        pytest.param(
            [panel([10, 21], names=["0", ""])],
            ROWS,
            "no panel names the line of FP32",
            id="no names",
        ),
        pytest.param(
            [panel([10, 21], names=["", ""]) | {"title": "FP32 10 AMP 21"}],
            ROWS,
            "",
            id="names written beside the bars",
        ),
        pytest.param(
            [panel([10, 21], names=["0", "1"]), panel([], names=[])],
            [{"throughput": 10.0, "precision": 0}, {"throughput": 21.0, "precision": 1}],
            "",
            id="names that are numbers",
        ),
        pytest.param(
            [panel([10, 21], names=["AMP", "FP32"])],
            ROWS,
            "throughput of precision FP32 (10) is drawn under the name 'AMP'",
            id="each under the other's name",
        ),
        pytest.param(
            [panel([10.0, 20.0])],
            ROWS,
            "no panel shows the throughput of the rows; the nearest one lacks 21 (of AMP), and shows 20 instead",
            id="other values",
        ),
        pytest.param(
            [], ROWS, "no visible panel shows the throughput of the rows (10, 21)", id="no panel"
        ),
        pytest.param([panel([10.0], names=["1"])], [], "", id="no row, as another check says"),
        pytest.param(
            [panel([10.0])],
            [{}],
            "row 1 has no throughput",
            id="no number in the row",
        ),
        pytest.param(
            [panel([10.0, 21.0])],
            [
                {"throughput": text, "precision": name}
                for text, name in (("10.00/s", "FP32"), ("21.0", "AMP"))
            ],
            "",
            id="texts with numbers",
        ),
        pytest.param(
            [panel([10.0])],
            [{"throughput": "11x", "precision": "FP32"}],
            "no visible panel shows the throughput of the rows ('11x')",
            id="a text with another number",
        ),
        pytest.param(
            [panel([10, 21], "speed")],
            ROWS,
            "the panel of throughput does not say what it shows, with its unit; the panel says 'speed'",
            id="no unit",
        ),
    ],
)
def test_a_figure_shows_the_rows(panels, rows, problem):
    assert problem == plot.unshown(panels, rows, {"throughput": "/"}, "precision")


BOTH = [{"throughput": 10.0, "speedup": 1.0}, {"throughput": 21.0, "speedup": 2.1}]


@pytest.mark.parametrize(
    ("places", "bars", "cut", "kind", "problem"),
    [
        pytest.param((0, 1), (2, 2), 0, "bars", "", id="bars apart"),
        pytest.param((0, 1), (0, 0), 0, "panels", "", id="lines apart"),
        pytest.param(
            (0, 1),
            (2, 0),
            0,
            "bars",
            "speedup is not drawn as one bar for each row",
            id="lines for bars",
        ),
        pytest.param(
            (0, 1), (2, 0), 2, "bars", "the axis of speedup begins at 2, so", id="cut off"
        ),
        pytest.param(
            (0, 0), (2, 2), 0, "bars", "speedup and throughput are in one panel", id="twins"
        ),
    ],
)
def test_each_column_has_a_panel_of_its_own(places, bars, cut, kind, problem):
    drawn = zip(([10, 21], [1, 2.1]), places, bars, strict=True)
    panels = [
        {**panel(values), "place": place, "bars": count, "cut": cut}
        for values, place, count in drawn
    ]

    found = plot.crowded(panels, BOTH, ["throughput", "speedup"], kind)
    assert (bool(problem), True) == (bool(found), found.startswith(problem))


def test_bars_of_an_axis_that_is_cut_are_told_from_lines():
    panels = [{**panel([10, 21]), "place": 0, "bars": 0, "cut": 9.0}]
    found = plot.crowded(panels, BOTH, ["throughput"], "bars")

    assert found == "the axis of throughput begins at 9, so its bars do not begin at 0"


def test_other_numbers_in_a_panel_are_not_surely_those_of_its_missing_rows():
    """A line of the mean may stand beside the rows that are drawn."""
    problem = plot.unshown([panel([10.0, 15.5])], ROWS, {"throughput": "/"}, "precision")

    assert problem.endswith("and shows 15.5 instead")
    assert hint_for(problem, plot.CAUSES).startswith("usually ")
