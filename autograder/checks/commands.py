"""Command lines as data: options in any order, with = or a space, long or short; nothing is run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Line:
    """A command line taken apart: its options, each with all of its values, and what stands after them."""

    options: Mapping[str, Sequence[str]]
    rest: Sequence[str] = ()
    problem: str = ""

    def values(self, option: str) -> list[str]:
        """Return the values of an option, split at commas."""
        return [word for value in self.options.get(option, ()) for word in value.split(",") if word]

    def value(self, option: str) -> str:
        """Return the last value of an option, or nothing."""
        return ["", *self.options.get(option, ())][-1]

    def other(self, option: str, *right: object) -> str:
        """Say that an option has none of these values."""
        value = self.value(option)
        if value in map(str, right):
            return ""
        return f"{option} is {value[:60] or 'not there'}; it must be {' or '.join(map(str, right))}"

    def runs_another(self, program: Sequence[str]) -> str:
        """Say that something else than a program stands after the options."""
        late = self.rest[len(program) :]
        if list(self.rest[: len(program)]) == list(program):
            runs = f"it runs {' '.join(program)} with {' '.join(late[:1])[:60]}"
            return f"{runs}: the program gets what comes after the program" if late else ""
        runs = " ".join(self.rest)[:80] or "nothing"
        return f"it runs {runs}, not {' '.join(program)} after all options"


@dataclass(frozen=True)
class Grammar:
    """What a tool takes for its options."""

    tool: str
    command: str = ""
    """Its first word after the tool."""
    flags: str = ""
    """Options without a value, by their names."""
    valued: str = ""
    """Options with one; none: any that is no flag."""
    short: Mapping[str, str] = field(default_factory=dict)
    instead: Mapping[str, str] = field(default_factory=dict)
    """Options of other tools, and what this one has instead."""
    mixed: bool = False
    """Whether files may stand before options."""

    def parsed(self, words: Sequence[str]) -> Line:
        """Take a command line apart; but for mixed ones, a word that is no option's ends the options."""
        rest = list(words)
        named = [self.tool, self.command] if self.command else [self.tool]
        begun = [word.rsplit("/", 1)[-1] for word in rest[:1]] + rest[1 : len(named)]
        if begun != named:
            begins = " ".join(begun)[:60] or "nothing"
            why = f"it begins with {begins}; it must be {' '.join(named)}"
            if any(" " in word for word in words[:1]):
                why = "one word of the list holds several: each option and each value is a word"
            return Line({}, (), why)
        del rest[: len(named)]
        options: dict[str, list[str]] = {}
        files = list[str]()
        while rest and rest[0] != "--" and (self.mixed or _is_option(rest[0])):
            word = rest.pop(0)
            if not _is_option(word):
                files.append(word)
                continue
            name, value = self.option(word)
            problem = self._problem(word, name)
            if value is None and name not in _long(self.flags):
                if rest and not _is_option(rest[0]):
                    value = rest.pop(0)
                elif self.valued:
                    problem = problem or f"{name} has no value"
            if problem:
                return Line(options, (), problem)
            options.setdefault(name, []).append(value or "")
        return Line(options, files + (rest[1:] if rest[:1] == ["--"] else rest))

    def option(self, word: str) -> tuple[str, str | None]:
        """Return its long name, and the value that came along: --set=full, -c=10 or -c10."""
        name, sign, value = word.partition("=")
        if name.startswith("--"):
            return name, value if sign else None
        return self.short.get(word[:2], word[:2]), word[2:].removeprefix("=") or None

    def _problem(self, word: str, name: str) -> str:
        options = _long(self.flags) | _long(self.valued) | {*self.short.values()}
        written = "-" + word.partition("=")[0]
        if written in options:
            return f"'{word[:60]}' has one dash; {self.tool} calls it {written}"
        if not self.valued or name in options:
            return ""
        instead = f"; it calls it {self.instead[name]}" if name in self.instead else ""
        return f"{self.tool} has no option {name[:60]!r}{instead}"


def _long(names: str) -> set[str]:
    return {f"--{name}" for name in names.split()}


def _is_option(word: str) -> bool:
    return word.startswith("-") and word != "-"  # --output - is the terminal
