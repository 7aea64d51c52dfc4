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
from autograder.traces.record import Figure, Lane, Trace, Window
from tests.traces.made import kernel, kineto, processor, read_made, training

KERNELS_MEAN = DEFINITIONS["kernel_mean"]


@pytest.fixture
def made(tmp_path):
    return read_made(tmp_path, kineto(training(), deviceProperties=[{"name": "NVIDIA A100"}] * 2))


def test_lines_say_the_parts_the_figures_and_the_largest(made):
    said = list(profile.lines(made))

    assert "made_trace.json   torch.profiler   2 x NVIDIA A100   1 step" == said[0]
    assert "\nGPU 0: what the steps consist of" in said
    assert "  kernels               25.0 %      250 us  ████████" in said
    assert "  synchronising          6.0 %       60 us  ██" in said
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
    said = [" ".join(line.split()) for line in profile.comparison(made, before)]

    assert "busy_kernel steps, GPU 0 16.5 % -> 33.0 % +16.5 points" in said
    assert "step_median steps 500 us -> 1 ms 2.00x as long" in said
    assert "comm_overlap trace, GPU 0 10.0 % -> 20.0 % +10.0 points" in said
    assert said[0].startswith("the median step takes 1 ms, before 500 us: 0.50x as fast")
    assert "Shares" in profile_page.page(made, before)
    zero = changes(
        made, replace(before, figures=tuple(replace(one, value=0) for one in made.figures))
    )
    assert {""} == {profile.change(one) for one in zero if one.figure.unit != "%"}


def test_a_page_holds_everything_and_asks_for_nothing(made):
    """One file, no request to elsewhere, every text escaped."""
    page = profile_page.page(replace(made, file="<b>me</b>"), made)

    assert "&lt;b&gt;me&lt;/b&gt;" in page
    assert "<b>me" not in page
    assert not [
        word
        for word in ("http:", "https:", "<script", "url(")
        if word in page.replace("http-equiv", "")
    ]
    for words in (
        "33.0 %",
        "a kernel running",
        "data loading",
        '<span class="lane">step</span>',
        'name="zoom" value="9"',
        ">3</span>",
        "both files hold the same profile",
        KERNELS_MEAN,
    ):
        assert words in page


@pytest.mark.parametrize(
    "trace",
    [
        pytest.param(Trace("a.csv", "0", "nsys stats"), id="nothing"),
        pytest.param(
            Trace("a.csv", "0", "kineto", windows=(Window("trace", 0, 5),)), id="no steps"
        ),
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
    short = replace(
        made,
        windows=tuple(replace(one, length=one.length // 10) for one in made.windows),
        breakdown={},
    )
    for number, trace in enumerate((made, cpu, short)):
        path = tmp_path / f"{number}.png"
        picture.write(path, trace)

        assert path.read_bytes().startswith(b"\x89PNG")


def test_steps_are_named_where_there_is_room():
    """Thirty names, or those of short steps behind a long one, would lie upon each other."""
    steps = tuple(Window(f"ProfilerStep#{number}", 10 * number, 10) for number in range(30))
    even = Trace("a", "0", "kineto", windows=(Window("steps", 0, 300),), steps=steps)
    long_first = replace(
        even,
        steps=(
            steps[0],
            *(Window(one.id, 270 + number, 1) for number, one in enumerate(steps[1:])),
        ),
    )

    assert [str(number) if number % 3 == 0 else "" for number in range(30)] == [
        name for _, name in profile_page.ticks(even)
    ]
    assert ["0", "1"] == [name for _, name in profile_page.ticks(long_first) if name]


def test_a_timeline_has_an_axis_of_round_times():
    """With steps or without them."""
    lanes = (Lane("GPU 0 kernels", (1.0,)),)
    trace = Trace(
        "a", "0", "nsys", windows=(Window("gpu0", 7_000_000, 37_000_000),), timeline=lanes
    )

    assert ["0", "10 ms", "20 ms", "30 ms"] == [name for _, name in profile_page.axis(trace)]
    assert 10 / 37 == profile_page.axis(trace)[1][0]
    assert ">20 ms</span>" in profile_page.page(trace)


def test_a_share_that_another_window_repeats_is_said_once():
    """And one that differs by a point or more is said again."""
    values = {"steps": (83.4, 50.0), "gpu": (83.9, 60.0), "trace": (83.0, 50.1)}
    figures = tuple(
        Figure(name, value, "%", window, 0)
        for window, pair in values.items()
        for name, value in zip(("busy_kernel", "busy_any"), pair, strict=True)
    )
    trace = Trace("a", "0", "kineto", figures=figures)
    found = profile.grouped(trace)

    assert {"GPU 0, the steps": 2, "GPU 0, first to last GPU work": 1} == {
        name: len(f) for name, f in found.items()
    }
    over = (
        "over first to last GPU work (busy_kernel) and the whole recording (busy_kernel, busy_any)"
    )
    said = f"the same figures {over} differ by less than 1 point"
    assert f"  {said}" in list(profile.lines(trace))
    assert "The same figures over first to last GPU work" in profile_page.page(trace)


LAUNCHED = tuple(
    Figure(name, value, "%", "kernel", 0, f"{'long_' * 30}{kind}(int)", str(number))
    for number, kind in enumerate(["gemm", "gemm", "relu"])
    for name, value in (("sm_throughput", 80.0 + number), ("memory_throughput", 9.0))
)


def test_each_launch_is_a_line_with_its_id(monkeypatch):
    """Names that agree in their first letters, or in all of them, make no launch another."""
    monkeypatch.setattr(profile, "LAUNCHES", 2)
    trace = Trace("a", "0", "ncu", figures=(*LAUNCHED[:5], *LAUNCHED[6:]))
    said = list(profile.lines(trace))

    assert "\n3 launches:" in said
    assert "      1         81.0 %              9.0 %  " in "".join(said)
    assert any(line.endswith("gemm(int)") for line in said)
    assert "  and 1 more; --json has them" in said
    page = profile_page.page(trace)
    assert f'title="{LAUNCHED[-1].subject}"' in page
    assert "of the peak of the multiprocessors" not in page  # of which launch?


def test_a_headline_says_nothing_of_next_to_no_time(made):
    """0.0 % of 16 copies of 8 bytes are hidden: nobody needs to know."""
    short = tuple(replace(one, value=1.0) if one.id == "h2d_time" else one for one in made.figures)

    assert "of copies hidden behind kernels" in profile_page.page(made)
    assert "of copies hidden behind kernels" not in profile_page.page(replace(made, figures=short))
