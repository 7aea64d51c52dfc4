"""Memory is counted from what the kernel says of processes, and nothing that is held counts as nothing."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import pytest

from autograder.sandbox import usage
from autograder.sandbox.usage import Inherited, Usage

MB = 1 << 20
WARM = Inherited(400 * MB, b"the warm process")


@pytest.fixture
def proc(tmp_path, monkeypatch):
    """A /proc of our own."""
    monkeypatch.setattr(usage, "PROC", tmp_path)
    return tmp_path


def process(proc, pid=7, *, mark=WARM.mark, anon=400, shmem=0, file=0, most=0, swap=0, tables=0):
    """Write what the kernel says of a process, in MB; *most* is beyond what it holds now."""
    folder = proc / str(pid)
    folder.mkdir(exist_ok=True)
    kinds = {"RssAnon": anon, "RssShmem": shmem, "RssFile": file, "VmSwap": swap, "VmPTE": tables}
    kinds["VmHWM"] = anon + shmem + file + most
    (folder / "status").write_text(
        "".join(f"{name}:\t{mb << 10} kB\n" for name, mb in kinds.items())
    )
    (folder / "auxv").write_bytes(mark)


HELD = {
    "a fork": ({"anon": 430}, 30),
    "a program of its own": ({"mark": b"python", "anon": 430}, 430),
    "one that may not be looked at": ({"mark": b"", "anon": 430}, 430),
    "shared memory": ({"anon": 430, "shmem": 20}, 50),
    "in swap": ({"anon": 400, "swap": 50}, 50),
    "libraries": ({"anon": 430, "file": 500}, 30),
    "more of it a moment ago": ({"anon": 430, "most": 70}, 100),
}


@pytest.mark.parametrize(("figures", "mb"), HELD.values(), ids=HELD)
def test_what_is_inherited_is_no_forks_own(proc, figures, mb):
    """Only of a fork of the warm process is it taken off: whoever started anew has all of it for itself."""
    process(proc, **figures)
    seen = Usage(WARM)
    seen.look([7])

    assert mb * MB == seen.peak_bytes


def test_memory_of_several_processes_is_added_where_they_live_at_the_same_time(proc):
    """One of them held more between two looks, beside what the other held."""
    seen = Usage(WARM)
    process(proc, 7, anon=430)
    process(proc, 8, mark=b"python", anon=50)
    seen.look([7, 8])
    process(proc, 7, anon=430, most=100)
    seen.look([7, 8])
    process(proc, 8, mark=b"python", anon=60)
    seen.look([7, 8])

    assert (30 + 100 + 50) * MB == seen.peak_bytes


def test_a_child_that_borrows_its_parents_memory_brings_no_peak_with_it(proc):
    """Until it starts a program, a child of vfork shows all that its parent ever held."""
    seen = Usage(WARM)
    process(proc, 7, anon=410, most=200)
    seen.look([7])
    process(proc, 8, anon=410, most=200)
    seen.look([7, 8])

    assert 210 * MB == seen.peak_bytes


def test_what_is_given_back_of_the_inheritance_makes_no_room(proc):
    """Memory that takes the place of what was inherited is a worker's own."""
    seen = Usage(WARM)
    for anon in (400, 300, 400):
        process(proc, anon=anon)
        taken = seen.look([7])

    assert 100 * MB == taken == seen.peak_bytes


def test_tables_of_pages_count_for_the_limit_alone(proc):
    """They are no work of a student's, but a machine can be filled with them."""
    process(proc, anon=430, tables=20)
    seen = Usage(WARM)

    assert (50 * MB, 30 * MB) == (seen.look([7]), seen.peak_bytes)


def test_what_no_process_maps_counts(proc):
    """Files and sockets of the box, beside every process."""
    process(proc, anon=430)
    seen = Usage(WARM, lambda: 25 * MB)

    assert (55 * MB, 55 * MB) == (seen.look([7]), seen.peak_bytes)


def rollup(proc, pid, mb):
    (proc / str(pid) / "smaps_rollup").write_text(
        f"Pss_Anon: {mb << 10} kB\nPss_Shmem: 0 kB\nSwapPss: 0 kB\n"
    )


@pytest.mark.parametrize(("own", "over"), [(40, False), (390, True)], ids=["inherited", "changed"])
def test_forks_that_change_what_they_inherited_meet_the_limit(proc, own, over):
    """Each shows as much as it inherited, whether that is still shared or a copy of its own."""
    forks = range(7, 17)
    for pid in forks:
        process(proc, pid)
        rollup(proc, pid, own)
    seen = Usage(WARM)

    assert 0 == seen.look(forks)
    assert over == seen.over(1000 * MB, forks)


