"""Checks of times: timers against the job's time limit, sleeps of the script, and its loops.

The arguments of a check are those of ``script.DetectionCheck``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from whesl.doctor.job_script import commands as script_commands
from whesl.doctor.job_script import facts as script_facts
from whesl.doctor.job_script.commands import Loop
from whesl.doctor.job_script.samples import slept
from whesl.doctor.job_script.script import JobScript, Unfit, Watch
from whesl.language.compiler.pattern_checks import found_in
from whesl.language.detections.base import Reads
from whesl.language.pattern_and_stream_records import Pattern, Stream
from whesl.language.spec import Entity

# A time of simulation that ends before its first whole second, in the input of a program.
_FRACTION = re.compile(r"\b(?:endTime|end_time|t_?end|t_?max|stop_?time)\b\s*[=: ]\s*0?\.\d+", re.IGNORECASE)


def too_late(script: JobScript, watch: Watch) -> Iterator[Unfit]:
    """Find timers, and waits before a recovery, that end after the job's time limit."""
    timer, limit, exception = watch.detection.timer(), script.limit, watch.exception
    times = {"TIMEOUT": timer[0], "WARMUP": timer[1], "WARMUP and TIMEOUT": sum(timer)} if timer else {}
    if exception.steps and not any(step.entity is Entity.SCHEDULER for step in exception.steps):
        times["BACKOFF"] = exception.backoff
    for name, value in times.items():
        if limit is not None and value >= limit:
            message = f"{name} {value:g} is not over before the job's time limit of {limit:g} s is"
            hint = "write fewer seconds, or give the job more time"
            span = exception.span if name == "BACKOFF" else watch.span
            yield Unfit("ESL094", message, hint, span, name.partition(" ")[0])
            return
    for each in script.programs if timer is not None else ():
        after = script_commands.pause(("sleep", *[x for x in each.words[1:] if x[:2] != "--"][:1]))
        if timer and each.name == "timeout" and script.programs == [each] and after and timer[0] >= after:
            message = f"timeout ends the program after {after:g} s, before TIMEOUT {timer[0]:g} is over"
            yield Unfit("ESL094", message, "write fewer seconds than timeout has", watch.span, "TIMEOUT")


def kept_going(script: JobScript, watch: Watch) -> Iterator[Unfit]:
    """Find timers that a sleep of the script outlasts, or that a loop of it in the background resets."""
    reads, timer, commands = watch.detection.reads(), watch.detection.timer(), script.commands
    if timer is None or (reads is not None and reads.source.stream is Stream.FILE):
        return
    beside = [each for each in commands if each.place.background]
    patterns = reads.patterns if reads is not None else ()
    for each in [one for one in beside if one.place.output.stdout.own]:
        lines = script_facts.said(each, script.shell)
        lines = lines or (["what date prints"] if _PRINTERS.fullmatch(each.name) else [])
        loop = each.place.loop
        if loop is None and _MONITORS.search(" ".join(each.words)):
            lines, loop = ["what " + each.name + " shows"], Loop(0, 1)
        resets = lines if reads is None else [x for x in lines if any(found_in(p, x) for p in patterns)]
        if resets and loop is not None and 0 < loop.pause < timer[0]:
            message = f"a loop of the script in the background prints {resets[0][:40]!r} all the time"
            hint = "watch what the program itself prints"
            yield Unfit("ESL096", f"{message}, also when the program hangs", hint, watch.span, "TIMEOUT")
            return
    pauses = [
        script_commands.pause(each.words) or 0
        for each in commands
        if not each.place.background and (each.place.always or (each.place.loop and not each.place.arms))
    ]
    paced = max((x for source in script.python for x in _python_sleeps(source.tree)), default=0.0)
    longest = max([*pauses, paced])
    looped = [script_commands.pause(each.words) for each in commands if each.place.loop]
    repeated = longest in (paced, *looped)
    if not beside and longest and longest >= (timer[0] if repeated else sum(timer)):
        message = f"the script sleeps for {longest:g} s, and the timer ends it after {sum(timer):g} s"
        yield Unfit("ESL094", message, "write more seconds, or a longer WARMUP", watch.span, "TIMEOUT")


