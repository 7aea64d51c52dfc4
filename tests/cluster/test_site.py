"""The site file: what Parsl is told, and what is wrong with one in a line."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent

import pytest

from autograder.cluster import site as sites
from autograder.course import find_root
from autograder.errors import UserError

pytest.importorskip("parsl", reason="parsl is an extra: pip install 'perflab[cluster]'")

LOCAL = "provider: LocalProvider\nworkers: 3\noptions: {max_blocks: 2}\n"


def read(folder, text):
    (folder / "site.yaml").write_text(text)
    return sites.read(folder / "site.yaml")


def test_parsl_tries_nothing_twice_and_finds_this_environment(tmp_path):
    """Whether something is tried again is the journal's to say."""
    site = read(tmp_path, LOCAL + "executor: {heartbeat_threshold: 30, address: 127.0.0.1}\n")
    found = sites.config(site, tmp_path)
    [nodes] = found.executors

    assert (0, str(tmp_path), "simple") == (found.retries, found.run_dir, found.strategy)
    assert (3, 30, 10, True) == (
        nodes.max_workers_per_node,
        nodes.heartbeat_threshold,
        nodes.heartbeat_period,
        nodes.encrypted,
    )
    assert f"export PATH={Path(sites.sys.executable).parent}:$PATH\n" == nodes.provider.worker_init
    assert 6 == sites.slots(site, nodes.provider)


def test_whoever_starts_workers_in_another_way_says_how(tmp_path):
    """Their words come last, and launchers are known by name."""
    text = LOCAL.replace(
        "max_blocks: 2",
        'worker_init: "module load cuda", launcher: SimpleLauncher, nodes_per_block: 2',
    )
    found = sites.provider(read(tmp_path, text))

    assert ("module load cuda", "SimpleLauncher") == (
        found.worker_init.splitlines()[1],
        type(found.launcher).__name__,
    )


DOCS = (find_root() / "docs/cluster.md").read_text(encoding="utf-8")
RECIPES = [dedent(text) for text in re.findall(r"(?m)^(    provider: .*\n(?:    .*\n)+)", DOCS)]


@pytest.mark.parametrize("text", RECIPES, ids=["one machine", "Slurm", "PBS"])
def test_site_files_that_are_shown_are_taken(tmp_path, text):
    """Parsl renames things."""
    site = read(tmp_path, text + "executor: {address: 127.0.0.1}\n")

    assert sites.config(site, tmp_path).executors[0].provider.max_blocks >= 1


MISTAKES = {
    "no YAML": ("a: [", "site.yaml: cannot be read: while parsing"),
    "nothing": ("", "site.yaml: None is not an object"),
    "no provider": ("workers: 1", "site.yaml: 'provider' is missing"),
    "a misspelt name": (LOCAL + "option: {}", "site.yaml: unknown name 'option' (did you mean 'options'?)"),
    "neither workers nor gpus": ("provider: LocalProvider", "say either workers: N or gpus: N"),
    "both": (LOCAL + "gpus: 1", "say either workers: N or gpus: N"),
    "a number below zero": (LOCAL + "gpus: -1", "say either workers: N or gpus: N"),
    "a provider that Parsl does not have, and no workers": ("provider: Slurm", "provider: Parsl has no 'Slurm'"),
    "a provider that Parsl does not have": (
        LOCAL.replace("Local", "Slrum"), "provider: Parsl has no 'SlrumProvider' (did you mean 'SlurmProvider'?)",
    ),
    "an option that it does not have": (
        LOCAL.replace("max_blocks", "max_block"), "options: 'max_block' is no option of Parsl's LocalProvider (did you mean 'max_blocks'?)",
    ),
    "a value that it does not take": (LOCAL.replace("2", "many").replace("Local", "Slurm"), "options: SlurmProvider: "),
    "a launcher that Parsl does not have": (
        LOCAL.replace("max_blocks: 2", "launcher: Simple"), "launcher: Parsl has no 'Simple' (did you mean 'SimpleLauncher'?)",
    ),
    "an option of no executor": (LOCAL + "executor: {retries: 1}", "executor: 'retries' is no option of Parsl's High"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "message"), MISTAKES.values(), ids=MISTAKES)
def test_what_is_wrong_with_a_site_file_is_one_line(tmp_path, text, message):
    """The place, the value, what to do."""
    with pytest.raises(UserError) as caught:
        sites.config(read(tmp_path, text), tmp_path)

    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path):
    """With the reason."""
    with pytest.raises(UserError, match=r"nowhere\.yaml: cannot be read: .*No such file"):
        sites.read(tmp_path / "nowhere.yaml")
