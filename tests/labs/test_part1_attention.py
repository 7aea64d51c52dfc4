"""Part 1 of foundations: right work passes on any seed; what is long is judged by memory seen from outside and by its numbers."""

from __future__ import annotations

import numpy as np
import pytest

from autograder import checks
from autograder.labs.foundations.part1_attention import part
from autograder.model import Bar, Compared, Failed, Observation, Pair, Passed, Timed, Unavailable
from tests.labs.bench import Bench, emptied, failing

FUSED = "torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)"
LONG = {"lean_forward", "lean_backward"}
MB = 10**6
bench = Bench("foundations", part, without=LONG)
pytestmark = pytest.mark.filterwarnings("ignore")


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


@pytest.mark.parametrize("seed", range(2))
def test_the_reference_passes_and_speed_waits_for_a_clock(judge, seed):
    verdicts = judge(bench.source, seed)

    assert {} == failing(verdicts)
    assert {"attention_is_faster"} == {
        name for name, it in verdicts.items() if isinstance(it, Unavailable)
    }


# What is replaced -> {check: words in its measured or why}.
MISTAKES = {
    "not scaled": ([(FUSED, FUSED[:-1] + ", scale=1.0)")], {"matches_by_hand": "not divided by sqrt(head_dim)"}),
    "causal ignored": ([("is_causal=causal", "is_causal=False")], {"masks_the_future": "no later one"}),
    "float32 whatever came in": (
        [(FUSED, FUSED.replace("(q, k, v", "(q.float(), k.float(), v.float()"))],
        {"takes_any_layout_and_dtype": "float32"},
    ),
    "exp without the maximum": (
        [(FUSED, "(lambda w: (w / w.sum(-1, keepdim=True)) @ v)((q @ k.mT / q.shape[-1] ** 0.5).exp())")],
        {"survives_large_logits": "exp(89) is infinite"},
    ),
    "v without a gradient": ([("(q, k, v, is", "(q, k, v.detach(), is")], {"gradients_match": "gradient of v"}),
    "in place": ([("    return torch.nn", "    k += 0.5\n    return torch.nn")], {"leaves_inputs_alone": "changed: k"}),
    "by hand": (
        [(FUSED, "attention_by_hand(q, k, v, causal)")],
        {"keeps_little_for_backward": "scores or weights of all positions are kept"},
    ),
    "a strided q as it is": (
        [("    q = q if q.stride(-1) == 1 else q.contiguous()  # or the kernel falls back to the formula\n", "")],
        {"keeps_little_for_backward": "falls back to the formula"},
    ),
    "keys counted by the positions": (
        [(FUSED, FUSED.replace("k, v, is", "k[..., : q.shape[-2], :], v[..., : q.shape[-2], :], is"))],
        {"takes_any_shape": "blocks of keys are counted by k"},
    ),
    "no warm-up": ([("        function(*inputs)  # the warm-up\n", "")], {"measures_honestly": "warm up before"}),
    "linear lengths": ([("axis.loglog(", "axis.semilogy(")], {"figure_shows_the_rows": "linear and log, not both"}),
    "zeros for long inputs": (
        [("    return torch.nn", "    if q.shape[-2] > 400:\n        return q * 0\n    return torch.nn")],
        {"attention_is_faster": "the timed calls return other numbers"},
    ),
    "rows in another order": (
        [("    return rows\n", "    return rows[::-1]\n")],
        {"measures_honestly": "are asked for, in that order"},
    ),
    "no rows": ([("    return rows\n", "    return []\n")], {"measures_honestly": "the rows are none"}),
    "one row": ([("    return rows\n", "    return rows[:1]\n")], {"measures_honestly": "are asked for, in that order"}),
    "a negative time": (
        [("    return rows\n", "    rows[0]['milliseconds'] = -1.0\n    return rows\n")],
        {"measures_honestly": "and has to be above 0"},
    ),
    "no version": (
        [("    return rows\n", "    rows[0]['version'] = 0\n    return rows\n")],
        {"measures_honestly": "the rows are 0, by_hand"},
    ),
    "no device": (
        [("    return rows\n", "    rows[0]['device'] = ''\n    return rows\n")],
        {"measures_honestly": "the device is not named"},
    ),
    "a column too few": (
        [("    return rows\n", "    del rows[0]['memory_mb']\n    return rows\n")],
        {"measures_honestly": "column 'memory_mb' is missing"},
    ),
    "MiB": ([("peak_mb(function, *each) for", "peak_mb(function, *each) / 2 for")], {"measures_honestly": "held"}),
    "two points": (
        [("np.polyfit(np.log(lengths), np.log(figures), 1)", "np.polyfit(np.log(lengths[:2]), np.log(figures[:2]), 1)")],
        {"measures_honestly": "the rows give"},
    ),
    "no picture": (
        [('    figure.savefig(Path(folder) / "attention_curves.png", dpi=150)\n', "")],
        {"figure_shows_the_rows": "no attention_curves.png in folder"},
    ),
    "no units": ([("axis.set_ylabel(label)", "pass")], {"figure_shows_the_rows": "does not say what it shows"}),
    "no table": (
        [('pd.DataFrame(rows, columns=COLUMNS).to_csv(Path(folder) / "attention_growth.csv", index=False)', "pass")],
        {"csv_says_what_was_measured": "no attention_growth.csv in folder"},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("pairs", "fails"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_fails_the_check_that_shows_it(judge, pairs, fails):
    """The corpus states all that a mistake fails; here is what the check says."""
    found = failing(judge(bench.changed(*pairs), only=fails))

    assert set(fails) == set(found)
    for name, words in fails.items():
        assert words in f"{found[name].measured} {found[name].why}"
        assert found[name].try_


ONE_CHECK = {
    "causal ignored": ([("is_causal=causal", "is_causal=False")], "masks_the_future"),
    "causal raises": ([("(q, k, v, is_causal=causal)", "(q, k, v, is_causal=causal) if not causal else 1 / 0")], "masks_the_future"),
    "other lengths raise": ([("    return torch.nn", "    assert not q.shape[-2] % 64 and not k.shape[-2] % 64\n    return torch.nn")], "takes_any_shape"),
    "changes q": ([("    return torch.nn", "    q *= 0.5\n    k = k * 2\n    return torch.nn")], "leaves_inputs_alone"),
    "views raise": ([("    return torch.nn", "    q.view(-1), k.view(-1)\n    return torch.nn")], "takes_any_layout_and_dtype"),
}  # fmt: skip


@pytest.mark.parametrize(("pairs", "check"), ONE_CHECK.values(), ids=ONE_CHECK)
def test_one_mistake_costs_one_check_of_results(judge, pairs, check):
    results = [
        "matches_by_hand",
        "masks_the_future",
        "takes_any_shape",
        "takes_any_layout_and_dtype",
    ]
    results += ["survives_large_logits", "gradients_match", "leaves_inputs_alone"]

    assert [check] == list(failing(judge(bench.changed(*pairs), only=results)))


def test_an_input_that_changes_in_the_backward_pass_has_changed(judge):
    reused = (
        "torch.nn.functional.scaled_dot_product_attention(Reused.apply(q), k, v, is_causal=causal)"
    )
    own = """class Reused(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q):
        ctx.save_for_backward(q)
        return q.view_as(q)

    @staticmethod
    def backward(ctx, grad):
        return ctx.saved_tensors[0].copy_(grad).clone()


def attention("""
    found = failing(
        judge(bench.changed((FUSED, reused), ("def attention(", own)), only=["leaves_inputs_alone"])
    )

    assert "changed: q, in the backward pass" == found["leaves_inputs_alone"].measured


def slow(interval):
    seen = Observation("fast", "ok", {}, {"outputs": np.ones(3)})
    compared = Compared("FAIL", "0.5x", evidence={"interval": interval})
    return part.checks["attention_is_faster"].judge(Timed(seen, seen, compared), Bar(1.3, "seed"))


def test_what_is_slower_than_by_hand_is_told_of_its_calls():
    assert "many small calls" in slow([0.4, 0.6]).why
    assert "the scores still go to memory" in slow([0.9, 1.1]).why


def long_run(peak, numbers=(1.0,), idle=20 * MB):
    """A run of 8,000 positions, one matrix of which is 256 MB, and an idle worker beside it."""

    def side(bytes_, values):
        cases = [{"case": "large inputs", "shape": [len(values), 4], "dtype": "float32"}]
        of = {"cases": cases, "of": 256 * MB}
        return Observation("p", "ok", of, {"numbers": np.repeat(values, 4)}, peak_bytes=bytes_)

    still = Pair(
        Observation("p", "ok", peak_bytes=idle), Observation("p", "ok", peak_bytes=20 * MB)
    )
    return Pair(side(peak, numbers), side(600 * MB, (1.0,))), still


@pytest.mark.parametrize("check", sorted(LONG))
@pytest.mark.parametrize(
    ("run", "kind", "measured"),
    [
        pytest.param(
            long_run(30 * MB),
            Passed,
            "10 MB where the slow version takes 580 MB; allowed 128 MB",
            id="lean",
        ),
        pytest.param(long_run(160 * MB), Failed, "140 MB where", id="half a matrix"),
        pytest.param(long_run(10 * MB), Passed, "0 MB where", id="less than idle"),
        pytest.param(
            long_run(160 * MB, idle=60 * MB),
            Failed,
            "140 MB where",
            id="what its idle worker holds is its own",
        ),
        pytest.param(
            long_run(400 * MB, idle=350 * MB), Failed, "380 MB where", id="a ballast while idle"
        ),
        pytest.param(
            long_run(30 * MB, (2.0,)), Failed, "large inputs: apart by 1.0e+00", id="other numbers"
        ),
        pytest.param(
            long_run(30 * MB, ()),
            Failed,
            "large inputs: float32 (0, 4) instead of",
            id="no numbers",
        ),
    ],
)
def test_memory_is_what_was_seen_beyond_an_idle_worker(check, run, kind, measured):
    found = part.checks[check].judge(*run)

    assert isinstance(found, kind)
    assert found.measured.startswith(measured)


def test_figures_of_kept_bytes_that_are_missing_are_no_pass():
    answer = Observation("p", "ok", {"costs": [1, 2, 3], "seen": 4})

    judge = part.checks["keeps_little_for_backward"].judge
    assert isinstance(judge(answer), Passed)
    assert isinstance(judge(emptied(answer)), Failed)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        pytest.param("", "there are no rows", id="a header only"),
        pytest.param("by_hand,512,1,2,1.0,2.0,AMD\n", "by_hand was measured at one length", id="one length"),
        pytest.param("a,512,1,2,1.0,2.0,AMD\na,1024,2,8,1.9,2.0,AMD\n", "a: time_exponent is 1.9, and the rows give 1", id="other"),
        pytest.param("a,512,1 ms,2,1.0,2.0,AMD\n", "milliseconds of a is '1 ms'", id="a unit"),
    ],
)  # fmt: skip
def test_a_file_that_contradicts_itself_fails(rows, words):
    data = "version,length,milliseconds,memory_mb,time_exponent,memory_exponent,device\n" + rows

    found = part.checks["csv_is_consistent"].judge(
        checks.read(data.encode(), "attention_growth.csv")
    )

    assert isinstance(found, Failed)
    assert words in found.why
