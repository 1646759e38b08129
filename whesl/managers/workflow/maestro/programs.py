"""Finds Maestro's programs, and for Flux a Maestro whose Python can import Flux's bindings.

Maestro's Flux adapter needs the bindings in its own process. The bindings are compiled for one version of
Python, so the Maestro beside WHESL's interpreter may fail to import them, while the user's own Maestro can.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from whesl.managers.resource.command_call import captured
from whesl.model.errors import UsageError

_TIMEOUT = 60.0  # seconds to import Maestro and the bindings
_REFUSED = 3
# A program that does what `maestro run` does up to its first job, in a temporary directory and without
# fetching git repositories. An error in one of its own calls, or a missing module, means that Maestro has
# another interface.
VERIFY = f"""\
import logging, os, sys, tempfile, traceback

def refused(study, place):
    from maestrowf.conductor import Conductor
    from maestrowf.datastructures.core import Study
    from maestrowf.datastructures.environment import PathDependency, Variable
    from maestrowf.specification import YAMLSpecification

    logging.disable(logging.CRITICAL)
    try:
        spec = YAMLSpecification.load_specification(study)
        environment = spec.get_study_environment()
        steps = spec.get_study_steps()
        environment.remove("OUTPUT_PATH")
        environment.add(Variable("OUTPUT_PATH", place))
        environment.add(Variable("SPECROOT", os.path.dirname(os.path.abspath(study))))
        made = Study(spec.name, spec.description, studyenv=environment, parameters=spec.get_parameters(),
                     steps=steps, out_path=place)
        made.setup_workspace()
        made.configure_study(dry_run=True)
        for dependency in made.environment.dependencies.values():
            if isinstance(dependency, PathDependency):
                dependency.acquire(substitutions=made.environment.substitutions.values())
        made.environment._is_set_up = True
        batch = {{"type": "local", **(spec.batch or {{}})}}
        Conductor.store_study(made)
        Conductor.store_batch(made.output_path, batch)
        _, graph = made.stage()
        graph.set_adapter(batch)
        if batch["type"] == "flux":
            import flux  # its adapter needs that, on the host where Maestro runs
        graph.generate_scripts()
    except ImportError:
        return ""
    except BaseException as error:
        calls = traceback.extract_tb(error.__traceback__)
        if len(calls) < 2 and isinstance(error, (AttributeError, TypeError)):
            return ""
        word = next(iter(str(getattr(error, "message", error)).splitlines()), "")
        if word and not isinstance(error, (AttributeError, TypeError, LookupError)):
            return word
        return f"{{type(error).__name__}}: {{word}} (in its {{calls[-1].name}})"
    return ""

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        why = refused(sys.argv[1], place)
    if why:
        print(why)
        sys.exit({_REFUSED})
"""
_SHEBANG = re.compile(r"#!\s*(\S*python[0-9.]*)\s*$")


def find_program(name: str, environment: Mapping[str, str]) -> str:
    """Return the path of one of Maestro's programs: beside WHESL's interpreter, or else the first on PATH.

    Args:
        name: the program's name.
        environment: the environment whose PATH is searched.

    Raises UsageError where the program is not found.
    """
    found = next(_programs(name, environment), "")
    if not found:
        raise UsageError(
            f"Maestro's program '{name}' is not installed",
            hint="pip install 'whesl[maestro]', or load its module",
        )
    return found


def with_flux(environment: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Return a ``maestro`` that can import Flux's bindings, and the environment that it needs.

    Each Maestro is tried first in the given environment, then with the bindings of the ``flux`` command on
    PYTHONPATH. Raises UsageError when no Maestro can import them.
    """
    find_program("maestro", environment)
    why = ""
    for program in _programs("maestro", environment):
        interpreter = _interpreter(program)
        if interpreter is None:
            return program, dict(environment)  # a wrapper, which finds the bindings itself
        for candidate in _environments(environment):
            why = _import(interpreter, candidate)
            if not why:
                return program, candidate
    raise UsageError(
        f"no Maestro here can talk to Flux: {why}",
        hint="install cffi and ply (and maestrowf) for the Python that Flux's bindings are made for"
        " ('flux python --version'), and have that maestro first on PATH",
    )


def verify(program: str, study: str, environment: Mapping[str, str]) -> None:
    """Let a ``maestro`` prepare a study up to its first job, as far as its interface is known.

    Args:
        program: the path of ``maestro``.
        study: the study's file.
        environment: the program's environment.

    Raises UsageError, with Maestro's own words, when Maestro refuses the study.
    """
    interpreter = _interpreter(program)
    if interpreter is None:
        return
    try:
        result = captured([interpreter, "-c", VERIFY, study], environment, _TIMEOUT)
    except (OSError, subprocess.TimeoutExpired):
        return
    if result.returncode == _REFUSED:
        raise UsageError(
            f"Maestro refuses the study: {result.stdout.strip()}",
            hint="`maestro run` says the same of it; see Maestro's own documentation of studies",
        )


def _programs(name: str, environment: Mapping[str, str]) -> Iterator[str]:
    beside = str(Path(sys.executable).parent / name)
    if os.access(beside, os.X_OK):
        yield beside
    for place in environment.get("PATH", os.defpath).split(os.pathsep):
        found = shutil.which(name, path=place or os.curdir)
        if found and found != beside:
            yield found


def _interpreter(program: str) -> str | None:
    """Return the Python interpreter of a console script, None for any other program."""
    with Path(program).open("rb") as file:
        found = _SHEBANG.match(file.readline(4096).decode(errors="replace"))
    return found.group(1) if found else None


def _environments(environment: Mapping[str, str]) -> Iterator[dict[str, str]]:
    yield dict(environment)
    try:
        result = captured(["flux", "config", "builtin", "python_path"], environment, _TIMEOUT)
    except (OSError, subprocess.TimeoutExpired):
        return
    if result.returncode == 0 and result.stdout.strip():
        places = (environment.get("PYTHONPATH", ""), result.stdout.strip())
        yield {**environment, "PYTHONPATH": os.pathsep.join(place for place in places if place)}


def _import(interpreter: str, environment: Mapping[str, str]) -> str:
    """Return the reason why Maestro and Flux's bindings cannot be imported together, '' when they can."""
    try:
        result = captured([interpreter, "-c", "import maestrowf, flux.job"], environment, _TIMEOUT)
    except OSError as error:
        return f"{interpreter}: {error.strerror}"
    except subprocess.TimeoutExpired:
        return f"{interpreter} did not import them within {_TIMEOUT:g} s"
    if result.returncode == 0:
        return ""
    return f"{interpreter}: {(result.stderr.strip().splitlines() or ['no reason given'])[-1]}"
