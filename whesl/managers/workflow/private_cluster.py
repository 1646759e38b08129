"""The embedded resource manager for one run: a running cluster, or a private one."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from whesl.managers.resource.command_call import captured
from whesl.managers.resource.embedded.cluster_directory import Cluster
from whesl.model.errors import CouldNotObserveError, TransientError

_TIMEOUT = 60.0  # seconds for a cluster's start or stop


@contextmanager
def local_cluster(
    environment: Mapping[str, str], directory: Path, nodes: int, program: tuple[str, ...]
) -> Iterator[dict[str, str]]:
    """Yield the variables that lead to the commands of an embedded cluster.

    Args:
        environment: the caller's environment, in which WHESL_LOCAL may name a running cluster.
        directory: the directory of a private cluster's files.
        nodes: the number of a private cluster's nodes.
        program: the command that starts WHESL.

    Without a running cluster, a private cluster is started, and stopped at the end. Raises TransientError
    when it does not start.
    """
    cluster = Cluster.of(environment)
    if _answers(cluster):
        yield _variables(environment, cluster.path)
        return
    own = _variables(environment, str(directory))
    _call(program, {**environment, **own}, "start", "--nodes", str(nodes))
    try:
        yield own
    finally:
        _call(program, {**environment, **own}, "stop")


def _answers(cluster: Cluster) -> bool:
    try:
        cluster.connect(patience=0.0).close()
    except CouldNotObserveError:
        return False
    return True


def _variables(environment: Mapping[str, str], path: str) -> dict[str, str]:
    commands = str(Path(path, "bin"))
    places = environment.get("PATH", os.defpath).split(os.pathsep)
    # Commands of the cluster that are on PATH keep their place: a user may have put others in front on
    # purpose.
    ordered = places if commands in places else [commands, *places]
    return {"WHESL_LOCAL": path, "PATH": os.pathsep.join(ordered)}


def _call(program: tuple[str, ...], environment: dict[str, str], *words: str) -> None:
    try:
        result = captured([*program, "local", *words], environment, _TIMEOUT)
    except subprocess.TimeoutExpired:
        raise TransientError(f"the private cluster did not {words[0]} within {_TIMEOUT:g} s") from None
    if result.returncode != 0:
        raise TransientError(f"the private cluster did not {words[0]}: {result.stderr.strip()[-500:]}")