def test_few_forks_are_not_looked_at_closely(proc):
    """It takes 20 ms for each, and five of them cannot hold more than twice the limit."""
    for pid in range(7, 12):
        process(proc, pid)
    seen = Usage(WARM)
    seen.look(range(7, 12))

    assert not seen.over(1000 * MB, range(7, 12))


def test_who_cannot_be_looked_at_closely_shares_nothing(proc):
    for pid in range(7, 17):
        process(proc, pid)
    seen = Usage(WARM)
    seen.look(range(7, 17))

    assert seen.over(1000 * MB, range(7, 17))


def test_a_fork_whose_first_thread_has_ended_still_shares(proc, monkeypatch):
    """Its memory is that of its other threads; ten that end are no 4 GB."""
    for pid in range(7, 17):
        process(proc, pid)
        rollup(proc, pid, 40)
        rest = proc / str(pid) / "task" / str(pid + 100)
        rest.mkdir(parents=True)
        for name in ("status", "auxv", "smaps_rollup"):
            (proc / str(pid) / name).rename(rest / name)
    monkeypatch.setattr(
        usage.tree,
        "threads",
        lambda pids: [proc / str(pid) / "task" / str(pid + 100) for pid in pids],
    )
    seen = Usage(WARM)

    assert 0 == seen.look(range(7, 17))
    assert not seen.over(1000 * MB, range(7, 17))


def test_a_process_that_is_gone_holds_nothing(proc):
    assert 0 == Usage(WARM).look([7])


def test_a_process_that_ends_while_it_is_looked_at_counts_for_nothing(proc, monkeypatch):
    """Its memory without its mark would be taken for that of a program, of 400 MB."""
    process(proc, anon=400)
    real, read = usage._bytes, []

    def reads(name):
        read.append(name)
        return real(name) if len(read) == 1 else b""

    monkeypatch.setattr(usage, "_bytes", reads)

    assert 0 == Usage(WARM).look([7])


def sockets(proc, used, tcp="", tcp6=0):
    net = proc / "7" / "net"
    net.mkdir(parents=True)
    (proc / "sys/net/core").mkdir(parents=True)
    (proc / "sys/net/core/wmem_default").write_text("1000\n")
    inuse = len(tcp.splitlines())
    (net / "sockstat").write_text(
        f"sockets: used {used}\nTCP: inuse {inuse} orphan 0 tw 0 alloc 5 mem 2\n"
    )
    (net / "sockstat6").write_text(f"TCP6: inuse {tcp6}\n")
    (net / "tcp").write_text(
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when\n" + tcp
    )


def test_sockets_count_by_what_they_may_hold(proc):
    """Nobody in the box can give one more than the kernel gives it by itself."""
    sockets(proc, 30)

    assert 30_000 == usage.in_sockets(7)


def test_connections_count_by_what_waits_in_them(proc):
    """The kernel gives them as much as they can use."""
    line = "   0: 0100007F:1F90 0100007F:A000 01 {:08X}:{:08X} 00:00000000 00000000  1000\n"
    sockets(proc, 2, line.format(5000, 0) + line.format(0, 700))

    assert 2_000 + 5_700 == usage.in_sockets(7)


def test_a_queue_below_nothing_counts_as_empty(proc):
    """It was read while an answer came in: three processes of honest work were ended for 4 GB."""
    line = "   0: 0100007F:1F90 0100007F:A000 01 {:08X}:{:08X} 00:00000000 00000000  1000\n"
    sockets(proc, 2, line.format(2**32 - 300, 0) + line.format(0, 700))

    assert 2_000 + 700 == usage.in_sockets(7)


def test_without_a_socket_nothing_is_in_any(proc):
    assert 0 == usage.in_sockets(7)


def test_files_in_memory_count_by_blocks_and_by_their_number(monkeypatch):
    """200,000 empty files are 200 MB of the kernel's."""
    found = itertools.cycle(
        [SimpleNamespace(f_blocks=100, f_bfree=60, f_frsize=4096, f_files=1000, f_ffree=990)]
    )
    monkeypatch.setattr(usage.os, "fstatvfs", lambda _: next(found))

    assert 2 * (40 * 4096 + 10 * usage.INODE_BYTES) == usage.in_files([3, 4])
