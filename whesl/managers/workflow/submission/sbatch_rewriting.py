"""Adds options to the sbatch call of a wrapped script. Pure."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence

import msgspec

from whesl.managers.resource.granted_spares_and_requeue import NO, NOTHING, YES
from whesl.managers.resource.launcher_shims.launcher_options import joined
from whesl.managers.workflow.script_wrapping import WrappedScript
from whesl.managers.workflow.submission.sbatch_options import (
    Call,
    asked_of,
    options_by_component,
    parse_call,
    parse_header,
    parse_variables,
)


class Rewritten(msgspec.Struct, frozen=True, kw_only=True):
    """A rewritten call: the words after ``sbatch``, and notices for the user, each a sentence.

    ``spares`` is the number of spare nodes in the call, 0 where the call does not tell how many nodes the job
    needs; ``nodes`` is the number with the spares, 0 where the job may not run on fewer. ``tasks`` is a job's
    number of tasks without spares and with them, '' where its script knows it. ``requeue`` is the user's
    requeue choice, '' for a job that WHESL only observes.
    """

    words: tuple[str, ...]
    spares: int
    nodes: int = 0
    tasks: str = ""
    requeue: str = ""
    notices: tuple[str, ...] = ()


def rewrite(
    call: Call,
    script_text: str,
    wrapped: WrappedScript,
    comment: str,
    environment: Mapping[str, str] | None = None,
    *,
    spares: bool = True,
    avoid: Sequence[str] = (),
    exists: Callable[[str], bool] = lambda _: True,
) -> Rewritten:
    """Return the call with the comment, and with the options that the task's rules need.

    ``--no-kill`` is added where the rules act on lost nodes; any other job ends at a lost node, as without
    WHESL. ``--requeue`` is added where the user has made no choice: a node may be lost before its isolator
    has registered, and then only Slurm knows that the job has to run again. The user's own options stay.

    With spares, ``--nodes=N`` becomes N + k, and options that count over the whole job (``--ntasks``,
    ``--gpus``) grow in proportion, rounded up to whole nodes: Slurm would otherwise lower the number of nodes
    to what the tasks need (sbatch.c, "can't run %d processes on %d nodes"). Slurm empties the output files of
    a job that runs again, so the job appends to its output files where they cannot hold output of an earlier
    job.

    Args:
        call: the workflow manager's call.
        script_text: the script's text, of which the header is read.
        wrapped: the options in the wrapped script.
        comment: the job's whole comment, '' for a job that keeps its own comment and requeue choice.
        environment: the variables that sbatch will see.
        spares: whether to ask for the spare nodes; without them, the job has none to replace lost nodes.
        avoid: nodes that the job must not use, besides the nodes that the call excludes itself.
        exists: whether a file exists now; paths are relative to sbatch's working directory.
    """
    options = asked_of(call, script_text, environment or {})
    asked = dict(options)
    words = [f"--comment={comment}"] if comment else []
    if wrapped.keeps:
        words.append("--no-kill")
    said = ""
    if comment and not wrapped.observe:
        said = next((name for name, _ in reversed(options) if name in (YES, NO)), NOTHING)
    if said == NOTHING:
        words.append("--requeue")
    if said == NOTHING and _keeps_output(asked, exists):
        words.append("--open-mode=append")
    notices = [f"whesl: {wrapped.task}: passed on, but not known: sbatch {word}" for word in call.guessed]
    if avoid:
        words.append(f"--exclude={','.join(filter(None, (asked.get('exclude', ''), *avoid)))}")
    count, tasks, most = wrapped.spares if spares else 0, "", ""
    own = wrapped.tasks if comment else asked.get("ntasks", "")
    parts = list(call.words)
    grown: list[list[str]] = [[]] * len(parts)
    if count:
        components = _components(call, script_text, environment or {})
        found = [_grow(part, count) for _, part in components]
        why = ""
        if None in found:
            why = "the script does not say how many nodes it needs (--nodes)"
        elif len(components) > 1:
            if not all(_divides(part) for _, part in components):
                why = "--ntasks of a component is no multiple of its --nodes, or the component has --gpus"
        elif (asked.get("ntasks", ""), asked.get("gpus", "")) != (own, wrapped.gpus):
            # The script would see the larger numbers inside the job: WHESL restores only the script's own
            # ones.
            why = "--ntasks or --gpus of the call are not those of the script"
        if why:
            notices.append(f"whesl: {wrapped.task}: {why}, so no spare node is added")
            count = 0
        else:
            parts, grown = [part for part, _ in components], [one or [] for one in found]
            more = dict(word.split("=", 1) for word in grown[0])
            if "--ntasks" in more and not comment and len(parts) == 1:
                tasks = f"{own}/{more['--ntasks']}"
            if len(parts) == 1 and "--gpus" not in more:
                most = more["--nodes"]
    given = joined([(*part, *words, *added) for part, added in zip(parts, grown, strict=True)])
    script = wrapped.source or call.script
    given += ["--", script] if script.startswith("-") else [script] if script else []
    return Rewritten(
        words=(*given, *call.arguments),
        spares=count,
        nodes=int(most) if most.isdecimal() else 0,
        tasks=tasks,
        requeue=said,
        notices=tuple(notices),
    )


def _keeps_output(asked: Mapping[str, str], exists: Callable[[str], bool]) -> bool:
    """Whether the job may append to its output files: the user has made no choice, and the files are new.

    A file with the job's id in its name, such as the default file, is new; any other pattern may name an old
    file.
    """
    if "open-mode" in asked:
        return False
    names = [asked[name] for name in ("output", "error") if asked.get(name)]
    return all(
        bool(re.search(r"%\d*[AjJ]", name))
        or ("%" not in name and not exists(posixpath.join(asked.get("chdir", ""), name)))
        for name in names
    )


def _components(
    call: Call, script_text: str, environment: Mapping[str, str]
) -> list[tuple[tuple[str, ...], dict[str, str]]]:
    """Return the call's words and the options that sbatch would use, for each component of the job.

    Source: sbatch.c: the call's part with a component's number is for it, or else the call's last part.
    """
    headers = options_by_component(parse_header(script_text))
    found = []
    for number in range(max(len(headers), len(call.words))):
        words = call.words[min(number, len(call.words) - 1)]
        asked = headers[number] if number < len(headers) else {}
        asked = asked | dict(parse_variables(environment)) | dict(parse_call(words).options)
        found.append((words, {name: value or "" for name, value in asked.items()}))
    return found


def _divides(asked: Mapping[str, str]) -> bool:
    """Whether a component's job variables tell from the grown numbers which ones the user asked for."""
    low, _ = _range(asked.get("nodes", "1")) or (1, 1)
    return "gpus" not in asked and _count(asked.get("ntasks")) % low == 0


