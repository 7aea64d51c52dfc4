"""An examination is kept for an hour, for a machine that was not started again and is not busier."""

from __future__ import annotations

import math

import pytest

from autograder.machine.kept_examination import BUSIER, GOOD_SECONDS, Examined, InCache, Nowhere

FOUND = (7, 0.004, math.log(1.25), 6, 0.01)


class Machine:
    """Its clock, its load, and when it was started."""

    def __init__(self, folder):
        self.folder, self.time, self.load = folder, 1000.0, 0.5
        self.boot = folder / "boot_id"
        self.boot.write_text("one\n")

    def memory(self, device="cpu"):
        return InCache(
            device, self.folder / "cache", lambda: self.time, lambda: self.load, self.boot
        )


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def test_what_was_found_is_there_for_the_next_session(machine):
    machine.memory().keep(*FOUND)
    machine.time += 60

    assert Examined("one", 1000.0, 0.5, *FOUND) == machine.memory().recall()
    assert machine.memory("GPU-1").recall() is None


def later(machine):
    machine.time += GOOD_SECONDS


def earlier(machine):
    machine.time -= 1


def restarted(machine):
    machine.boot.write_text("two\n")


def busier(machine):
    machine.load += BUSIER


def broken(machine):
    (machine.folder / "cache/examined-cpu.json").write_text('{"boot": 3}')


@pytest.mark.parametrize("change", [later, earlier, restarted, busier, broken])
def test_after_a_change_nothing_is_remembered(machine, change):
    machine.memory().keep(*FOUND)
    change(machine)

    assert machine.memory().recall() is None


def test_a_quieter_machine_is_as_good(machine):
    machine.memory().keep(*FOUND)
    machine.load = 0.0

    assert machine.memory().recall() is not None


def test_a_cache_that_cannot_be_written_to_only_costs_time(machine):
    (machine.folder / "cache").write_text("a file")
    machine.memory().keep(*FOUND)

    assert machine.memory().recall() is None
    assert Nowhere().recall() is None
