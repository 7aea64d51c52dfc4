from collections import Counter, OrderedDict, defaultdict
from dataclasses import asdict, dataclass
from fractions import Fraction
import os


@dataclass
class Diagnosis:
    bottleneck: str
    share: float
    at_most: float


@dataclass
class Row:
    fix: str
    seconds: float
    speedup: float
    cumulative: float


class Step:
    order = ("input", "copy", "communication", "launch", "kernel")

    def __init__(self, facts):
        self.facts = facts
        self.seconds = OrderedDict((name, Fraction(facts[name])) for name in self.order)

    def total(self):
        return sum(self.seconds.values())

    def longest(self):
        most = max(self.seconds.values())
        return next(name for name, it in self.seconds.items() if it == most)

    def fixed(self, fix):
        return Step({name: it / Fraction(fix.get(name, 1)) for name, it in self.seconds.items()})


def diagnose(step):
    own = Step(step)
    name = own.longest()
    quotients = [Fraction(step["flops"]) / Fraction(step["peak_flops"]), Fraction(step["bytes"]) / Fraction(step["peak_bandwidth"])]
    least = max(quotients) if name == "kernel" else 0
    word = name
    if name == "input":
        word = "io" if step["worker_busy"] < 0.5 else "cpu"
    elif name == "kernel":
        word = "bandwidth" if quotients[1] > quotients[0] else "compute"
    most = own.seconds[name]
    return asdict(Diagnosis(word, float(most / own.total()), float(own.total() / (own.total() - most + least))))


def plan(step, fixes, first=None):
    own = Step(step)
    first = first or own.total()
    steps = sorted((own.fixed(fix).total(), at, name) for at, (name, fix) in enumerate(fixes.items()))
    if not steps or own.total() - steps[0][0] <= own.total() / 100:
        return []
    seconds, _, name = steps[0]
    row = asdict(Row(name, float(seconds), float(own.total() / seconds), float(first / seconds)))
    others = {other: fix for other, fix in fixes.items() if other != name}
    return [row, *plan(own.fixed(fixes[name]).seconds, others, first)]


class visible_gpus(list):
    def __init__(self, value, count):
        super().__init__(range(count) if value is None else self.read(value, count))
        if max(Counter(self).values(), default=1) > 1:
            self.clear()

    @staticmethod
    def read(value, count):
        for entry in value.split(","):
            digits = entry.strip().removeprefix("+")
            while digits and not digits.isdigit():
                digits = digits[:-1]
            if not digits or int(digits) >= count:
                return
            yield int(digits)


def usable_cpus(quota="/sys/fs/cgroup/cpu.max"):
    cpus = os.sched_getaffinity(0)
    if os.path.exists(quota):
        limit, period = open(quota).read().strip().split(" ")
        if limit.isdecimal():
            return min(len(cpus), int(limit) // int(period)) or 1
    return len(cpus)


def listed(text):
    for piece in text.split(","):
        low, _, high = piece.partition("-")
        yield from range(int(low), int(high or low) + 1)


def place(machine, ranks):
    if ranks > len(machine["gpus"]):
        raise ValueError(ranks)
    sharing = defaultdict(list)
    for rank in range(ranks):
        sharing[machine["gpus"][rank]].append(rank)
    rows = {}
    for node, members in sharing.items():
        allowed = set(listed(machine["allowed"])).intersection(listed(machine["nodes"][node]))
        cores = list(filter(None, ([cpu for cpu in listed(core) if cpu in allowed] for core in machine["cores"])))
        if len(members) > len(cores):
            raise ValueError(node)
        for j, rank in enumerate(members):
            own = cores[j * len(cores) // len(members) : (j + 1) * len(cores) // len(members)]
            pieces = [f"{cpu}-{cpu}" for core in own for cpu in core]
            threads = len(own) - machine["workers"]
            rows[rank] = OrderedDict(rank=rank, gpu=rank, node=node, cpus=",".join(pieces), threads=threads if threads > 0 else 1)
    return [rows[rank] for rank in sorted(rows)]


def bind_command(row, program):
    def words():
        yield "numactl"
        yield "--physcpubind=" + row["cpus"]
        yield "--membind=" + str(row["node"])
        yield from program

    return tuple(words())


def closest_pair(links):
    def kind(link):
        return (0, -int(link[2:])) if link.startswith("NV") else (1, "PIX PXB PHB NODE SYS".split().index(link))

    pairs = ((kind(link), a, b) for a, row in enumerate(links) for b, link in enumerate(row) if a < b)
    return list(min(pairs)[1:])
