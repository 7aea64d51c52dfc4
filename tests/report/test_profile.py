"""A profile for people: lines of a terminal, a page, a picture."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from autograder.errors import UserError
from autograder.report import picture, profile, profile_page
from autograder.traces.compare import changes
from autograder.traces.definitions import DEFINITIONS
from autograder.traces.record import Lane, Trace, Window
from tests.traces.made import kernel, kineto, processor, read_made, training

KERNELS_MEAN = DEFINITIONS["kernel_mean"]


@pytest.fixture
def made(tmp_path):
    return read_made(tmp_path, kineto(training(), deviceProperties=[{"name": "NVIDIA A100"}] * 2))


def test_lines_say_the_parts_the_figures_and_the_largest(made):
    said = list(profile.lines(made))

    assert "made_trace.json   torch.profiler   2 x NVIDIA A100   1 step" == said[0]
    assert "\nGPU 0: what the steps consist of" in said
    assert "  kernels             25.0 %      250 us  ████████" in said
    assert "  synchronising        6.0 %       60 us  ██" in said
    assert f"  kernel_mean             133.3 us  {KERNELS_MEAN}" in said
    assert "\nkernels: share of the time listed, never a utilization" in said
    assert "   50.0 %      200 us        1 x  gemm" in said
    assert any(line.startswith("note  one ProfilerStep") for line in said)


def test_what_a_file_says_cannot_steer_the_terminal(tmp_path):
    out = StringIO()
    trace = read_made(tmp_path, kineto([kernel(0, 9, "evil\x1b[31m[bold]name")]))

    profile.show(trace, Console(file=out, width=200))

    assert "evil\N{REPLACEMENT CHARACTER}[31m[bold]name" in out.getvalue()
    assert "\x1b" not in out.getvalue()


def test_two_profiles_side_by_side(made):
    before = replace(made, figures=tuple(replace(one, value=one.value / 2) for one in made.figures))
    said = list(profile.comparison(changes(made, before)))

    assert "  busy_kernel            steps    GPU 0         16.5 %       33.0 %   +16.5 points" in said
    assert "  step_median            steps                  500 us         1 ms   2.00x" in said
    assert "  comm_overlap           trace    GPU 0         10.0 %       20.0 %   +10.0 points" in said
    zero = changes(made, replace(before, figures=tuple(replace(one, value=0) for one in made.figures)))
    assert {""} == {profile.change(one) for one in zero if one.figure.unit != "%"}


def test_a_page_holds_everything_and_asks_for_nothing(made):
    """One file, no request to elsewhere, every text escaped."""
    page = profile_page.page(replace(made, file="<b>me</b>"), made)

    assert "&lt;b&gt;me&lt;/b&gt;" in page
    assert "<b>me" not in page
    assert not [word for word in ("http:", "https:", "<script", "url(") if word in page.replace("http-equiv", "")]
    for words in (
        "33.0 %",
        "a kernel running",
        "data loading",
        '<span class="lane">step</span>',
        ">3</span>",
        "both files hold the same profile",
        KERNELS_MEAN,
    ):
        assert words in page


@pytest.mark.parametrize(
    "trace",
    [
        pytest.param(Trace("a.csv", "0", "nsys stats"), id="nothing"),
        pytest.param(Trace("a.csv", "0", "kineto", windows=(Window("trace", 0, 5),)), id="no steps"),
    ],
)
def test_a_profile_of_sums_alone_has_a_page_and_no_picture(tmp_path, trace):
    assert "Timeline" not in profile_page.page(trace)
    assert [] == profile_page.ticks(trace)
    with pytest.raises(UserError, match="says nothing of when things ran"):
        picture.write(tmp_path / "a.png", trace)


def test_neighbours_of_one_shade_are_one_block():
    lane = Lane("x", (0.0, 1.0, 1.0, 0.001, 0.5, 1.2))

    assert [(1, 2, 1.0), (4, 1, 0.5), (5, 1, 1.0)] == profile_page.blocks(lane)


def test_pictures_are_drawn(tmp_path, made):
    """With and without a GPU, with and without parts."""
    cpu = read_made(tmp_path, kineto(processor()))
    short = replace(made, windows=tuple(replace(one, length=one.length // 10) for one in made.windows), breakdown={})
    for number, trace in enumerate((made, cpu, short)):
        path = tmp_path / f"{number}.png"
        picture.write(path, trace)

        assert path.read_bytes().startswith(b"\x89PNG")


def test_steps_are_named_where_there_is_room():
    """Thirty names, or those of short steps behind a long one, would lie upon each other."""
    steps = tuple(Window(f"ProfilerStep#{number}", 10 * number, 10) for number in range(30))
    even = Trace("a", "0", "kineto", windows=(Window("steps", 0, 300),), steps=steps)
    long_first = replace(
        even, steps=(steps[0], *(Window(one.id, 270 + number, 1) for number, one in enumerate(steps[1:])))
    )

    assert [str(number) if number % 3 == 0 else "" for number in range(30)] == [
        name for _, name in profile_page.ticks(even)
    ]
    assert ["0", "1"] == [name for _, name in profile_page.ticks(long_first) if name]
