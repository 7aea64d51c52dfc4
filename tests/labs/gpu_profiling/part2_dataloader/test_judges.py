"""A benchmark of loaders: each mistake in counting gives a figure of its own, and tables are whole and consistent."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product
from pathlib import Path

import jsonschema
import pytest

from autograder.labs.gpu_profiling.part2_dataloader import judges
from autograder.labs.gpu_profiling.part2_dataloader.judges import Stream

SCHEMAS = Path(__file__).parents[4] / "assignments/gpu_profiling/schemas"
# 7 batches of 10; 2 warm up, 4 count: 2 + 3 + 5 + 7 = 17 s for 40 samples.
STREAM = Stream(samples=70, batch_size=10, waits=(1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 11.0), start=4.0, cold=6.0, warm_up=2, batches=4)  # fmt: skip
SHORT = replace(STREAM, samples=45)  # 5 batches, the last one of 5: 2 + 3 + 5 s for 25 samples


def told(samples, seconds):
    return {"samples": samples, "seconds": seconds, "throughput": samples / seconds}


MISTAKES = {
    "right": (STREAM, told(40, 17.0), ""),
    "right, of fewer": (SHORT, told(25, 10.0), ""),
    "Lab 02's own": (
        STREAM,
        told(40, 16.5),
        "so the start of its workers counts; and the time includes",
    ),
    "begun again": (STREAM, told(40, 11.5), "a second iterator was begun"),
    "one more": (STREAM, told(40, 28.0), "the time includes the wait for one batch too many"),
    "one more, twice": (
        STREAM,
        told(40, 26.0),
        "the time includes the wait for one batch too many",
    ),
    "late": (STREAM, told(40, 15.0), "leaves out the wait for the first batch that counts"),
    "as asked for": (SHORT, told(40, 10.0), "batches that never came"),
    "batches": (STREAM, told(4, 17.0), "counts batches, not samples"),
    "the warm-up": (STREAM, told(40, 29.5), "the warm-up is timed"),
    "none": (STREAM, told(40, 17.5), "there is no warm-up"),
    "another": (STREAM, told(40, 19.0), "throughput is 2.105 samples/s where 2.353 is right"),
    "nothing": (STREAM, {"throughput": None}, "throughput is None"),
    "other samples": (
        STREAM,
        {**told(40, 17.0), "samples": 41.0},
        "samples is 41 where 40 is right",
    ),
    "milliseconds": (
        STREAM,
        {**told(40, 17.0), "seconds": 17000.0},
        "seconds is 1.7e+04 s: it is in milliseconds (17 is right)",
    ),
}


@pytest.mark.parametrize(("stream", "said", "words"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_known_by_its_figure(stream, said, words):
    found = judges.figure_problem(said, stream)

    assert bool(words) == bool(found)
    assert words in found


def rows(at=None, sizes=(8, 16, 32, 64), workers=(0, 1, 2, 3), **changed):
    """Each combination, measured over 10 batches; *changed* goes into one row."""
    made = [
        {
            "batch_size": size,
            "num_workers": number,
            "pin_memory": pin,
            "samples": 10 * size,
            "seconds": 10.0 / (1 + number),
            "throughput": size * (1.0 + number),
            "device": "a CPU",
        }
        for size, number, pin in product(sizes, workers, judges.PINS)
    ]
    if at is not None:
        made[at] |= changed
    return made


FORMS = {
    "right": (rows(), ""),
    "two decimals": (rows(1, throughput=8.004), ""),
    "none": ([], "there are no rows"),
    "a unit": (rows(1, seconds="10 s"), "seconds of 8 0 True is '10 s', and it must be a number"),
    "pinned by a number": (rows(0, pin_memory=1.0), "has to be one of False, True"),
    "no samples": (rows(0, samples=0.0), "has to be at least 1"),
    "edited": (rows(2, throughput=99.0), "throughput of batch_size 8, num_workers 1, pin_memory False is 99, but samples / seconds is 16"),
    "nameless": (rows(0, device=" "), "the device is not named"),
    "two machines": (rows(0, device="another"), "the rows are from two machines"),
}  # fmt: skip


@pytest.mark.parametrize(("table", "words"), FORMS.values(), ids=FORMS)
def test_rows_have_their_form(table, words):
    found = judges.RESULTS.problem(table)

    assert bool(words) == bool(found)
    assert words in found


def test_rows_are_those_that_were_asked_for():
    asked = [judges.place(row) for row in rows()]

    assert "" == judges.RESULTS.problem(rows(), asked)
    assert (
        "of row 1 is 8 0 True; expected from row 1 on, in that order: 8 0 False, 8 0 True"
        in judges.RESULTS.problem(rows()[1:], asked)
    )


WHOLES = {
    "right": (rows(), ""),
    "three sizes": (rows(sizes=(8, 16, 32)), "it has 3 batch sizes and 0, 1, 2, 3 workers; it needs 4 of each"),
    "never none": (rows(workers=(1, 2, 3, 4)), "0 workers among them"),
    "one missing": (rows()[:-1], "batch_size 64, num_workers 3, pin_memory True is missing"),
    "one twice": (rows() + rows()[:1], "a configuration has two rows"),
    "fewer batches": (rows(0, samples=40), "rows count 5 to 10 batches"),
    "more workers than batches": (rows(workers=(0, 2, 4, 8)), "10 batches; 8 workers need at least 16"),
}  # fmt: skip


@pytest.mark.parametrize(("table", "words"), WHOLES.values(), ids=WHOLES)
def test_a_table_is_whole(table, words):
    found = judges.whole_problem(table)

    assert bool(words) == bool(found)
    assert words in found


def paced(*rates):
    """A row and a stream for each rate: 40 samples in 17 s times something."""
    streams = [
        replace(STREAM, waits=[wait / rate for wait in STREAM.waits]) for rate in (1.0, 1.3, 1.6)
    ]
    made = zip(rows()[: len(rates)], rates, strict=True)
    return [{**row, **told(40, 17.0 / rate)} for row, rate in made], streams


PACES = {
    "right": ((1.0, 1.3, 1.6), "a CPU", ""),
    "one forgotten": ((1.0, 1.0, 1.6), "a CPU", "pin_memory True is 2.353 samples/s: that is the figure of batch_size 8, num_workers 0, pin_memory False"),
    "another device": ((1.0, 1.3, 1.6), "a GPU", "the device is given as 'a CPU' in the column device; expected 'a GPU'"),
}  # fmt: skip


@pytest.mark.parametrize(("rates", "device", "words"), PACES.values(), ids=PACES)
def test_each_configuration_has_its_pace(rates, device, words):
    found = judges.paces_problem(*paced(*rates), device)

    assert bool(words) == bool(found)
    assert words in found


TIED = rows(1, seconds=2.0, throughput=40.0, pin_memory="True")[
    :4
]  # of the first four, the second is the fastest
TIED[3] |= {"throughput": 40.0, "seconds": 2.0}
OPTIMA = {
    "right": ('{"batch_size": 8, "num_workers": 0, "pin_memory": true}', ""),
    "as text": ('{"batch_size": 8.0, "num_workers": 0, "pin_memory": "True"}', ""),
    "a later one": ('{"batch_size": 8, "num_workers": 1, "pin_memory": true}', "the first must be taken, batch_size 8, num_workers 0, pin_memory True"),
    "a slower one": ('{"batch_size": 8, "num_workers": 0, "pin_memory": false}', "has 8 samples/s, but the fastest must be taken: batch_size 8, num_workers 0, pin_memory True has 40"),
    "none of them": ('{"batch_size": 9, "num_workers": 0, "pin_memory": false}', "must be a row of the table"),
    "more": ('{"batch_size": 8, "num_workers": 0, "pin_memory": true, "throughput": 40}', "and nothing else"),
    "words": ('{"batch_size": "8", "num_workers": 0, "pin_memory": true}', "and nothing else"),
    "a truth for a number": ('{"batch_size": true, "num_workers": 0, "pin_memory": true}', "and nothing else"),
    "half pinned": ('{"batch_size": 8, "num_workers": 0, "pin_memory": 0.5}', "and nothing else"),
    "a list": ("[]", "and nothing else"),
    "no JSON": ("Optimal configuration: BS=8", "the file is not JSON"),
    "nested": ("[" * 100_000, "the file is not JSON"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "words"), OPTIMA.values(), ids=OPTIMA)
def test_the_optimum_is_the_best_row(text, words):
    found = judges.optimum_problem(text, TIED)

    assert bool(words) == bool(found)
    assert words in found


def test_the_schemas_say_what_the_judges_ask_for():
    results, optimum = (
        json.loads((SCHEMAS / f"dataloader_{name}.schema.json").read_text(encoding="utf-8"))
        for name in ("results", "optimum")
    )

    assert judges.KEYS == tuple(optimum["required"])
    jsonschema.validate(rows()[0], results)
    jsonschema.validate(json.loads(OPTIMA["right"][0]), optimum)
