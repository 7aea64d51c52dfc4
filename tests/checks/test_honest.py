"""Reports as students write them, who never saw how they are read: none of what they say may be called unfounded."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from autograder.checks import configurations, table, versions
from autograder.checks.facts import unfounded
from autograder.checks.report import stated

SAMPLES = 3200
MEASURED = {  # row -> throughput, data_wait, warm_up_s, peak_memory_mb, accuracy: as a T4 may give them
    "Baseline": (412.3, 2.31, 1.92, 1833.4, 30.1),
    "Data loader": (561.8, 0.42, 2.35, 1833.4, 30.1),
    "AMP": (902.7, 0.47, 2.61, 1127.9, 30.6),
    "Compile": (1113.9, 0.49, 41.3, 1045.2, 30.4),
    "Accumulation": (915.2, 0.46, 2.66, 1131.0, 17.3),
    "Checkpointing": (689.5, 0.45, 2.58, 702.6, 30.6),
}


def made():
    """Six rows; Compile is 2.70x, its gain 1.23x; AMP 2.19x, gain 1.61x; the loader 1.36x; Checkpointing 1.67x."""
    rates = {name: it[0] for name, it in MEASURED.items()}
    for name, (rate, wait, warm, peak, right) in MEASURED.items():
        yield {
            "configuration": name,
            "throughput": rate,
            "epoch_time": SAMPLES / rate,
            "data_wait": wait,
            "warm_up_s": warm,
            "peak_memory_mb": peak,
            "accuracy": right,
            "speedup": rate / rates["Baseline"],
            "gain": rate / rates.get(configurations.BUILDS_ON[name], rate),
        }


HONEST = {
    "the machine": "All runs are on a Colab T4 with 16 GB, in a machine with 24 GB RAM and 2 cores. Nothing came near "
    "that: the peak was 1833 MB.",
    "fewer steps": "Accumulating 4 batches means 4x fewer steps per epoch, and the model learns less: 17.3 % instead "
    "of 30.6 % with plain AMP. It has 4 times as many samples in a step.",
    "several runs": "We made 3 runs, 65 s each, and give the last one. A whole comparison takes 390 s.",
    "chance": "After one epoch the accuracy is 30.1 %; chance level is 10 %.",
    "by a factor": "AMP alone speeds up training by a factor of 1.61, which together with the loader is a speedup of "
    "2.19. With the compiler it is 2.7 times faster than the baseline.",
    "ratios without units": "Speedup: 2.70\n\nGain of the compiler: 1.23",
    "in words and symbols": "Throughput rose from 412.3 → 1113.9 samples/s (≈2.7\u00d7), at 43 % less memory with Compile.",
    "a table": "| Config | samples/s | Speedup | Peak (MB) |\n|---|---|---|---|\n| Baseline | 412.3 | 1.00x | 1833 |\n"
    "| Data loader | 561.8 | 1.36x | 1833 |\n| AMP | 902.7 | 2.19x | 1128 |",
    "a transposed table": "| | Baseline | Compile |\n|---|---|---|\n| Throughput (samples/s) | 412.3 | 1,113.9 |\n"
    "| Epoch (s) | 7.76 | 2.87 |\n| Speedup (x) | 1 | 2.7 |",
    "one sentence for all": "The loader hides the wait for data, which fell from 2.31 s to 0.42 s, 82 % less, and "
    "brings 1.36x; mixed precision is 61 % faster on top of that and needs 38 % less memory; compiling adds 23 %.",
    "shares of an epoch": "Data loading was the bottleneck: 29.8 % of the baseline's epoch was spent waiting, and only "
    "7.4 % with the data loader. So 70 % of the time the GPU computes.",
    "bullets": "- **AMP**: 902.7 samples/s, so +61 %\n- **Compile**: 1113.9 samples/s (+23 %), 41.3 s to build\n"
    "- **Checkpointing**: -38 % memory against AMP, -24 % speed",
    "bounds": "Nothing was more than 3x as fast. The wait is under 0.5 s in every row but the first. All "
    "configurations stay below 2 GB, and no configuration needs more than 1850 MB. Every row beats 400 samples/s.",
    "a trade": "Checkpointing gives up 24 % of AMP's throughput and saves 425 MB of it. Its epoch is 1.1 s longer.",
    "quotations": 'The handout promises "1.3 to 1.8x" for loading; ours is 1.36x. On `batch 32` nothing else changed.',
    "German habits": "Der Durchsatz steigt mit AMP von 561.8 auf 902.7 samples/s, also 1.61x.",
    "one step": "Each step takes 35 ms with the loader, and a batch is 32 images of 224 x 224 pixels.",
    "a spread": "Differences were ±30 % from run to run, and +/- 0.1x of a speedup. One step of the baseline takes 78 ms.",
    "a mark before": "Training is faster by a factor of \u00d72.7, with the memory never larger than 1850 MB.",
    "other bounds": "No epoch took longer than 8 s. The memory never exceeded 1850 MB, and Compile exceeded 2x.",
    "breaking even": "The compiler needs 41.3 s before the first epoch and wins 0.67 s per epoch over AMP, so it pays "
    "after about sixty epochs.",
    "percent of": "With AMP the peak is 61.5 % of the baseline's; Checkpointing needs 38 % of it.",
    "accuracy apart": "Accuracy moved by 0.5 percentage points with AMP, or 0.5 %: noise.",
    "the best of all": "The leanest run holds 703 MB, 61.7 % less than the baseline. The fastest has 2.70x its pace.",
}  # fmt: skip


@pytest.mark.parametrize("text", HONEST.values(), ids=HONEST)
def test_an_honest_report_is_believed(text):
    facts = configurations.facts(list(made()))

    assert [] == unfounded(stated(text), facts, configurations.NAMED)


RESULTS = {"by a factor": 3, "ratios without units": 1, "in words and symbols": 4, "several runs": 2, "the machine": 3}


@pytest.mark.parametrize(("name", "count"), RESULTS.items(), ids=RESULTS)
def test_what_is_no_figure_of_the_table_is_read_all_the_same(name, count):
    """What a report has to hold is counted, and a comparison written as a factor is one."""
    assert count == len(stated(HONEST[name]))


INVENTED = {  # in the same table
    "what everybody claims": "With memory in order the training became about 4x as fast.",
    "of another column": "Checkpointing was 2.61x as fast as the baseline.",
    "a speedup without a unit": "All of it brought a speedup of 3.5.",
    "a factor": "AMP and Compile are faster by a factor of 3.1.",
    "the memory's ratio": "Compile made training 43 % shorter.",
    "invented gain": "AMP gained 83 %.",
    "rows not named": "One of them was 1.98x as fast as another.",
    "waits": "Waiting fell to 11.9 % of the epoch.",
}


@pytest.mark.parametrize("text", INVENTED.values(), ids=INVENTED)
def test_an_invented_result_is_not(text):
    """Some other column, or some two other rows, have each of these numbers."""
    assert 1 == len(unfounded(stated(text), configurations.facts(list(made())), configurations.NAMED))


ROOT = Path(__file__).parents[2]
TAUGHT = {
    "resnet18": (configurations, "part6_comparison.md", "optimization_results.csv", 9),
    "gpu_profiling": (versions, "part6_final.md", "final_results.csv", 4),
}


@pytest.mark.parametrize(
    ("lab", "judge", "handout", "results", "count"), [(k, *v) for k, v in TAUGHT.items()], ids=TAUGHT
)
def test_examples_of_the_handout_are_read_as_it_says(lab, judge, handout, results, count):
    """They are of the table that it shows, which is the reference's."""
    read = table.read((ROOT / "reference" / lab / results).read_bytes(), results)
    facts = judge.facts(table.as_numbers(read.rows, judge.NUMBERS))
    text = (ROOT / "assignments" / lab / handout).read_text(encoding="utf-8")
    taught = re.findall(r"^\| (.+?) \| (right|wrong|no result): .*\|$", text, re.MULTILINE)

    assert count == len(taught)
    for sentence, verdict in taught:
        said = stated(sentence)
        assert (verdict == "wrong") == bool(unfounded(said, facts, judge.NAMED)), sentence
        assert (verdict == "no result") == (not said), sentence
