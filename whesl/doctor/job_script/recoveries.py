"""Checks of recovery steps against the script: what it undoes, and what does not fit its programs.

The arguments of a check are those of ``script.StepCheck``.
"""

from __future__ import annotations

import ast
import difflib
import itertools
import posixpath
import re
from collections.abc import Iterator

from whesl.doctor.job_script.commands import pause
from whesl.doctor.job_script.files import named_words
from whesl.doctor.job_script.samples import asked_for
from whesl.doctor.job_script.script import OF_NODE, JobScript, Unfit, inner, value
from whesl.language.spec import Entity, Operation, RecoveryStep, ResourceKind
from whesl.managers.resource import launcher_shims
from whesl.managers.resource.launcher_shims.launcher_options import parse_srun
from whesl.managers.resource.launcher_shims.replaced_node_mentions import OWN_HOST

_SYSTEM = re.compile(r"/(?:usr|bin|opt|dev|proc|etc|tmp|sys|var)/")
_TESTS = re.compile(r"(?:\[\[?|test)\s+(?:!\s+)?-[efs]\s+\"?([\w./-]+)\"?")
_ASKED_FOR = re.compile(r"--?[\w-]*(?:request|trigger|stop-file|signal-file)[\w-]*[= ]+([\w./-]+)")
_TRAPS = re.compile(r"\btrap\b|\bsource\b|\beval\b|^\s*\. ", re.MULTILINE)
# Variables and options that tell ranks where they meet.
_MEETING = re.compile(
    r"(?i)-*(?:\w*[-_])?(?:master|head|rdzv|rendezvous|coordinator|main_process|init_method)"
)
_MOST = 50  # times its limit that a job is hardly given
_MANAGERS = ((r"^#PBS ", "PBS"), (r"^#\s?flux: ", "Flux"))
_SIZES = {"": 1, "M": 1, "G": 1024, "T": 1024 * 1024}
# Programs that look for a file while they run, and its name. Sources: the manuals of VASP and CP2K.
_ASKED_BY = ((r"vasp\w*", "STOPCAR"), (r"cp2k\w*(?:\.\w+)?", "EXIT"))


def undone(script: JobScript, step: RecoveryStep) -> Iterator[Unfit]:
    """Find variables, words and directories of a step that do not reach the program."""
    given = step.arguments.get("environment")
    for name in given if isinstance(given, dict) else ():
        own = rf"{re.escape(name)}=(?!.*\$\{{?{re.escape(name)}\b)"
        inside = rf"os\.environ\['{re.escape(name)}'\] = (?!.*'{re.escape(name)}')"
        lines = [ast.unparse(each) for source in script.python for each in source.tree.body]
        alone = len(script.python) == len(script.programs) and any(re.match(inside, x) for x in lines)
        words = [word for each in script.always for word in (*each.words[1:], *each.variables)]
        if alone or any(re.match(own, word) for word in words):
            who = "program" if alone else "script"
            message = f"the {who} sets {name} itself, whatever it is given"
            hint = f"keep {name} where it is set already, as {name}=${{{name}:-...}} does"
            yield Unfit("ESL096", message, hint, step.span, name)
        elif _cleared(script, name):
            message = f"the script starts its program without {name}: {_cleared(script, name)}"
            yield Unfit("ESL096", message, f"hand {name} on there", step.span, name)
        elif name not in script.text and script.known and name not in script.known:
            read = re.findall(r"(?:environ(?:\.get)?[\[(]|getenv\()'(\w+)'", script.known)
            same = [other for other in read if {*other.split("_")} == {*name.split("_")}]
            for other in [*same, *difflib.get_close_matches(name, read, n=1, cutoff=0.85)][:1]:
                message = f"the program reads {other}, and nothing reads {name}"
                yield Unfit("ESL096", message, f"did you mean {other}?", step.span, name)
    bare = script.shell and not re.search(r"\$\{?[@*1-9#]", script.shell)
    if step.arguments.get("command_append") and bare:
        message = "the words come to the script, which hands on none of its own"
        yield Unfit("ESL096", message, 'write "$@" behind the program', step.span, "command_append")
    for word in _words(step.arguments.get("command_append")):
        name = word.partition("=")[0]
        program = _refusing(script, name) if name.startswith("--") and len(name) > 2 else None
        if program:
            message = f"{program} has no option {name}: it ends at once"
            yield Unfit("ESL096", message, "write an option that it has", step.span, name)
    workdir = step.arguments.get("workdir")
    moved = next((x.words[1] for x in script.always if x.words[0] == "cd" and len(x.words) == 2), "")
    if workdir and moved.startswith("/"):
        message = f"the script changes to {moved} itself"
        yield Unfit("ESL096", message, "leave cd out of the script", step.span, str(workdir))


