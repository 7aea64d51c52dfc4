"""The recording backend: what it builds and when, how often that runs, and the scripted seconds that it takes."""

from __future__ import annotations

import contextlib
import copy
import time

import pytest
import torch

from autograder.worker.rig import Rig
from autograder.worker.rigs.compilers import Doubles, refusal

SECONDS = {"forward": 10.0, "backward": 4.0}


@pytest.fixture
def rig(tmp_path):
    rig = Rig(seed=7, side="student", device="cpu", folder=tmp_path)
    rig.install()
    rig.clock.freeze()
    yield rig
    rig.uninstall()


def steps(model, window, back=True):
    """Go through the window's loader; return the seconds that passed on the clock."""
    start = time.perf_counter()
    for images, labels in window.loader:
        loss = window.criterion(model(images), labels)
        if back:
            loss.backward()
    return time.perf_counter() - start


def kinds(compiler):
    return [(one["kind"], one["batch"]) for one in compiler.values()["built"]]


def test_a_build_is_noted_with_its_batch_and_takes_its_seconds(rig):
    """A shorter last batch has both graphs built again; then nothing is built any more."""
    window = rig.window([8, 8, 5])
    compiler = rig.compiler(window, SECONDS, step=0.5)
    model = torch.compile(window.model, backend=compiler)
    first = steps(model, window)

    assert [("forward", 0), ("backward", 0), ("forward", 2), ("backward", 2)] == kinds(compiler)
    assert {"forward": 3, "backward": 3, "inference": 0} == compiler.values()["runs"]
    assert len(list(window.model.parameters())) == compiler.values()["parameters"]
    assert 28.0 + 1.5 == pytest.approx(first, abs=0.1)

    compiler.forget()

    assert 1.5 == pytest.approx(steps(model, window), abs=0.1)
    assert [] == kinds(compiler)


@pytest.mark.parametrize(
    ("room", "full"), [(8, ""), (7, "compiled backward pass"), (3, "compiled forward pass")]
)
def test_more_samples_than_there_is_room_for_are_out_of_memory(rig, room, full):
    """Twice as many fit into a forward pass, and half as many into one in full precision."""
    window = rig.window([4])
    compiler = rig.compiler(window, SECONDS, step=0.5)
    compiler.room = room
    model = torch.compile(window.model, backend=compiler)

    with pytest.raises(torch.OutOfMemoryError, match=full) if full else contextlib.nullcontext():
        steps(model, window)


def test_a_build_is_noted_with_the_scripted_second_at_which_it_began(rig):
    window = rig.window([8])
    compiler = rig.compiler(window, SECONDS, step=0.5)
    rig.clock.advance(3.0)
    steps(torch.compile(window.model, backend=compiler), window)
    forward, backward = compiler.values()["built"]

    assert [3.0, 3.0 + SECONDS["forward"] + 0.5] == pytest.approx(
        [forward["at"], backward["at"]], abs=0.1
    )


def test_eager_passes_are_counted_by_their_precision_and_compiled_ones_are_not(rig):
    window = rig.window([8])
    compiler = rig.compiler(window)
    make = rig.eager_trainings(1.0, 0.0)
    for times, half in ((2, True), (3, False)):
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            for _ in range(times):
                steps(make(rig.device)[0], window)
            steps(torch.compile(make(rig.device)[0], backend=compiler), window)

    assert {"bfloat16": 2, "float32": 3} == make.passes


@pytest.mark.parametrize(
    "way", ["torch.compile(model)", "model.compile()", "model.forward = torch.compile(...)"]
)
def test_eager_seconds_pass_where_nothing_is_compiled_alone(rig, way):
    """However the whole model is compiled, its passes take the compiled seconds and not the eager ones as well."""
    window = rig.window([8] * 3)
    compiler = rig.compiler(window, SECONDS, step=0.5)
    model, _, _ = rig.eager_trainings(7.0, 0.0)(rig.device)

    assert 21.0 == pytest.approx(steps(model, window), abs=0.1)

    if way == "torch.compile(model)":
        model = torch.compile(model, backend=compiler)
    elif way == "model.compile()":
        model.compile(backend=compiler)
    else:
        model.forward = torch.compile(model.forward, backend=compiler)
    steps(model, window)

    assert 1.5 == pytest.approx(steps(model, window), abs=0.1)