def _python_sleeps(tree: ast.Module) -> Iterator[float]:
    """Yield the seconds that a Python program of one thread sleeps in a loop, outside branches."""
    if re.search("thread|async|multiprocessing|subprocess", ast.unparse(tree)):
        return
    main = [each for each in tree.body if isinstance(each, ast.FunctionDef) and each.name == "main"]
    for node in [*tree.body, *(each for function in main for each in function.body)]:
        for each in node.body if isinstance(node, (ast.For, ast.While)) else ():
            if isinstance(each, ast.stmt) and (seconds := slept(each)):
                yield seconds


# Commands that print again and again until they are ended.
_MONITORS = re.compile(
    r"nvidia-smi\b.* (?:-l|--loop|-lms)|nvidia-smi [dp]mon|^(?:[vi]|mp|pid|d)stat\b.* \d+|^sar\b.* \d+"
    r"|^free\b.* -s|^top\b.* -\w*b|^tail\b.* -\w*[fF]|^watch\b|^ping\b"
)
# Commands that print at each call, whatever the program does.
_PRINTERS = re.compile(r"date|nvidia-smi|free|df|uptime|sstat|top|ps|squeue|ls|du|hostname")


def stands_still(script: JobScript, watch: Watch) -> Iterator[Unfit]:
    """Find numbers that do not rise: whole seconds of a run that is shorter, a count that begins anew."""
    looped = [each for each in script.programs if each.place.loop is not None and not each.place.background]
    again = [each for each in looped if each.place.loop is not None and each.place.loop.times != 1]
    reads: Reads | None = watch.detection.reads()
    patterns: tuple[Pattern, ...] = reads.patterns if reads is not None and watch.detection.rises else ()
    for pattern in patterns:
        whole = re.search(r"[Tt]ime\W*\((?:\?P<\w+>)?(?:\\d|\[0-9\])\+\)(?!\\?\.)", pattern.text)
        ends = _FRACTION.search(script.text)
        if whole is not None and ends is not None:
            message = f"{ends[0].strip()!r} ends before 1: the digits before the point stay 0"
            yield Unfit("ESL054", message, r"write ([0-9.e+-]+) for the number", watch.span, pattern.text)
            return
        comma = next((x for x in script.samples if _cut(pattern, x.text)), None)
        if comma is not None:
            message = f"the script prints {comma.text[:60]!r}: the number is taken up to the comma"
            hint = "print the number without commas between thousands"
            yield Unfit("ESL054", message, hint, watch.span, pattern.text)
            return
        if again and again == script.programs:
            message = f"{again[0].words[0]} runs in a loop, and its number begins anew in each round"
            hint = "write LOG or MATCH with TIMEOUT: any such line counts there"
            yield Unfit("ESL096", message, hint, watch.span, pattern.text)
            return


def _cut(pattern: Pattern, line: str) -> bool:
    """Whether an expression captures only the digits of a number up to its first comma (1,234)."""
    found = re.search(pattern.text, line)
    return found is not None and any(
        re.match(r",\d{3}\b", line[end:]) for _, end in found.regs[1:] if end >= 0
    )


def written_late(script: JobScript, watch: Watch) -> Iterator[Unfit]:
    """Find timers on a file that the script begins to write only after another of its programs."""
    reads, timer = watch.detection.reads(), watch.detection.timer()
    file = reads.source.path if reads is not None else None
    if timer is None or file is None or timer[1] or any(each.place.background for each in script.programs):
        return
    writers = [n for n, each in enumerate(script.programs) if file in [x.file for x in each.place.output]]
    if writers and writers[0] > 0 and script.programs[0].place.always:
        first = " ".join(script.programs[0].words[:2])[:40]
        message = f"{file} is written only behind {first}, and the timer runs from the beginning"
        yield Unfit("ESL096", message, "write WARMUP with the seconds before it", watch.span, file)