def past_the_launchers(script: JobScript, step: RecoveryStep) -> Iterator[Unfit]:
    """Find launchers that start on a replaced node again."""
    if (step.resource, step.operation) != (ResourceKind.NODE, Operation.REPLACE):
        return
    for each in script.always:
        if each.words[0].startswith("/") and each.name in launcher_shims.COMMANDS:
            message = f"{each.words[0]}, by its path, starts on the replaced node, too"
            yield Unfit("ESL096", message, f"write {each.name}", step.span, step.operation)
        set_anew = next(
            (x for x in (*each.words[1:], *each.variables) if re.match(r"PATH=(?!.*\$\{?PATH)", x)), ""
        )
        if set_anew and script.nodes > 1:
            message = f"{set_anew[:40]} hides WHESL's srun and mpirun, which leave the replaced node out"
            yield Unfit("ESL096", message, "write PATH=...:$PATH", step.span, step.operation)


def meets_on_its_own_host(script: JobScript, step: RecoveryStep) -> Iterator[Unfit]:
    """Find ranks that are told to meet on the script's host, which no rank has once it is replaced."""
    if (step.resource, step.operation) != (ResourceKind.NODE, Operation.REPLACE) or script.nodes < 2:
        return
    for each in script.always:
        words = [word for before, word in itertools.pairwise(("", *each.words)) if before != "-c"]
        told = OWN_HOST.search(" ".join((*each.variables, *words)))
        if told is not None and _MEETING.match(told[0]):
            message = (
                f"{told[0].strip()} stays the script's host, and no rank is there once this node is replaced"
            )
            hint = '$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1) is the first node in use'
            yield Unfit("ESL096", message, hint, step.span, step.operation)
            return


def fewer_than_asked(script: JobScript, step: RecoveryStep) -> Iterator[Unfit]:
    """Find numbers of nodes that hold fewer tasks than the script starts."""
    nodes, each_node = step.arguments.get("nodes"), script.option("ntasks-per-node")
    if (step.resource, step.operation) == (ResourceKind.NODE, Operation.REMOVE):
        nodes = script.nodes - 1
    for each in script.always:
        if each.name != "srun" or not isinstance(nodes, int) or not each_node.isdecimal():
            continue
        asked = parse_srun(each.words[1:]).value("ntasks") or ""
        if asked.isdecimal() and int(asked) > nodes * int(each_node):
            message = f"srun asks for {asked} tasks, and {nodes} nodes of {each_node} tasks hold fewer"
            hint = "write -n $((SLURM_NNODES * ...)) in the script"
            yield Unfit("ESL096", message, hint, step.span, step.operation)
            return


def no_more_than_before(script: JobScript, step: RecoveryStep) -> Iterator[Unfit]:
    """Find new runs that the script forbids, and their time or memory that is no more than the job had."""
    if step.entity is Entity.SCHEDULER and "no-requeue" in script.header:
        message = "the script forbids a second run (#SBATCH --no-requeue)"
        yield Unfit("ESL095", message, "leave --no-requeue out", step.span, step.operation)
    time, memory = step.arguments.get("time"), step.arguments.get("memory")
    if isinstance(time, (int, float)) and script.limit is not None and time * 60 <= script.limit:
        message = f"time {time:g} (minutes) is no more than the job has, {script.limit / 60:g}"
        yield Unfit("ESL094", message, "write more minutes", step.span, "time")
    elif isinstance(time, (int, float)) and script.limit is not None and time * 60 > _MOST * script.limit:
        message = f"time {time:g} is {time / 1440:g} days, and the job has {script.limit / 60:g} minutes"
        yield Unfit("ESL094", message, "time is in minutes", step.span, "time")
    had, gets = _size(script.option("mem")), _size(memory if isinstance(memory, str) else "")
    if had and gets and gets <= had:
        message = f"memory {memory} is no more than the job has, {script.option('mem')}"
        yield Unfit("ESL094", message, "write more", step.span, "memory")


