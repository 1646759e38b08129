"""What an attempt is told of its nodes, and where its command finds what has moved."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.runtime.isolator.test_first import job
from whesl.managers.resource.launcher_shims.nodes_in_use import Nodes
from whesl.model.allocation_nodes import NodeSet
from whesl.model.configuration_changes import Configuration
from whesl.model.pathmap import PathMap
from whesl.runtime.isolator.launch import attempt_command


@pytest.mark.parametrize(
    ("lost", "lingering", "overlap"), [((), (), False), (("n3",), (), True), ((), ("n2",), True)]
)
def test_steps_overlap_where_an_earlier_one_may_hold_their_nodes(
    tmp_path: Path, lost: tuple[str, ...], lingering: tuple[str, ...], overlap: bool
) -> None:
    places = attempt_command.Places(script="/s", reconfigure="/r", hosts="/h")
    launch = attempt_command.compose(
        job(tmp_path, "#!/bin/sh\n"),
        Configuration(),
        NodeSet(active=("n1", "n2"), lost=lost),
        attempt=2,
        token="t",
        places=places,
        base={},
        launchers={},
        lingering=lingering,
    )
    assert Nodes(launch.environment).overlap is overlap


@pytest.mark.parametrize(
    ("word", "mapped"),
    [
        ("small/out.txt", "/large/out.txt"),  # as Snakemake writes its outputs
        ("./small/out.txt", "/large/out.txt"),
        ("--out=small/a/b", "--out=/large/a/b"),
        ("small/", "/large/"),
        ("../p/small/x", "/large/x"),
        ("/p/small/x", "/large/x"),
        ("small", "small"),  # may be anything
        ("cd a; cat small/x", "cd a; cat small/x"),  # a text, which may go elsewhere first
        ("smaller/x", "smaller/x"),
        ("other/small/x", "other/small/x"),
        ("-osmall/x", "-osmall/x"),
    ],
)
def test_relative_arguments_are_mapped_as_absolute_ones_are(tmp_path: Path, word: str, mapped: str) -> None:
    moved = Configuration(path_map=PathMap().with_rule("/p/small", "/large"))
    assert composed(tmp_path, "/p", moved, word).command[-1] == mapped


def test_what_is_relative_to_a_directory_that_moves_moves_with_it(tmp_path: Path) -> None:
    moved = Configuration(path_map=PathMap().with_rule("/p", "/large"))
    launch = composed(tmp_path, "/p/run", moved, "out/x")
    assert (launch.workdir, launch.command[-1]) == ("/large/run", "out/x")


def composed(place: Path, workdir: str, configuration: Configuration, word: str) -> attempt_command.Launch:
    """Return what is run of a command with one argument after a recovery."""
    return attempt_command.compose(
        msgspec.structs.replace(job(place, "#!/bin/sh\n"), workdir=workdir, command=("app", word)),
        configuration,
        NodeSet(active=("n1",)),
        attempt=2,
        token="t",
        places=attempt_command.Places(script="/s", reconfigure="/r", hosts="/h"),
        base={},
        launchers={},
    )
