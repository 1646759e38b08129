"""From the names of features to the files and calls of a job. Pure."""

from __future__ import annotations

import os
import re
import shlex

import msgspec

from tests.neutrality.records import CONTROLS, Act, Case, Feature, Kind, Rules, Way

HEAD = """\
DECLARE ENTITY WMS, JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE RESOURCE JOB[REPLACE]
DECLARE RESOURCE NODE[REPLACE]
"""
RULES = {
    Rules.NONE: "",
    Rules.QUIET: HEAD
    + """\
DECLARE EXCEPTION WORDS JOB_LEVEL JOB [*]
EXCEPTION DETECTION WORDS LOG "nobody ever prints this" output
EXCEPTION RECOVERY STEP WORDS JOB JOB.REPLACE
""",
}
RULES[Rules.NODES] = (
    RULES[Rules.QUIET]
    + """\
DECLARE EXCEPTION LOST JOB_LEVEL JOB [*]
EXCEPTION DETECTION LOST NODE DOWN
EXCEPTION RECOVERY STEP LOST JOB NODE.REPLACE
"""
)
# Without a limit Slurm's backfill scheduler writes one into the job, its other scheduler does not.
LIMIT = b"--time=10"
_OF_SLURM = re.compile(rb"SLURM|SBATCH|\b(?:srun|sbatch|scontrol|squeue|scancel)\b")


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """All that is needed to run a case.

    Attributes:
        script: the batch script's text.
        files: what lies beside it.
        arguments: of the script.
        environment: of who submits.
        command: sbatch's own words.
        acts: from outside.
        seconds: how long it takes at most on an idle machine.
        wrap: whether the script is given to ``sbatch --wrap``.
    """

    script: bytes
    files: dict[str, bytes]
    arguments: tuple[bytes, ...]
    environment: dict[str, str]
    command: tuple[str, ...]
    acts: tuple[Act, ...]
    seconds: float
    wrap: bool = False


def features_of(case: Case, table: dict[str, Feature]) -> list[Feature]:
    """Return a case's features, an interpreter first."""
    found = [table[name] for name in case.features]
    if not any(feature.kind is Kind.INTERPRETER for feature in found):
        found.insert(0, table["bash"])
    return found


def fits(features: list[Feature]) -> bool:
    """Whether the text of all features can stand in one script of its interpreter."""
    first = next(feature for feature in features if feature.kind is Kind.INTERPRETER)
    return all(
        feature is first or not feature.speaks or bool(set(feature.speaks) & set(first.speaks))
        for feature in features
    )


def submits(features: list[Feature]) -> bool:
    """Whether they are of a program that submits jobs, and not of a job."""
    return any(feature.ways == ("front",) for feature in features)


def job_of(case: Case, table: dict[str, Feature], way: Way, call: bytes = b"", manager: str = "slurm") -> Job:
    """Return a case's job.

    Args:
        case: what it is made of.
        table: all features, by name.
        way: whether the script itself is the job, a command that a short script calls, or what submits jobs.
        call: what stands before that command; empty for the plain job.
        manager: the resource manager, which the lines of options are written for.
    """
    features = features_of(case, table)
    first = next(feature for feature in features if feature.kind is Kind.INTERPRETER)
    wrap = any(feature.wrap for feature in features)
    header = [line for feature in features for line in feature.header]
    if not any(line.startswith((b"--time", b"-t")) for line in header):
        header += [LIMIT] if manager != "flux" else [b"-t 10m", *([] if header else [b"-n 1"])]
    lines = b"".join((b"# flux: " if manager == "flux" else b"#SBATCH ") + line + b"\n" for line in header)
    text = b"".join(
        feature.text for kind in (Kind.BODY, Kind.END) for feature in features if feature.kind is kind
    )
    files = {name: content for feature in features for name, content in feature.files.items()}
    arguments = tuple(argument for feature in features for argument in feature.arguments)
    if way.command != "exec":
        script = first.first + b"\n" + (lines if way.command == "run" else b"") + text
    else:
        files["app"] = first.first + b"\n" + text
        words = b"".join(b" " + _quoted(argument) for argument in arguments)
        # Signals reach all processes of a job in any order: a shell in between would decide by chance.
        start = b"exec " if any(feature.acts for feature in features) else b""
        # Bash's exec makes a whole path of a relative one, and no other command does.
        app = b'"$PWD/app"' if start else b"./app"
        if any(line.startswith(b"--chdir") for line in header):
            app = b'"$SLURM_SUBMIT_DIR/app"'
        text = start + (call + b" " if call else b"") + app + words
        for around in (feature.around for feature in features if feature.around):
            text = _called(around, call, app)
        script = text if wrap else b"#!/bin/bash\n" + lines + text + b"\n"
        arguments = ()
    return Job(
        script=script,
        files=files,
        arguments=arguments,
        environment={k: v for feature in features for k, v in feature.environment.items()},
        # With --wrap there is no script: the options of a header are given on the command line.
        command=(
            *(word for line in header if wrap for word in shlex.split(os.fsdecode(line), comments=True)),
            *(word for feature in features for word in feature.command),
        ),
        wrap=wrap,
        acts=tuple(act for feature in features for act in feature.acts),
        seconds=max(feature.seconds for feature in features),
    )


def _called(around: bytes, call: bytes, app: bytes) -> bytes:
    """Return the script around a command; each call is a task of its own."""
    first, *rest = around.split(b"{call}")
    numbered = (call.replace(b"--step app", b"--step app-%d" % n) for n in range(1, len(rest) + 1))
    calls = [(one + b" " if call else b"") + app for one in numbered]
    return first + b"".join(one + text for one, text in zip(calls, rest, strict=True))


def applies(case: Case, table: dict[str, Feature], way: Way, manager: str) -> bool:
    """Whether a case can be run in a way, on a resource manager."""
    features = features_of(case, table)
    if submits(features) != (way.command == "front"):
        return False
    if way.command == "run" and any(feature.arguments for feature in features):
        return False  # what stands behind ``whesl run SCRIPT --`` goes to sbatch
    return all(
        _has(manager, feature) and (not feature.ways or way in CONTROLS.values() or way.name in feature.ways)
        for feature in features
    )


def _has(manager: str, feature: Feature) -> bool:
    """Whether a resource manager has such a thing; Flux has each script that asks nothing of Slurm."""
    if manager != "flux":
        return manager in feature.managers
    asks = feature.header or feature.command or feature.arguments or feature.acts or feature.environment
    return "flux" in feature.managers or not (asks or feature.wrap or _OF_SLURM.search(feature.text))


def _quoted(word: bytes) -> bytes:
    return b"'" + word.replace(b"'", b"'\\''") + b"'"