def other_file_system(script: JobScript, step: RecoveryStep) -> Iterator[Unfit]:
    """Find new roots that are one node's alone, and old ones below which the script has no path."""
    new, old = step.arguments.get("filesystem"), step.arguments.get("defaultpath")
    if step.resource != ResourceKind.FILESYSTEM or not isinstance(old, str):
        return
    roots = [new] if isinstance(new, str) else [each for each in new or () if isinstance(each, str)]
    local = next((root for root in roots if OF_NODE.match(root)), "")
    if local and script.nodes > 1:
        message = f"each of the job's {script.nodes} nodes has another {local}"
        yield Unfit("ESL095", message, "name a directory that all nodes share", step.span, local)
    paths = [word.rpartition("=")[2] for word in script.words() if re.match(r"(?:[\w-]+=)?/[\w.-]+/", word)]
    given = {word for each in script.programs for word in each.words[1:]}  # and not a variable's value
    moved = OF_NODE.match(old)
    paths = [x for x in paths if (OF_NODE.match(x) and (moved or x in given)) or not _SYSTEM.match(x)]
    if (
        paths
        and "$" not in old
        and not any(posixpath.normpath(path).startswith(old.rstrip("/")) for path in paths)
    ) and not re.search(r"\$\{?[A-Z_]*(?:SCRATCH|WORK|DATA|DIR|HOME|PROJECT|ROOT)", script.text):
        message = f"the script uses {paths[-1][:60]}, and no path below {old}"
        yield Unfit("ESL096", message, f"defaultpath: a directory above {paths[-1][:40]}", step.span, old)


def other_trigger(script: JobScript, step: RecoveryStep) -> Iterator[Unfit]:
    """Find triggers of checkpoints that are no file that the program looks for."""
    trigger = step.arguments.get("trigger")
    if not isinstance(trigger, str) or posixpath.basename(trigger) in script.text:
        return
    trees = [source.tree for source in script.python]
    loops = [(x, tree) for tree in trees for x in ast.walk(tree) if isinstance(x, (ast.For, ast.While))]
    asked = [posixpath.basename(name) for loop, tree in loops for name in asked_for(loop, tree)]
    asked += _TESTS.findall(script.text) if any(each.place.loop for each in script.commands) else []
    asked += [posixpath.basename(each) for each in _ASKED_FOR.findall(script.text)]
    asked += [
        file
        for program, file in _ASKED_BY
        if any(inner(each, program) for each in script.commands)
        if posixpath.basename(trigger) != file
    ]
    if asked and posixpath.basename(trigger) not in asked:
        message = f"the program looks for {asked[0]}, not for {posixpath.basename(trigger)}"
        yield Unfit("ESL096", message, f'write "${{workspace}}/{asked[0]}"', step.span, trigger)


def never_written(script: JobScript, step: RecoveryStep) -> Iterator[Unfit]:
    """Find checkpoints by whose names the program writes no file."""
    written = step.arguments.get("written")
    parts = re.findall(r"[A-Za-z]\w*", posixpath.basename(written)) if isinstance(written, str) else []
    if script.known and parts and not any(each in script.known + script.text for each in parts):
        message = f"the program never writes {posixpath.basename(str(written))}: no checkpoint counts"
        yield Unfit("ESL096", message, "name the file that it writes", step.span, str(written))


def unheard(script: JobScript, step: RecoveryStep) -> Iterator[Unfit]:
    """Find signals for checkpoints that the script ignores, or that its program does not handle."""
    signal = step.arguments.get("signal")
    if not isinstance(signal, str):
        return
    name = signal.removeprefix("SIG")
    sources = [source.command.given for source in script.python]
    handled = {each for source in sources for each in re.findall(r"signal\.SIG(USR\d)", source)}
    if any(each.words[:2] == ("trap", "") and {name, f"SIG{name}"} & {*each.words} for each in script.always):
        message = f"the script ignores SIG{name} (trap ''), and so do the programs that it starts"
        yield Unfit("ESL096", message, "leave that trap out", step.span, signal)
    elif script.commands and not script.programs and not _TRAPS.search(script.shell):
        message = f"the script has no trap for SIG{name}, which ends it"
        yield Unfit("ESL096", message, f"write a trap for {name} that saves", step.span, signal)
    elif script.known and "signal" not in script.known and not _TRAPS.search(script.shell):
        message = f"the program does not handle SIG{name}, which ends it"
        yield Unfit("ESL096", message, "handle it there, and save the state", step.span, signal)
    elif handled and name not in handled and len(script.programs) == 1:
        message = f"the program handles SIG{min(handled)}, and SIG{name} ends it"
        yield Unfit("ESL096", message, f'write "signal": "SIG{min(handled)}"', step.span, signal)


