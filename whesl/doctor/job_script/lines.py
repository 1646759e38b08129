"""Checks of what a script prints itself: lines of each sound run, and lines that a pattern nearly finds.

The arguments of a check are those of ``script.DetectionCheck``.
"""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Callable, Iterator

from whesl.doctor.job_script.commands import OWN
from whesl.doctor.job_script.samples import Sample, plain
from whesl.doctor.job_script.script import JobScript, Unfit, Watch
from whesl.language.compiler.pattern_checks import found_in
from whesl.language.pattern_and_stream_records import Pattern, Stream

# Settings by which a shell prints each command before it runs it.
_TRACED = re.compile(r"^\s*set\s+(?:-\w*x|-o\s+xtrace)|^#!.*\s-\w*x", re.MULTILINE)
_SHELL = "the script's shell"
# By what torchrun restarts its workers itself: a number, or a variable. Below, what is printed before that.
_TORCHRUN = re.compile(
    r"^[^#\n]*(?:--max[-_]restarts[= ]+|\bPET_MAX_RESTARTS=)[\"']?(?:([1-9]\d*)|\$\{?(\w+))", re.MULTILINE
)
_PAIR = "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:537]"
_WORKERS_LINES = (
    "elastic/multiprocessing/api.py:1002] failed (exitcode: -9) local_rank: 1 (pid: 15) of binary: python",
    "[rank0]: Traceback (most recent call last):",
    f"[rank0]: {_PAIR} Connection closed by peer [::1]:9.",
    f"[rank0]: {_PAIR} Read error [::1]:9: Connection reset by peer.",
    "RuntimeError: DataLoader worker (pid 12345) is killed by signal: Killed.",
    "[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
    "[rank3]:[E1218 ProcessGroupNCCL.cpp:616] [Rank 3] Watchdog caught collective operation timeout: Work",
)
# Bash's own words on a program that a signal has ended: they never stand alone in a line.
_ENDED = "job.sh: line 4:  4711 {}                 (core dumped) ./app"
_SIGNALS = ("Segmentation fault", "Killed", "Aborted", "Bus error", "Floating point exception", "Terminated")
# Words of the C library, which it prints in the language of LC_ALL, LC_MESSAGES or LANG.
_MESSAGES = (
    *("No space left on device", "Disk quota exceeded", "Input/output error", "Permission denied"),
    *("No such file or directory", "Cannot allocate memory", "Connection refused", "Connection timed out"),
    *("Connection reset by peer", "Broken pipe", "Stale file handle", "Too many open files", *_SIGNALS),
)
_LANGUAGE = re.compile(r"^(?:LC_ALL|LC_MESSAGES|LANG)=(?!C\b|POSIX|en|$|\$)(\S+)")
# Programs that write the system's messages in small letters: those in Go, and Intel's Fortran.
_SMALL = re.compile(r"apptainer|singularity|podman|docker|\bif(?:ort|x)\b|intel|oneapi", re.IGNORECASE)
_DIGITS = re.compile(r"(?:\\d|\[0-9\]){2,}\+?|(?:\\d|\[0-9\])\{\d+(?:,\d*)?\}")
_SHORT = 8  # letters of a text that are too few to say that another one is much like it
_ALIKE = 0.87


def printed(script: JobScript, watch: Watch) -> Iterator[Unfit]:
    """Find patterns that the script itself prints: a traced command, or a line of each sound run."""
    reads = watch.heard
    if reads is None:
        return
    fault = watch.detection.one_line() is not None
    stream = reads.source.stream
    heard = {Stream.STDOUT: OWN[:1], Stream.STDERR: OWN[1:]}.get(stream, OWN)
    always = [each for each in script.samples if each.always and each.fixed]
    echoed = [(each.fixed, "the script") for each in always if each.stream in heard]
    for name in script.shown if stream is not Stream.STDERR else ():
        echoed += [(line, f"cat {name}") for line in script.texts[name].splitlines()]
    traced_lines = script.lines if _TRACED.search(script.text) else []
    traced = [(f"+ {line.strip()}", _SHELL) for line in traced_lines if not line.lstrip().startswith("#")]
    for pattern in reads.patterns:
        by_itself = [*traced, *(echoed if fault else ())]
        line, who = next((each for each in by_itself if found_in(pattern, each[0])), ("", ""))
        if who:
            how = " (set -x)" if who == _SHELL else ""
            hint = f"write what only the fault prints{', or leave set -x out' if how else ''}"
            message = f"{who} prints this pattern itself{how}: {line[:80]!r}"
            yield Unfit("ESL083", message, hint, watch.span, pattern.text)


def ends_torchrun(script: JobScript, watch: Watch) -> Iterator[Unfit]:
    """Find patterns in lines that are printed before torchrun itself restarts its workers."""
    restarts, alone = _restarts(script), watch.detection.one_line()
    for pattern in alone.patterns if restarts and alone is not None else ():
        if any(found_in(pattern, line) for line in _WORKERS_LINES):
            times = f"{restarts} time{'' if restarts == '1' else 's'}"
            message = (
                f"torchrun starts its workers anew up to {times} (--max-restarts), and this is printed"
                " before: the rule ends the attempt first"
            )
            hint = "leave --max-restarts out, or watch for ChildFailedError, torchrun's last word"
            yield Unfit("ESL089", message, hint, watch.span, pattern.text)


