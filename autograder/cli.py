"""The command `perflab`: each subcommand gathers its arguments, calls one module, and shows what it returns."""

from __future__ import annotations

import json
import secrets
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import click

from autograder import __version__
from autograder.errors import ReadError, UserError

if TYPE_CHECKING:
    from rich.console import Console

    from autograder.course import Course
    from autograder.model import Result

DONE, CHECK_FAILED, USER_ERROR, OUR_FAULT, INTERRUPTED = 0, 1, 2, 3, 130

course_option = click.option(
    "--course",
    "root",
    type=click.Path(path_type=Path),
    help="Folder of the course; else the nearest parent with grading_config.yaml.",
)
device_option = click.option("--device", default="auto", show_default=True, help="auto, cpu or cuda:N.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for a program to read.")
seed_option = click.option("--seed", type=int, help="Draw the inputs from this seed again; else fresh ones.")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="perflab")
def cli() -> None:
    """Grade labs on PyTorch performance; the verdict is formed outside the process that is judged."""


@cli.command()
@click.argument("part", required=False)
@click.option("--watch", is_flag=True, help="Run again whenever a file is saved.")
@click.option("--verbose", "-v", is_flag=True, help="Show what passed checks measured, too.")
@course_option
@device_option
@seed_option
@json_option
def check(
    part: str | None, watch: bool, verbose: bool, root: Path | None, device: str, seed: int | None, as_json: bool
) -> int:
    """Run the checks of the lab in this folder, the same that grade it.

    \b
    Example:  perflab check part3
    """
    from autograder.practice import check_folder, open_session, watched

    course, console = _course(root), _console()
    with open_session(course, device) as session:
        for _ in watched(Path.cwd()) if watch else [None]:
            with console.status("checking ..."):
                result = check_folder(
                    Path.cwd(), course, session, part, seed if seed is not None else secrets.randbits(48)
                )
            _show(result, console, verbose=verbose, as_json=as_json)
    return _verdict(result)


@cli.command()
@click.argument("lab")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Folder for results and pages.")
@click.option(
    "--isolation",
    type=click.Choice(["bubblewrap", "none"]),
    default="bubblewrap",
    show_default=True,
    help="The fence around submissions; 'none' runs them as you, so only work that you trust.",
)
@click.option("--only", default="", metavar="CHECK", help="Judge one check, and those it needs.")
@course_option
@device_option
@seed_option
@json_option
def grade(
    lab: str,
    paths: tuple[Path, ...],
    out: Path,
    isolation: Literal["bubblewrap", "none"],
    only: str,
    root: Path | None,
    device: str,
    seed: int | None,
    as_json: bool,
) -> int:
    """Grade submissions, one after the other, and write results and pages to --out.

    \b
    Example:  perflab grade resnet18 handed_in/ --out results
    """
    from autograder import batch
    from autograder.practice import open_session

    course, console = _course(root), _console()
    kit = course.kit(lab)
    _known_check(kit.lab, only)
    found = batch.find(paths, kit.lab.files)
    results = []
    with open_session(course, device, isolation, rehearsal=False) as session:
        run_seed = seed if seed is not None else secrets.randbits(48)
        for result in batch.grade_all(found, kit, session, out, seed=run_seed, only=only):
            results.append(result)
            _progress(result, len(results), len(found), console, as_json=as_json)
    grades = batch.write_grades(results, out)
    pages = _write_pages(out)
    console.print(f"{len(results)} graded; {grades}, {pages}", soft_wrap=True, highlight=False)
    return OUR_FAULT if any(c.outcome == "error" for r in results for p in r.parts for c in p.checks) else DONE


@cli.command()
@click.argument("folder", type=click.Path(path_type=Path))
def report(folder: Path) -> int:
    """Write the feedback pages and the class page of a folder of results again.

    \b
    Example:  perflab report results
    """
    _console().print(_write_pages(folder), soft_wrap=True, highlight=False)
    return DONE


@cli.command()
@click.option("--check", "only_check", is_flag=True, help="Change nothing; say whether the templates are current.")
@course_option
def build(only_check: bool, root: Path | None) -> int:
    """Make the student templates from the reference.

    \b
    Example:  perflab build --check
    """
    from autograder.course import build as builder

    course, console = _course(root), _console()
    changed = {lab: (builder.stale if only_check else builder.write)(course, lab) for lab in course.labs}
    for lab, names in changed.items():
        for name in names:
            console.print(f"{'stale' if only_check else 'wrote'}  student_template/{lab}/{name}", highlight=False)
    if not any(changed.values()):
        console.print("templates are current")
    return CHECK_FAILED if only_check and any(changed.values()) else DONE


@cli.group(name="course")
def course_group() -> None:
    """Look after the course as a whole."""