def of_another_manager(script: JobScript, step: RecoveryStep) -> Iterator[Unfit]:
    """Find arguments that only Slurm heeds, in jobs of another resource manager."""
    manager = next((name for sign, name in _MANAGERS if re.search(sign, script.text, re.MULTILINE)), "")
    for name in ("wait", "time", "memory") if manager and not script.header else ():
        nodes = step.resource == ResourceKind.NODE
        if name in step.arguments and nodes == (name == "wait"):
            message = f"{name} is heeded by Slurm alone, and this is a job of {manager}"
            yield Unfit("ESL095", message, "leave it out", step.span, name)


def removes_what_is_needed(script: JobScript, step: RecoveryStep) -> Iterator[Unfit]:
    """Find commands of JOB.ADD that remove what the script goes on from, or that take too long."""
    command, timeout = step.arguments.get("command"), step.arguments.get("timeout")
    words = _words(command)
    if (step.resource, step.operation) != (ResourceKind.JOB, Operation.ADD) or not words:
        return
    line = " ".join(words[2:] if words[0] in ("sh", "bash") else words)
    slept = re.search(r"\bsleep (\d+(?:\.\d+)?[smhd]?)\b", line)
    time = pause(slept[0].split()) if slept else None
    if time is not None and isinstance(timeout, (int, float)) and time >= timeout:
        message = f"the command sleeps for {time:g} s, and may take {timeout:g}"
        yield Unfit("ESL094", message, f'write "timeout": {time + 60:g}', step.span, "timeout")
    removed = re.findall(r"(?:\$\{workspace\}/)?([\w./-]+)", line.partition("rm ")[2])
    used = {
        part
        for word in named_words(script.always)
        for part in (word, posixpath.dirname(word))
        if part.strip("./")
    }
    lost = next((posixpath.normpath(each) for each in removed if posixpath.normpath(each) in used), "")
    if lost and re.search(
        rf"(?:resume|restart|restore|ckpt|checkpoint|from)\S*[ =]\S*{re.escape(lost)}", script.text
    ):
        message = f"the script goes on from {lost}, which this removes"
        hint = "keep it: the program starts from its beginning without"
        yield Unfit("ESL095", message, hint, step.span, "rm")


def _cleared(script: JobScript, name: str) -> str:
    """Return the words by which the script's programs do not get a variable, "" where they get it."""
    if re.search(r"^[^#\n]*\benv\s+(?:-i|-|--ignore-environment)\s", script.text, re.MULTILINE):
        return "" if re.search(rf"\benv\s[^\n]*\b{re.escape(name)}=", script.text) else "env -i"
    for each in script.always:
        export = value(inner(each, "srun"), "--export")
        if export is not None and "ALL" not in export.split(",") and name not in re.split("[,=]", export):
            return f"srun --export={export}"
    return ""


def _words(command: object) -> list[str]:
    """Return the words of a command, which a rule gives as one text or as a list."""
    if isinstance(command, str):
        return command.split()
    return [str(each) for each in command] if isinstance(command, list) else []


def _refusing(script: JobScript, option: str) -> str:
    """Return the name of a program that is given the script's words, and has no such option; "" for none."""
    for source in script.python:
        text = ast.unparse(source.tree)
        parsers = set(re.findall(r"(\w+) = (?:argparse\.)?ArgumentParser\((?!.*parents=)", text))
        calls = [each for each in ast.walk(source.tree) if isinstance(each, ast.Call)]
        handed = {ast.unparse(x).rpartition(".")[2] for each in calls for x in each.args}
        added = [each.args for each in calls if ast.unparse(each.func).endswith(".add_argument")]
        names = [x.value if isinstance(x, ast.Constant) else "--" for args in added for x in args]
        strict = parsers and not parsers & handed and ".parse_args()" in text
        strict = strict and not re.search(r"sys\.argv|BooleanOptional", text)
        given = strict and {"$@", "${@}", "$*"} & {*source.command.words}
        known = "--" in names or any(str(each).startswith(option) for each in [*names, "--help"])
        if given and not known:
            return " ".join(source.command.words[:2])
    return ""


def _size(text: str) -> float:
    """Return a size of Slurm in MB, 0 where it is none."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([MGT]?)B?", text.upper())
    return float(found[1]) * _SIZES[found[2]] if found else 0.0
