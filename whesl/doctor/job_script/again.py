"""Checks of restarts: what a script has done in its first attempt is there when the script runs again.

The arguments of a check are those of ``script.StepCheck``.
"""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Iterator

from whesl.doctor.job_script.commands import Command
from whesl.doctor.job_script.samples import EXISTS, Source, asked_for
from whesl.doctor.job_script.script import JobScript, Unfit
from whesl.language.spec import Entity, Operation, RecoveryStep, ResourceKind

_ERREXIT = re.compile(r"^\s*set\s.*(?:-\w*e\w*\b|errexit)|^#!.*\s-\w*e", re.MULTILINE)
# Paths that are, or may be, others in each attempt: with variables other than those of the job and its user.
_NEW = re.compile(r"\$(?!\{?(?:SLURM_(?!RESTART)\w+|PBS_\w+|HOME|USER)\b)|`|[*?]")
_REFUSES = re.compile(r"(?:sys\.)?exit\((?!0?\))|raise\b")
_REMOVES = re.compile(r"os\.(?:remove|unlink)\(")
_SAVED = re.compile(r"ckpt|check-?point|restart|resume|\bchk", re.IGNORECASE)


def fails_again(script: JobScript, step: RecoveryStep) -> Iterator[Unfit]:
    """Find commands that succeed in a first attempt alone, or remove what a restart goes on from."""
    restarts = step.resource in (ResourceKind.JOB, ResourceKind.NODE) and step.operation == Operation.REPLACE
    if not restarts or step.entity is Entity.DEPENDENT_JOB or "command" in step.arguments:
        return
    why = _removed(script) or _locked(script) or (_not_twice(script) if _stops(script) else "")
    why = why or next(filter(None, (_python_not_twice(script, each) for each in script.python)), "")
    if why:
        yield Unfit(
            "ESL096", f"the script runs again from its beginning, and {why}", _HINT, step.span, "REPLACE"
        )


_HINT = "let the script ask what is there already, such as mkdir -p"


def _stops(script: JobScript) -> bool:
    """Whether a command that fails ends the script, and no trap clears up behind it."""
    return _ERREXIT.search(script.shell) is not None and not re.search(r"\btrap\b", script.shell)


def _before(script: JobScript) -> Iterator[Command]:
    """Yield the commands before the first program, and those behind it that make directories."""
    begun = False
    for each in script.always:
        begun = begun or each.program
        if not each.place.arms and (not begun or each.name in ("mkdir", "git")):
            yield each


def _files(command: Command) -> list[str]:
    return [posixpath.normpath(word) for word in command.words[1:] if not word.startswith("-")]


def _not_twice(script: JobScript) -> str:
    """Return which command fails in a second attempt, since the first has done it, or ""."""
    gone: set[str] = set()
    for each in _before(script):
        options = " ".join(word for word in each.words[1:] if word.startswith("-"))
        files = [file for file in _files(each) if not _NEW.search(file)]
        said = " ".join(each.words)[:60]
        if each.name in ("cd", "pushd") and _NEW.search(" ".join(each.words)):
            return ""
        if each.name == "rm":
            gone |= {*files}
        new = next((x for x in files if not any(f"{x}/".startswith(f"{one}/") for one in gone)), "")
        if each.name == "mkdir" and new and not re.search(r"-\w*p|--parents", options):
            return f"{said!r} fails: the directory is there"
        if each.name == "ln" and new and "s" in options and "f" not in options and len(files) > 1:
            return f"{said!r} fails: the link is there"
        if each.name == "mv" and new and len(files) > 1 and files[0] not in script.facts.written:
            return f"{said!r} fails: the file has been moved"
        if each.words[:2] == ("git", "clone") and new:
            return f"{said!r} fails: the directory is there"
    return ""


def _removed(script: JobScript) -> str:
    """Return which command removes the checkpoints before the program can go on from them, or ""."""
    for each in _before(script):
        for file in _files(each) if each.name == "rm" else ():
            used = any(
                file in posixpath.normpath(word.rpartition("=")[2]).split("/")
                for one in script.programs
                for word in one.words[1:]
            ) or any(file in asked_for(source.tree, source.tree) for source in script.python)
            if _SAVED.search(file) and (
                used or _SAVED.search(" ".join(w for x in script.programs for w in x.words))
            ):
                return f"{' '.join(each.words)[:60]!r} removes what it could go on from"
    return ""


def _python_not_twice(script: JobScript, source: Source) -> str:
    """Return what a Python program refuses in a second attempt, since the first has left it, or ""."""
    text = ast.unparse(source.tree)
    program = " ".join(source.command.words[:2])[:40]
    clears = re.search(r"\bfinally\b|\batexit\b|\bsignal\b", text) or "trap" in script.shell
    tests = [x for x in ast.walk(source.tree) if isinstance(x, ast.If) and isinstance(x.test, ast.Call)]
    for test in tests if _REMOVES.search(text) and not clears else ():
        name = re.fullmatch(rf"{EXISTS.pattern}\((.*)\)", ast.unparse(test.test))
        ends = any(_REFUSES.match(ast.unparse(one)) for one in test.body)
        if name and ends and re.search(rf"open\({re.escape(name[1])}, '[wx]", text):
            locks = asked_for(test.test, source.tree)
            return f"{program} ends at once, since {', '.join(locks) or name[1]} is there"
    for each in source.tree.body:
        made = re.fullmatch(r"os\.(?:mkdir|makedirs)\('([\w./-]+)'\)", ast.unparse(each))
        if made and made[1] not in script.text and not re.search(r"rmtree|rmdir", text):
            return f"{ast.unparse(each)} in {program} fails: the directory is there"
    return ""


def _locked(script: JobScript) -> str:
    """Return which file of the first attempt makes the second one end at once, or ""."""
    for each in script.always:
        made = _files(each) if each.name == "touch" else [each.place.output.stdout.file]
        for file in made:
            test = rf"(?:\[\[?|test)\s+-[efs]\s+\"?{re.escape(file)}\"?\s*(?:\]\]?)?\s*(?:&&|;?\s*then)"
            if (
                re.search(rf"{test}(?:(?!\bfi\b).)*?\bexit\b", script.shell, re.DOTALL)
                and "trap" not in script.shell
            ):
                return f"ends at once, since {file} is there"
    return ""