@course_group.command(name="check")
@click.argument("lab", required=False)
@click.option("--only", default="", help="Only entries of the corpus whose id holds this text.")
@course_option
@device_option
@seed_option
@json_option
def course_check(lab: str | None, only: str, root: Path | None, device: str, seed: int | None, as_json: bool) -> int:
    """Prove labs whole: reference full, template at its floor, each known submission judged as it states.

    \b
    Example:  perflab course check resnet18
    """
    from autograder.course.proof import prove
    from autograder.practice import open_session

    course, console = _course(root), _console()
    run_seed = seed if seed is not None else secrets.randbits(48)
    bad = count = 0
    with open_session(course, device, "best", rehearsal=False) as session:
        for name in [lab] if lab else course.labs:
            for finding in prove(course, name, session, seed=run_seed, only=only):
                count, bad = count + 1, bad + bool(finding.problems)
                _show_finding(name, finding, console, as_json=as_json)
    if not as_json:
        console.print(
            f"{count - bad} as stated, {bad} not; seed {run_seed}, isolation {session.isolation}", highlight=False
        )
    return CHECK_FAILED if bad or not count else DONE


@cli.command()
@click.argument("lab")
@click.argument("part")
@course_option
def new(lab: str, part: str, root: Path | None) -> int:
    """Write the files of a new part, or of a new lab with its first part, ready to fill.

    \b
    Example:  perflab new resnet18 part4_memory
    """
    from autograder.course.scaffold import scaffold

    written, lines = scaffold(_course(root), lab, part)
    for path in written:
        click.echo(f"wrote  {path}")
    click.echo(f"\nNow add to grading_config.yaml, {lines}\nthen: perflab build && perflab course check {lab}")
    return DONE


@cli.command()
@json_option
def doctor(as_json: bool) -> int:
    """Say what this machine can grade, and how to mend what is missing.

    \b
    Example:  perflab doctor
    """
    from dataclasses import asdict

    from autograder.doctor import REQUIRED, examine

    findings = examine()
    if as_json:
        click.echo(json.dumps([asdict(f) for f in findings], indent=1))
    for f in () if as_json else findings:
        click.echo(f"{'ok  ' if f.ok else 'miss'}  {f.name:<12} {f.found}")
        if not f.ok:
            click.echo(f"      {'':<12} for {f.needed_for}: {f.mend}")
    return USER_ERROR if any(not f.ok and f.name in REQUIRED for f in findings) else DONE


def _course(root: Path | None) -> Course:
    from autograder.course import Course, find_root

    return Course(find_root(root))


def _console() -> Console:
    from rich.console import Console

    return Console(stderr="--json" in sys.argv)


def _known_check(lab: Any, name: str) -> None:
    from autograder.errors import nearest

    known = [check for part in lab.parts for check in part.checks]
    if name and name not in known:
        raise UserError(f"--only {name}: lab {lab.name} has no such check{nearest(name, known)}")


def _show(result: Result, console: Console, *, verbose: bool, as_json: bool) -> None:
    from autograder.model import to_json
    from autograder.report.terminal import show

    if as_json:
        click.echo(json.dumps(to_json(result), indent=1))
    else:
        show(result, console, verbose=verbose)


def _verdict(result: Result) -> int:
    outcomes = {check.outcome for part in result.parts for check in part.checks}
    return OUR_FAULT if "error" in outcomes else CHECK_FAILED if outcomes & {"failed", "partial", "skipped"} else DONE


def _progress(result: Result, done: int, total: int, console: Console, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"submission": result.submission, "score": result.score, "done": done, "of": total}))
        return
    from rich.text import Text

    from autograder.report.words import clean

    points = f"{result.score:g} of {result.max_score:g}, {result.points_owed:g} owed"
    console.print(
        Text(f"{done:>3}/{total}  {clean(result.submission):<28} {points}  ({result.seconds:.1f} s)"), soft_wrap=True
    )


def _show_finding(lab: str, finding: Any, console: Console, *, as_json: bool) -> None:
    from dataclasses import asdict

    from rich.text import Text

    if as_json:
        click.echo(json.dumps({"lab": lab, **asdict(finding)}))
        return
    word, style = ("NOT", "bold red") if finding.problems else ("ok ", "green")
    console.print(
        Text.assemble((word, style), f"  {lab}  {finding.subject}", (f"  {finding.seconds:.1f} s", "dim")),
        soft_wrap=True,
    )
    for problem in finding.problems:
        console.print(Text(f"       {problem}"), soft_wrap=True)


def _write_pages(folder: Path) -> str:
    from autograder.report.html import write

    written = write(folder)
    return f"{len(written)} pages; open {folder / 'index.html'}"


def main() -> NoReturn:
    """Run the command; what the user can mend is one line, everything else is our fault and says so."""
    try:
        code = cli.main(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        code = USER_ERROR
    except (UserError, ReadError) as error:
        click.echo(f"perflab: {error}", err=True)
        code = USER_ERROR
    except (KeyboardInterrupt, click.Abort):
        click.echo("perflab: stopped", err=True)
        code = INTERRUPTED
    except Exception:
        import traceback

        traceback.print_exc()
        click.echo("perflab: this is a fault of perflab, not of a submission; please report the lines above", err=True)
        code = OUR_FAULT
    sys.exit(code if isinstance(code, int) else DONE)


if __name__ == "__main__":
    main()
