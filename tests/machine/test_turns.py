"""Many at a time, or one alone: across processes, whatever becomes of them."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from contextlib import ExitStack
from itertools import count

import pytest

from autograder.errors import UserError
from autograder.machine import turns as module
from autograder.machine.turns import (
    ALONE,
    MANY,
    QUIET_SECONDS,
    Turns,
    during,
    holder,
    number,
    only_one,
)

# Says when it is in, and leaves when its input ends.
OTHER = """
import sys
from pathlib import Path
from autograder.machine.turns import Turns
with getattr(Turns({device!r}, Path({place!r})), {how!r})():
    print("in", flush=True)
    sys.stdin.read()
"""


class Other:
    """Another process that wants a turn."""

    def __init__(self, place, device, how):
        command = [sys.executable, "-c", OTHER.format(device=device, place=str(place), how=how)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        os.set_blocking(self.process.stdout.fileno(), False)

    def is_in(self, seconds):
        """Wait for it to say so."""
        import select

        return bool(select.select([self.process.stdout], [], [], seconds)[0])

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


@pytest.fixture
def other(tmp_path):
    with ExitStack() as ends:

        def start(how, device="cpu"):
            found = Other(tmp_path, device, how)
            ends.callback(found.end)
            return found

        yield start


CASES = {  # mine, its; whether it gets in meanwhile
    "many beside many": (("cpu", "many"), ("cpu", "many"), True),
    "nobody beside one alone": (("cpu", "alone"), ("cpu", "many"), False),
    "one alone waits for many": (("cpu", "many"), ("cpu", "alone"), False),
    "two alone": (("cpu", "alone"), ("cpu", "alone"), False),
    "alone on two GPUs": (("GPU-a", "alone"), ("GPU-b", "alone"), True),
    "alone on one GPU": (("GPU-a", "alone"), ("GPU-a", "alone"), False),
    "many on a GPU that is timed": (("GPU-a", "alone"), ("GPU-a", "many"), False),
    "many on another GPU": (("GPU-a", "alone"), ("GPU-b", "many"), True),
    "the processor is not timed beside a GPU": (("GPU-a", "alone"), ("cpu", "alone"), False),
}


@pytest.mark.parametrize(("mine", "its", "beside"), CASES.values(), ids=CASES)
def test_who_gets_in_beside_whom(tmp_path, other, mine, its, beside):
    """And whoever had to wait gets in afterwards."""
    device, how = mine
    with getattr(Turns(device, tmp_path), how)():
        found = other(its[1], its[0])
        assert beside == found.is_in(20 if beside else 0.7)
    assert found.is_in(20)


def test_while_one_waits_to_be_alone_nobody_else_starts(tmp_path, other):
    """Else a stream of small work would keep it waiting for ever."""
    with Turns(place=tmp_path).many():
        alone = other("alone")
        assert not alone.is_in(0.7)
        late = other("many")
        assert not late.is_in(0.7)
    assert alone.is_in(20)
    assert not late.is_in(0.3)
    alone.end()
    assert late.is_in(20)


def test_a_process_that_is_killed_holds_nothing(tmp_path, other):
    """Locks end with the process."""
    found = other("alone")
    assert found.is_in(20)
    found.end()
    with Turns(place=tmp_path).alone():
        pass


def test_work_that_waits_for_its_turn_answers_as_ever(tmp_path):
    """Arguments go in, the answer comes out, and the turn is over after an exception too."""
    turns = Turns(place=tmp_path)
    divide = during(turns.alone, lambda a, b: a / b)
    with pytest.raises(ZeroDivisionError):
        divide(1, 0)

    assert 2 == divide(6, b=3)


def test_locks_are_for_every_user(tmp_path):
    """Whatever the umask of who came first."""
    before = os.umask(0o077)
    try:
        with Turns(place=tmp_path).many():
            pass
    finally:
        os.umask(before)

    assert {0o644} == {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}


def test_a_link_in_the_place_of_a_lock_is_not_followed(tmp_path):
    """The place is open to all."""
    (tmp_path / "perflab-cpu.gate").symlink_to("/etc/passwd")
    with (
        pytest.raises(UserError, match="this lock must be a file that every user can read"),
        Turns(place=tmp_path).many(),
    ):
        pass


def test_two_graders_do_not_write_into_one_folder(tmp_path):
    """The second is told, and after the first has ended it may."""
    said = pytest.raises(UserError, match="another perflab grades into it; wait for that")
    with only_one(tmp_path), said, only_one(tmp_path, 0.0):
        pass
    with only_one(tmp_path, 0.0):
        pass


class Waiting:
    """A clock that goes on when somebody sleeps, and what is said meanwhile."""

    def __init__(self, place, holds, *, until):
        self.time, self.said, self._holds, self._until = 0.0, [], holds, until
        self.turns = Turns(place=place, say=self.say, now=lambda: self.time, sleep=self.sleep)

    def sleep(self, seconds):
        self.time += seconds
        if self.time > self._until:
            self._holds.end()

    def say(self, line):
        self.said.append(line)
        self._holds.end()


def test_whoever_waits_long_says_for_whom(tmp_path, other):
    """After ten seconds, once, with the process that holds the lock; then it waits on."""
    holds = other("alone")
    assert holds.is_in(20)
    waiting = Waiting(tmp_path, holds, until=3600)
    with waiting.turns.many():
        pass

    [line] = waiting.said
    assert line.startswith(f"perflab waits: {ALONE}: process {holds.process.pid} (")
    assert "; started at " in line


def test_whoever_wants_to_be_alone_says_that_others_still_work(tmp_path, other):
    holds = other("many")
    assert holds.is_in(20)
    waiting = Waiting(tmp_path, holds, until=3600)
    with waiting.turns.alone():
        pass

    [line] = waiting.said
    assert line.startswith(f"perflab waits: {MANY}: process {holds.process.pid} (")


def test_one_grader_is_named_once(tmp_path, other, monkeypatch):
    """A lane may need the machine alone for each part of one endless submission."""
    said = []
    now = count(step=QUIET_SECONDS).__next__
    turns = Turns(place=tmp_path, say=said.append, now=now, sleep=lambda _: None)
    for _ in range(2):
        holds = other("alone")
        assert holds.is_in(20)
        monkeypatch.setattr(module, "holder", lambda _, end=holds.end: end() or "process 8")
        with turns.many():
            pass

    assert [f"perflab waits: {ALONE}: process 8"] == said


def test_a_long_command_is_cut_between_two_words(tmp_path):
    (tmp_path / "proc/8").mkdir(parents=True)
    (tmp_path / "proc/8/cmdline").write_text("perflab\0grade\0" + "resnet18\0" * 40)
    (tmp_path / "proc/8/stat").write_text("8 (perflab) " + "0 " * 30)
    (tmp_path / "proc/uptime").write_text("100.0 100.0\n")
    with (tmp_path / "lock").open("w") as lock:
        found = os.fstat(lock.fileno())
        where = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
        (tmp_path / "proc/locks").write_text(f"2: FLOCK  ADVISORY  WRITE 8 {where} 0 EOF\n")

        assert " resnet18 ...; started at " in holder(lock.fileno(), tmp_path / "proc")


def test_what_was_waited_for_is_known_and_a_short_wait_is_no_news(tmp_path, other):
    """So that seconds of a result are those of its work."""
    holds = other("alone")
    assert holds.is_in(20)
    waiting = Waiting(tmp_path, holds, until=5)
    with waiting.turns.many():
        waiting.time += 100

    assert ([], True) == (waiting.said, 5 <= waiting.turns.waited < QUIET_SECONDS)


def test_a_holder_that_cannot_be_seen_is_none_that_is_made_up(tmp_path):
    """Another namespace's processes, or a kernel that shows no locks."""
    (tmp_path / "proc").mkdir()
    with (tmp_path / "lock").open("w") as lock:
        assert "a process that cannot be seen from here" == holder(lock.fileno(), tmp_path / "proc")
        found = os.fstat(lock.fileno())
        where = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
        (tmp_path / "proc/locks").write_text(
            f"1: POSIX  ADVISORY  WRITE 7 {where} 0 EOF\n2: FLOCK  ADVISORY  WRITE 8 {where} 0 EOF\n"
            f"2: -> FLOCK  ADVISORY  WRITE 9 {where} 0 EOF\n3: FLOCK  ADVISORY  WRITE 10 00:01:1 0 EOF\n"
        )
        assert "process 8" == holder(lock.fileno(), tmp_path / "proc")


HAS = """
import sys
from pathlib import Path
from autograder.machine.turns import number
print(number(290, Path({place!r})), flush=True)
sys.stdin.read()
"""


def test_a_number_is_one_processs_as_long_as_it_lives(tmp_path):
    """However alike the pids are; after its end somebody else has it."""
    mine = number(290, tmp_path)
    command = [sys.executable, "-c", HAS.format(place=str(tmp_path))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        theirs = int(other.stdout.readline())
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as third:
        again = int(third.stdout.readline())

    assert mine == number(290, tmp_path)
    assert theirs == again != mine


def test_a_number_that_cannot_be_locked_is_passed_over(tmp_path):
    """A link that another user left there is not followed."""
    (tmp_path / "perflab-0.number").symlink_to(tmp_path / "elsewhere")

    assert 1 == number(290, tmp_path)
    assert not (tmp_path / "elsewhere").exists()


def test_where_no_number_is_left_the_process_still_has_one(tmp_path):
    """It may be somebody else's as well."""
    assert 0 == number(1, tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "perflab-0.number").mkdir()

    assert 0 == number(1, tmp_path / "full")