def _grow(asked: Mapping[str, str], spares: int) -> list[str] | None:
    """Return the options that ask for ``spares`` more nodes, None when the number of nodes is unknown."""
    tasks = _count(asked.get("ntasks"))
    nodes = _range(asked.get("nodes", ""))
    if nodes is None:
        if "nodes" in asked or (tasks or 1) > 1 or "gpus" in asked:
            return None
        # For one task, without a number of nodes, sbatch asks for one node.
        nodes = (1, 1)
    low, high = nodes
    words = [f"--nodes={low + spares}" + (f"-{high + spares}" if high != low else "")]
    if tasks:
        words.append(f"--ntasks={-(-tasks // low) * (low + spares)}")
    gpus = re.fullmatch(r"((?:[\w.-]+:)?)(\d+)", asked.get("gpus", ""))
    if gpus:
        words.append(f"--gpus={gpus.group(1)}{-(-int(gpus.group(2)) // low) * (low + spares)}")
    return words


def _count(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() else 0


def _range(text: str) -> tuple[int, int] | None:
    """Return the smallest and the largest number of nodes; None for sizes such as ``2k``."""
    found = re.fullmatch(r"(\d+)(?:-(\d+))?", text)
    if not found or not int(found.group(1)):
        return None
    low = int(found.group(1))
    return low, max(low, int(found.group(2) or low))
