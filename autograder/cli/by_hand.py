"""perflab override, settle, rubric: points that a person sets, or takes from another grading."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from autograder.cli.base import DONE, cli, course_option, open_course, roster_option
from autograder.cli.pages import TABLE, show_again, who
from autograder.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autograder.results.overrides import Override
    from autograder.results.standing import Standing


@cli.command()
@click.argument("results", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.argument("check")
@click.argument("points")
@click.option("--reason", required=True, help="Why; the student reads it.")
@roster_option
@course_option
def override(
    results: tuple[Path, ...],
    check: str,
    points: str,
    reason: str,
    roster: Path | None,
    root: Path | None,
) -> int:
    """Set the POINTS of a CHECK by hand in RESULTS; 'graded' takes it back. What the grader found is kept.

    RESULTS are folders below --out; results/* are all of them. CHECK may be a pattern: 'part3_amp.*'. Where one of them
    cannot be set, nothing is.

    \b
    Example:  perflab override results/ada amp_is_faster 4 --reason "the timer of that machine was broken"
              perflab override results/* augmentation_is_faster 1 --reason "the check was wrong"
    """
    from autograder.results import overrides, requests, standing
    from autograder.results.agenda import listed

    homes = _homes(results)
    wanted = overrides.wanted(points)
    by = who()
    before = {home: standing.load(home / standing.RESULT) for home in homes}
    decisions = {
        home: [
            overrides.decide(result, name, wanted, reason, **by)
            for name in overrides.chosen(result, check)
        ]
        for home, result in before.items()
    }
    for home, made in decisions.items():
        overrides.append(home, requests.answered(home, made))
        after = standing.load(home / standing.RESULT)
        names = listed([decision.check for decision in made])
        scores = f"{before[home].score:g} -> {after.score:g} of {after.max_score:g}"
        click.echo(f"{after.submission}: {scores} ({names})")
    course = open_course(root)
    for folder in dict.fromkeys(home.resolve().parent for home in homes):
        show_again(folder, course, roster)
    return DONE


@cli.command()
@click.argument("results", type=click.Path(path_type=Path))
@click.argument("other", type=click.Path(path_type=Path))
@roster_option
@course_option
def settle(results: Path, other: Path, roster: Path | None, root: Path | None) -> int:
    """Take over into RESULTS what is owed there and was decided in OTHER, results of the same files.

    OTHER may be of another device or machine, or of a quieter hour. Each becomes a decision by hand
    whose reason names the device; 'perflab override ... graded' takes it back. Points that a person
    set stay, and what a person reads stays owed.

    \b
    Example:  perflab settle results results.gpu
    """
    from autograder.grading.scoring import worth
    from autograder.result_file import load_result
    from autograder.results import overrides, standing
    from autograder.results.settle import taken
    from autograder.traces.words import many

    by = who()
    standing.read(other)
    decisions: dict[Path, list[Override]] = {}
    for ours in standing.read(results).whole:
        theirs = other / ours.home.name / standing.RESULT
        if theirs.is_file():
            made = [*taken(ours.result, load_result(theirs), **by)]
            decisions |= {ours.home: made} if made else {}
    for home, made in decisions.items():
        overrides.append(home, made)
        click.echo(f"{home.name}: {', '.join(decision.check for decision in made)}")
    checks = sum(map(len, decisions.values()))
    settled = f"{many(checks, 'check')} settled for {many(len(decisions), 'submission')}"
    left = [owed for each in standing.read(results).whole if (owed := each.result.points_owed)]
    rest = f"{worth(sum(left))} of {many(len(left), 'submission')} still owed" if left else ""
    click.echo(f"{settled}; {rest or 'nothing is owed any more'}")
    is_one = (results / standing.RESULT).is_file()
    show_again(results.parent if is_one else results, open_course(root), roster)
    return DONE


def _homes(results: Sequence[Path]) -> list[Path]:
    """Name the folders of results; of several, or of a pattern in quotes, whatever else lies there is passed over."""
    from autograder.results.standing import RESULT

    if len(results) == 1 and "*" not in str(results[0]):
        return [results[0].parent if results[0].name == RESULT else results[0]]
    matches = [
        match
        for pattern in results
        for match in sorted(Path(pattern.anchor).glob(str(pattern).removeprefix(pattern.anchor)))
    ]
    homes = [match for match in matches if (match / RESULT).is_file()]
    if not homes:
        raise UserError(
            f"{results[0]}: no {RESULT} in any folder of that name; write it like results/*"
        )
    return homes


@cli.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="Write the sheet here.")
@click.option("--read", "filled", type=click.Path(path_type=Path), help="Read this sheet back.")
@roster_option
@course_option
def rubric(
    folder: Path, out: Path | None, filled: Path | None, roster: Path | None, root: Path | None
) -> int:
    """Write a sheet of what a person reads in FOLDER, beside what students wrote; with points filled in, read it back.

    \b
    Example:  perflab rubric results --out rubric.csv
    """
    from autograder.course import read_tree
    from autograder.results import overrides, requests, standing
    from autograder.results import rubric as sheets
    from autograder.traces.words import many

    if (out is None) == (filled is None):
        raise UserError("rubric: give --out to write the sheet, or --read to read it back")
    standings = standing.read(folder).whole
    if out:
        _refuse_unread(out, folder, standings)
        if not any(map(sheets.is_read, standings)):
            click.echo(f"{folder}: nothing in it is for a person to read, so there is no sheet")
            return DONE
        course = open_course(root)
        labs = {each.result.lab for each in standings}
        models = {lab: read_tree(course.root / "reference" / lab) for lab in labs}
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(sheets.table(standings, models), encoding=TABLE)
        click.echo(
            f"{out}: fill in 'points' and 'comment', then perflab rubric {folder} --read {out}"
        )
        return DONE
    assert filled is not None
    decisions: dict[Path, list[Override]] = {}
    for home, decision in sheets.read(filled, standings, **who()):
        decisions.setdefault(home, []).append(decision)
    for home, made in decisions.items():
        overrides.append(home, requests.answered(home, made))
    items = sum(map(len, decisions.values()))
    click.echo(f"{many(items, 'item')} set for {many(len(decisions), 'submission')}")
    show_again(folder, open_course(root), roster)
    return DONE


def _refuse_unread(sheet: Path, folder: Path, standings: Sequence[Standing]) -> None:
    """Refuse to write over points or comments that somebody typed and nobody read in."""
    from autograder.results import rubric as sheets
    from autograder.traces.words import many

    if not sheet.exists():
        return
    try:
        typed = len([*sheets.read(sheet, standings, **who())])
    except (UserError, OSError) as problem:
        first = str(problem).partition("\n")[0]
        raise UserError(f"{first}; so it is left as it is: name another file with --out") from None
    if typed:
        raise UserError(
            f"{sheet}: {many(typed, 'row')} not read in yet; perflab rubric {folder} --read {sheet} first, "
            "or name another file with --out"
        )