def test_without_a_backward_pass_its_graph_is_not_built(rig):
    window = rig.window([8])
    compiler = rig.compiler(window, SECONDS)
    steps(torch.compile(window.model, backend=compiler), window, back=False)

    assert [("forward", 0)] == kinds(compiler)


def test_a_pass_without_gradients_is_of_another_kind_and_half_precision_is_told(rig):
    window = rig.window([8])
    compiler = rig.compiler(window, SECONDS)
    model = torch.compile(window.model, backend=compiler)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        steps(model, window, back=False)

    [built] = compiler.values()["built"]
    assert ("inference", 0, True) == (built["kind"], built["batch"], built["half"])


def test_models_of_one_maker_share_their_graphs_and_eager_passes_take_other_seconds(rig):
    window = rig.window([8, 8])
    compiler = rig.compiler(window, SECONDS, step=0.5)
    make = rig.eager_trainings(0.75, 3.0)
    eager, *_ = make(window.device)

    assert 3.0 + 2 * 0.75 == pytest.approx(steps(eager, window), abs=0.1)
    for cost in (14.0, 0.0):
        model, *_ = make(window.device)
        took = steps(torch.compile(model, backend=compiler, mode="max-autotune"), window)
        assert cost + 2 * 0.5 == pytest.approx(took, abs=0.1)


def test_a_copy_of_a_compiled_model_has_the_same_backend(rig):
    """So a warm-up on a copy serves the model, as it does with a backend that is a function."""
    window = rig.window([8])
    compiler = rig.compiler(window)
    model = torch.compile(window.model, backend=compiler)
    steps(copy.deepcopy(model), window)
    compiler.forget()
    steps(model, window)

    assert [] == kinds(compiler)


def test_a_break_is_told_in_words(rig):
    compiler = rig.compiler(rig.window([8]))
    rig.compiled(Doubles(peeks=True), compiler)(torch.ones(3))

    assert 1 == len(compiler.values()["breaks"])


@pytest.mark.parametrize(
    ("whole", "expected"),
    [pytest.param(True, True, id="fullgraph"), pytest.param(False, False, id="breaks allowed")],
)
def test_a_model_that_peeks_is_refused_or_runs(rig, whole, expected):
    compiler = rig.compiler(rig.window([8]))

    assert expected == bool(
        refusal(lambda it: torch.compile(it, backend=compiler, fullgraph=whole))
    )


def test_an_error_on_a_model_that_does_not_peek_is_no_refusal():
    def refuse(_):
        raise TypeError("no model is good enough")

    with pytest.raises(TypeError):
        refusal(refuse)


def test_a_state_is_put_back_whatever_was_done_to_it(rig):
    """Parameters, running statistics and momentum."""
    window = rig.window([8, 8], momentum=0.9)
    steps(window.model, window)
    window.optimizer.step()
    state, before = window.state(), window.held()
    steps(window.model, window)
    window.optimizer.step()
    moved = window.held()
    window.restore(state)

    assert not all((a == b).all() for a, b in zip(moved, before, strict=True))
    assert all((a == b).all() for a, b in zip(window.held(), before, strict=True))
    assert 0 == len(rig.window([8]).held()[2])  # an optimizer that took no step holds nothing


def test_inductor_computes_as_eager_code_does_and_only_its_graphs_are_counted(rig):
    """Who forgets to pass the backend on waits for no compiler."""
    compiler = rig.compiler(rig.window([8]))
    model = Doubles(peeks=False)

    assert torch.equal(model(torch.ones(3)), torch.compile(model)(torch.ones(3)))
    assert ([], 1) == (compiler.values()["built"], compiler.values()["defaults"])