def _restarts(script: JobScript) -> str:
    """Return how often torchrun restarts its workers; "" where it does not, or for an unknown number."""
    told = _TORCHRUN.search(script.text)
    if told is None or told[1]:
        return told[1] if told else ""
    number = re.search(rf"(?m)^[^#\n]*\b{told[2]}=(?:\$\{{{told[2]}:-)?[\"']?([1-9]\d*)", script.text)
    return number[1] if number else ""


def of_another_step(script: JobScript, watch: Watch) -> Iterator[Unfit]:
    """Find texts of several words that only another step prints."""
    for pattern in _own(script, watch):
        long = not pattern.regex and len(pattern.text) > _SHORT and " " in pattern.text.strip()
        for other in watch.others if long else ():
            if any(found_in(pattern, each.text) for each in other.samples):
                message = f"the step {other.step} prints this, which is another job"
                hint = f"declare the exception for {other.step}"
                yield Unfit("ESL096", message, hint, watch.span, pattern.text)
                return


def nearly(script: JobScript, watch: Watch) -> Iterator[Unfit]:
    """Find patterns that no line of the script has, and that one of its lines nearly has."""
    for pattern in _own(script, watch):
        found = next((said for each in script.samples for said in _near(pattern, each)), None)
        found = found or _over_two(pattern, (*_traceback(script, pattern), *script.samples))
        if found is not None:
            why, hint, line = found
            message = f"the script prints {line.strip()[:60]!r}: {why}"
            yield Unfit("ESL096", message, hint, watch.span, pattern.text)
            return


def alone_in_a_line(script: JobScript, watch: Watch) -> Iterator[Unfit]:
    """Find bash's words on a dead program where the line has to begin with them."""
    for pattern in _own(script, watch):
        bare = Pattern(text=pattern.text.lstrip("^").rstrip("$"), regex=True)
        for said in _SIGNALS if pattern.regex and pattern.text.startswith("^") and script.shell else ():
            line = _ENDED.format(said)
            if found_in(bare, said) and not found_in(pattern, line) and "bash" in script.lines[0]:
                message = f"bash says where and what it was: {line[:60]!r}"
                yield Unfit("ESL096", message, "leave ^ and $ out", watch.span, pattern.text)
                return


def other_case(script: JobScript, watch: Watch) -> Iterator[Unfit]:
    """Find messages of the system that are written in other letters, capital or small, than it prints."""
    every = [pattern for each in watch.exception.detections if (r := each.reads()) for pattern in r.patterns]
    for pattern in () if _SMALL.search(script.text) else _own(script, watch):
        said = next((each for each in _MESSAGES if each.lower() == pattern.text.lower()), None)
        if script.shell and said is not None and not any(found_in(each, said) for each in every):
            message = f"the system prints {said!r}: capital and small letters differ"
            hint = f'write MATCH "(?i){pattern.text}", or the same letters'
            yield Unfit("ESL096", message, hint, watch.span, pattern.text)


def language(script: JobScript, watch: Watch) -> Iterator[Unfit]:
    """Find patterns with the C library's English messages, where the script sets another language."""
    words = [word for each in script.always for word in (*each.words[1:], *each.variables)]
    other = next((found for word in words if (found := _LANGUAGE.match(word))), None)
    for pattern in _own(script, watch) if other is not None else ():
        if other is not None and any(found_in(pattern, line) for line in _MESSAGES):
            message = f"the script sets {other[0]}: messages of the system are in that language"
            yield Unfit("ESL096", message, "write export LC_ALL=C in the script", watch.span, pattern.text)
            return


def counted(script: JobScript, watch: Watch) -> Iterator[Unfit]:
    """Find counts and rates that the script's own loops do not reach, and lines that exclude each other."""
    reads, (least, within) = watch.detection.reads(), watch.detection.repeats()
    if reads is None:
        return
    by_pattern = [
        [each for each in script.samples if found_in(pattern, each.text) or found_in(pattern, each.written)]
        for pattern in reads.patterns
    ]
    said = reads.patterns[0].text
    if watch.detection.needs_all():
        for index, ones in enumerate(by_pattern):
            for others in by_pattern[:index]:
                if ones and others and all(_exclude(one, other) for one in ones for other in others):
                    message = f"the script prints {ones[0].written[:40]!r} or {others[0].written[:40]!r}"
                    hint = "write ANY, or one exception for each"
                    yield Unfit("ESL096", f"{message}, never both", hint, watch.span, said)
                    return
    lines = [each for group in by_pattern for each in group]
    if least < 2 or not lines:
        return
    times = [each.loop.times if each.loop is not None else 1 for each in lines]
    if all(times) and sum(times) < least:
        message = f"the script prints this {sum(times)} times at most, not {least}"
        yield Unfit("ESL084", message, "count to less", watch.span, said)
    pauses = [each.loop.pause for each in lines if each.loop is not None]
    if within is not None and len(pauses) == len(lines) == 1 and (least - 1) * pauses[0] > within:
        message = f"the script's loop prints this each {pauses[0]:g} s: {least} times take longer"
        yield Unfit("ESL084", message, f"write WITHIN {least * pauses[0]:g}", watch.span, said)


