"""The words that are added to an sbatch call for a wrapped script. Pure."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence

import msgspec

from whesl.managers.resource.granted_spares_and_requeue import NO, NOTHING, YES
from whesl.managers.workflow.script_wrapping import WrappedScript
from whesl.managers.workflow.submission.sbatch_options import SEPARATORS, Call, parse_header, parse_variables


class Rewritten(msgspec.Struct, frozen=True, kw_only=True):
    """The words after ``sbatch``, and what has to be said to the user, a sentence each.

    ``spares`` is the number of spare nodes that were asked for; it may be less than the script's own
    number when the call does not say how many nodes the job needs. ``requeue`` is what the user has said of
    running the job again; of a job that is only observed it does not matter.
    """

    words: tuple[str, ...]
    spares: int
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
    """Return the call with the comment, and with what the task's rules need.

    ``--no-kill`` where the rules act on lost nodes: any other job ends as without WHESL, when it loses one.
    ``--requeue`` where its user has said nothing of that: a node may be lost before the isolator on it has
    been heard, and then nobody but Slurm knows that the job has to run again. What its user has said stays.

    Precedence is sbatch's own: command line, then ``SBATCH_*``/``SLURM_*`` variables, then the script.
    With spares, ``--nodes=N`` becomes N + k and everything that counts over the whole job (``--ntasks``,
    ``--gpus``) grows in proportion, rounded up to whole nodes: Slurm would otherwise lower the number of
    nodes to what the tasks need (sbatch.c, "can't run %d processes on %d nodes").
    Slurm empties the output files of a job that runs again, so they are appended to where nothing
    of an earlier job can be in them.

    Args:
        call: the call as the workflow manager made it.
        script_text: the script's text (its header is read).
        wrapped: what the script says of itself.
        comment: the whole comment to set.
        environment: variables that sbatch will see.
        spares: ask for the spare nodes; without, the job runs unprotected against lost nodes, but runs.
        avoid: nodes to keep the job off, beside those that the call excludes itself.
        exists: whether there is a file of that path now, by sbatch's working directory.
    """
    asked = _effective(call, script_text, environment or {})
    words = [f"--comment={comment}"]
    if wrapped.keeps:
        words.append("--no-kill")
    said = "" if wrapped.observe else _requeue_said(call, script_text, environment or {})
    if said == NOTHING:
        words.append("--requeue")
    if said == NOTHING and _keeps_output(asked, exists):
        words.append("--open-mode=append")
    notices = [f"whesl: {wrapped.task}: passed on, but not known: sbatch {word}" for word in call.guessed]
    if avoid:
        words.append(f"--exclude={','.join(filter(None, (asked.get('exclude', ''), *avoid)))}")
    count = wrapped.spares if spares else 0
    if count:
        grown = _grow(asked, count)
        if len(call.words) > 1 or any(word in asked for word in SEPARATORS):
            why, grown = "a heterogeneous job's components keep their nodes", None
        elif grown is None:
            why = "the script does not say how many nodes it needs (--nodes)"
        elif (asked.get("ntasks", ""), asked.get("gpus", "")) != (wrapped.tasks, wrapped.gpus):
            # Inside the job the script would see the larger numbers.
            why = "--ntasks or --gpus of the call are not those of the script"
            grown = None
        if grown is None:
            notices.append(f"whesl: {wrapped.task}: {why}, so no spare node is added")
            count = 0
        else:
            words += grown
    given = [*call.words[0], *words]
    for component in call.words[1:]:
        given += [":", *component, *words]
    script = wrapped.source or call.script
    given += ["--", script] if script.startswith("-") else [script]
    return Rewritten(words=(*given, *call.arguments), spares=count, requeue=said, notices=tuple(notices))


def original_comment(call: Call, script_text: str) -> str:
    """Return the comment that the job would have had."""
    given = call.last("comment")
    if given is not None:
        return given
    found = [value or "" for name, value in parse_header(script_text) if name == "comment"]
    return found[-1] if found else ""


def _requeue_said(call: Call, script_text: str, environment: Mapping[str, str]) -> str:
    """Return what the user has said last of running the job again, in the order in which sbatch reads it."""
    words = [
        *(name for name, _ in parse_header(script_text)),
        *(name for name, _ in parse_variables(environment)),
        *(name for name, _ in call.options),
    ]
    return next((word for word in reversed(words) if word in (YES, NO)), NOTHING)


def _keeps_output(asked: Mapping[str, str], exists: Callable[[str], bool]) -> bool:
    """Whether the job's output may be appended to: the user has not chosen, and its files are new.

    A file with the job's id in its name is new, as is the default's; another pattern may mean an old one.
    """
    if "open-mode" in asked:
        return False
    names = [asked[name] for name in ("output", "error") if asked.get(name)]
    return all(
        bool(re.search(r"%\d*[AjJ]", name))
        or ("%" not in name and not exists(posixpath.join(asked.get("chdir", ""), name)))
        for name in names
    )


def _effective(call: Call, script_text: str, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the options that matter here with the values that sbatch would use."""
    asked = {name: value or "" for name, value in parse_header(script_text)}
    # sbatch has variables for few of these; SLURM_NTASKS and the like are outputs only.
    asked.update(parse_variables(environment))
    asked.update({name: value or "" for name, value in call.options})
    return asked


def _grow(asked: Mapping[str, str], spares: int) -> list[str] | None:
    """Return the options that ask for ``spares`` more nodes, None when the number of nodes is unknown."""
    tasks = _count(asked.get("ntasks"))
    nodes = _range(asked.get("nodes", ""))
    if nodes is None:
        if "nodes" in asked or (tasks or 1) > 1 or "gpus" in asked:
            return None
        # One task, and nothing said of nodes: sbatch gives one node.
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
    """Return the least and the largest number of nodes; sizes such as ``2k`` are not read."""
    found = re.fullmatch(r"(\d+)(?:-(\d+))?", text)
    if not found or not int(found.group(1)):
        return None
    low = int(found.group(1))
    return low, max(low, int(found.group(2) or low))
