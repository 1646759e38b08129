"""One batch script: the options in its header and its call."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from whesl.managers.resource.pbs.submission import directives
from whesl.managers.workflow import script_wrapping
from whesl.managers.workflow.port import text_of
from whesl.managers.workflow.submission import flux_directives
from whesl.managers.workflow.submission.qsub_rewriting import node_count, resources_said
from whesl.managers.workflow.submission.sbatch_options import (
    options_by_component,
    parse_call,
    parse_header,
    parse_variables,
)
from whesl.model.errors import UsageError

_LARGEST_ARRAY = 100_000


class Script(msgspec.Struct, frozen=True, kw_only=True):
    """A script and its place in a chain.

    ``outputs`` are the names of its output files, as patterns. With ``for_flux``, the script's header has
    directives for Flux; with ``outlives``, the user lets the job outlive lost nodes (``--no-kill``).
    ``after`` names the scripts that have to succeed before this script starts, ``beside`` the scripts that
    have to start before, because this script reads from them while they run.
    """

    path: str
    step: str
    nodes: int
    chdir: str
    tasks: str = ""
    gpus: str = ""
    array: tuple[int, ...] = ()
    outputs: tuple[str, ...] = ()
    for_flux: bool = False
    outlives: bool = False
    after: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """A source from the user: a script's file, and the names of the scripts to run after or beside."""

    path: str
    after: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()


def split_source(source: str) -> Source:
    """Parse a source of the form ``job.sh``, ``job.sh:after=a,b`` or ``job.sh:after=a:with=b``.

    Raises UsageError for any other clause after a colon.
    """
    if Path(source).exists():
        return Source(path=source)
    path, *clauses = source.split(":")
    names: dict[str, tuple[str, ...]] = {}
    for clause in clauses:
        key, _, value = clause.partition("=")
        found = tuple(name.strip() for name in value.split(",") if name.strip())
        if key not in ("after", "with") or key in names or not found:
            raise UsageError(
                f"'{clause}' behind {path} is not understood",
                hint="write job.sh:after=name, job.sh:with=name, or both, with commas between names",
            )
        names[key] = found
    return Source(path=path, after=names.get("after", ()), beside=names.get("with", ()))


def read_script(path: Path, arguments: Sequence[str] = ()) -> Script:
    """Read a batch script from its file.

    Args:
        path: the script's file.
        arguments: the options of the submission (``parse_script``).
    """
    return parse_script(text_of(path), path, arguments)


def parse_script(text: str, path: Path, arguments: Sequence[str] = ()) -> Script:
    """Return the options of a script's job. Raises UsageError for a text that is no script.

    Args:
        text: the script's text.
        path: the script's file.
        arguments: the options of the submission. As in sbatch, they and ``SBATCH_*`` variables override the
            script's own options.
    """
    script_wrapping.interpreter(text, str(path))
    for_flux = flux_directives.present(text)
    # The script runs in the first component of a heterogeneous job.
    header, *others = [flux_directives.parse(text)] if for_flux else options_by_component(parse_header(text))
    if not header and (said := directives(text)):
        return _for_pbs(said, path)
    if not for_flux:
        called = dict((*parse_variables(os.environ), *parse_call(arguments).options))
        # The task's name comes from the script, even where the submission names the job.
        header |= {name: value for name, value in called.items() if name != "job-name"}
    return Script(
        path=str(path),
        step=_named(header.get("job-name") or path.stem),
        nodes=sum(map(_nodes, (header, *others))),
        chdir=header.get("chdir") or "",
        # Spare nodes change the script's numbers of the whole job. Flux gives it none, and in a heterogeneous
        # job they are each component's own.
        tasks="" if for_flux or others else header.get("ntasks") or "",
        gpus="" if for_flux or others else header.get("gpus") or "",
        outputs=()
        if for_flux
        else tuple(header[name] or "" for name in ("output", "error") if header.get(name)),
        for_flux=for_flux,
        outlives=header.get("no-kill", "off") != "off",
        array=_array_indices(header["array"] or "", str(path)) if "array" in header else (),
    )


def _nodes(header: Mapping[str, str | None]) -> int:
    least = re.match(r"\d+", header.get("nodes") or "")
    return max(1, int(least.group())) if least else 1


def _for_pbs(said: Sequence[tuple[str, str]], path: Path) -> Script:
    """Return the script with the options of its ``#PBS`` lines; the last line of each option counts."""
    header = dict(said)
    return Script(
        path=str(path),
        step=_named(header.get("-N") or path.stem),
        nodes=node_count(resources_said(said)),
        chdir="",
        array=_array_indices(header["-J"], str(path)) if "-J" in header else (),
    )


def _named(name: str) -> str:
    r"""Return a job's name as a step's name: without blanks, and with non-UTF-8 bytes as ``_xe9``."""
    written = os.fsencode(name).decode(errors="backslashreplace")
    kept = name if written == name else written.replace("\\", "_")
    return kept.replace(" ", "_").replace("/", "_")


def missing_directories(script: Script, submitted_from: Path) -> tuple[str, ...]:
    """Return a sentence for each output file that Slurm cannot open, because its directory does not exist.

    Args:
        script: a script for sbatch.
        submitted_from: the working directory of the submission.
    """
    said = []
    for name in dict.fromkeys(script.outputs):
        directory = (submitted_from / script.chdir / name).parent
        if "%" not in str(directory) and not directory.exists():
            said.append(
                f"{script.path}: its output file {name} is to be made in {directory}, which does not exist:"
                " unless an earlier job makes it, Slurm ends the job (0:53) before its script begins"
            )
    return tuple(said)


def _array_indices(text: str, path: str) -> tuple[int, ...]:
    """Return the indices in a value of ``--array`` such as ``0-5,8,10-20:2%3``.

    Raises UsageError for other values.
    """
    found: list[int] = []
    for part in text.partition("%")[0].split(","):
        match = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9})(?::(\d{1,9}))?)?", part.strip())
        if not match:
            raise UsageError(f"{path}: the job array '{text}' is not understood")
        first = int(match.group(1))
        last, step = int(match.group(2) or first), int(match.group(3) or 1)
        if step < 1 or last < first or (last - first) // step + len(found) >= _LARGEST_ARRAY:
            raise UsageError(f"{path}: the job array '{text}' is empty or too large")
        found += range(first, last + 1, step)
    return tuple(dict.fromkeys(found))