def _own(script: JobScript, watch: Watch) -> tuple[Pattern, ...]:
    """Return the patterns of streams that no line of the script's text has."""
    patterns = watch.heard.patterns if watch.heard is not None else ()
    found = script.names(patterns) or any(found_in(p, x.text) for p in patterns for x in script.samples)
    return () if found else patterns


def _near(pattern: Pattern, sample: Sample) -> Iterator[tuple[str, str, str]]:
    """Yield why a pattern does not find a line that it nearly finds, what to write, and the line."""
    text = plain(sample.text)
    for change, why, hint in _CHANGES:
        changed = change(pattern)
        if changed == pattern and text == sample.text:
            continue
        if changed is not None and _finds(changed, text) and _begun(pattern, changed, text):
            yield why, hint, sample.written
            return
    if pattern.regex and pattern.text in sample.text:
        why = "as an expression this text means another one"
        why += ": parentheses make a group" if re.search(r"(?<!\\)\(", pattern.text) else ""
        yield why, "write LOG, or a backslash before signs", sample.written
    digits = _DIGITS.sub(r"\\d+", pattern.text) if pattern.regex else pattern.text
    if digits != pattern.text and _finds(Pattern(text=digits, regex=True), sample.written):
        yield "the number has not so many digits", "write \\d+", sample.written
    if not pattern.regex and _alike(pattern.text, text):
        yield "it is spelled differently here", "write it as the script does", sample.written


def _begun(pattern: Pattern, changed: Pattern, text: str) -> bool:
    """Whether, for an expression without its ^, more than a value stands before what is found."""
    if not (pattern.regex and pattern.text.startswith("^") and changed.text == pattern.text[1:]):
        return True
    found = re.search(changed.text, text)
    before = text[: found.start()] if found is not None else ""
    return bool(before.strip(" 7")) or before.isspace()


def _finds(pattern: Pattern, line: str) -> bool:
    try:
        return found_in(pattern, line)
    except re.error:
        return False


def _same(pattern: Pattern) -> Pattern:
    return pattern


def _any_case(pattern: Pattern) -> Pattern:
    text = pattern.text if pattern.regex else re.escape(pattern.text)
    return Pattern(text=f"(?i){text.removeprefix('(?i)')}", regex=True)


def _anywhere(pattern: Pattern) -> Pattern | None:
    return Pattern(text=pattern.text[1:], regex=True) if pattern.regex and pattern.text[:1] == "^" else None


def _unended(pattern: Pattern) -> Pattern | None:
    ended = pattern.regex and re.search(r"(?<!\\)\$$", pattern.text)
    return Pattern(text=pattern.text[:-1], regex=True) if ended else None


_CHANGES: tuple[tuple[Callable[[Pattern], Pattern | None], str, str], ...] = (
    (_same, "colours stand between the words", "leave colours out, or write a part without them"),
    (_any_case, "capital and small letters differ", 'write MATCH "(?i)...", or the same letters'),
    (_anywhere, "more stands before it in the line", "leave ^ out"),
    (_unended, "more stands behind it in the line", "leave $ out"),
)


def _alike(text: str, line: str) -> bool:
    """Whether a part of a line is a text of nearly the same letters."""
    if len(text) < _SHORT or re.search(r"\d", text):
        return False
    words, count = line.split(), len(text.split())
    parts = [" ".join(words[at : at + count]) for at in range(max(1, len(words) - count + 1))]
    return any(
        difflib.SequenceMatcher(None, text.strip(), part).ratio() > _ALIKE and part[:_SHORT] for part in parts
    )


def _over_two(pattern: Pattern, lines: tuple[Sample, ...]) -> tuple[str, str, str] | None:
    """Return why an expression does not find what stands on two lines, None where it is not on two."""
    for one, other in itertools.pairwise(lines):
        if _finds(pattern, f"{one.text} {other.text}"):
            return (
                "the rest stands on the next line, and one line is looked at at a time",
                "write MULTIPLE",
                one.written,
            )
    return None


def _traceback(script: JobScript, pattern: Pattern) -> tuple[Sample, ...]:
    """Return the first and last line of a Python program's stack, with the exception of an expression."""
    name = re.search(r"\w*(?:Error|Exception|Interrupt)\b", pattern.text)
    if name is None or not script.python:
        return ()
    lines = ("Traceback (most recent call last):", f"{name[0]}: ")
    return tuple(Sample(line, line, script.python[0].command, False, None) for line in lines)


def _exclude(one: Sample, other: Sample) -> bool:
    """Whether two lines stand in different branches of one statement, outside any loop."""
    if one.loop is not None or other.loop is not None:
        return False
    arms = dict(one.command.place.arms)
    return any(arms.get(number, arm) != arm for number, arm in other.command.place.arms)
