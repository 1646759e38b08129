"""Checks of the streams that rules read: where a script sends its programs' output, and through what.

The arguments of a check are those of ``script.DetectionCheck``.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

from whesl.doctor.job_script.commands import OWN, UNKNOWN, Sink
from whesl.doctor.job_script.samples import PYTHON
from whesl.doctor.job_script.script import JobScript, Unfit, Watch, inner
from whesl.language.compiler.pattern_checks import found_in
from whesl.language.pattern_and_stream_records import Pattern, Stream
from whesl.model.hostlist import expand

# Commands of a pipe: those that hand no line on, and those that hand none on before the end, or soon none.
_TAKES = {"logger": "hands all lines to the system's log", "wc": "prints numbers alone"}
_HOLDS = {
    "tail": "prints nothing before the end",
    "sort": "prints nothing before the end",
    "tac": "prints nothing before the end",
    "head": "ends soon",
}
# Commands that keep what they print until 4 or 8 KiB are full, and the options by which they do not.
_BLOCKS = {
    "grep": r"--line-buffered",
    "egrep": r"--line-buffered",
    "sed": r"-\w*u\w*|--unbuffered|--line-buffered",
    "tr": "",
    "cut": "",
    "uniq": "",
    "awk": r".*fflush.*|-W|interactive",
    "gawk": r".*fflush.*",
    "mawk": r".*fflush.*|-W|interactive",
}
_LIVE = {"--no-capture-output", "--live-stream"}  # conda run hands lines on at once
_BUFFERED_SECONDS = 1800  # a timer so long is not met by a program that prints its output in blocks
_LOWER = re.compile(r"tr \W*(?:A-Z|:upper:)\W* \W*(?:a-z|:lower:)\W*")
# Lines on standard error that are not a program's own, and one that a program prints there.
_OF_OTHERS = (
    "job.sh: line 4: 4711 Segmentation fault (core dumped) ./app",
    "slurmstepd: error: *** JOB 1 ON n1 CANCELLED AT 2026-01-01T00:00:00 DUE TO TIME LIMIT ***",
    "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=1.batch. Some processes may have been killed",
    "Killed, Aborted, Bus error",
)
_ON_STDERR = "Traceback (most recent call last):"
_SUBMIT = {"sbatch": ("-W", "--wait"), "qsub": ("-W",), "bsub": ("-K",), "condor_submit": ()}
# Words of the launchers that only some of them print.
_ONLY_OF = (
    ("mpirun", r"^(?:mpirun|mpiexec|mpiexec\.hydra|orterun|prterun|prun|horovodrun|ibrun)$"),
    ("srun", r"^(?:srun|mpirun|mpiexec|mpiexec\.hydra|orterun|prterun|ibrun)$"),
)


def sent_elsewhere(script: JobScript, watch: Watch) -> Iterator[Unfit]:
    """Find streams to which nothing of the script's programs comes, and no line of the script's own."""
    reads = watch.detection.reads()
    if (reads is None and watch.detection.timer() is None) or (reads and reads.source.stream is Stream.FILE):
        return
    patterns, stream = (reads.patterns, reads.source.stream) if reads else ((), Stream.OUTPUT)
    stdout, stderr = script.facts.output
    both = stdout if reads is None or (not stderr.own and stderr.file != UNKNOWN) else stderr
    sink = {Stream.STDOUT: stdout, Stream.STDERR: stderr}.get(stream, both)
    if sink.own or sink.file == UNKNOWN or script.names(patterns):
        return
    said, file = patterns[0].text if patterns else "SILENCE", sink.file
    message = f"the script sends this output of {script.facts.program} to {file}: nothing of it comes here"
    hint = f'write file "{file}"' if patterns else f'write LOG "..." file "{file}" TIMEOUT'
    if file == "/dev/null":
        hint = "send it to a file, and watch that"
    yield Unfit("ESL096", message, hint, watch.span, said)


def filtered(script: JobScript, watch: Watch) -> Iterator[Unfit]:
    """Find pipes behind the programs out of which no line with a pattern comes, or none in time."""
    reads, timer = watch.heard, watch.detection.timer()
    if reads is None:
        return
    stream, output = reads.source.stream, script.facts.output
    through = output[stream is Stream.STDERR].through
    if stream is Stream.OUTPUT and not output.stderr.through:
        return
    soon = timer is not None and timer[0] < _BUFFERED_SECONDS
    within = script.names(reads.patterns)
    for words in through:
        why = "" if within else _loss(words, reads.patterns, timer is not None)
        hint = "keep a copy before it: | tee run.log, and watch that file"
        keeps = _BLOCKS.get(posixpath.basename(words[0]))
        at_once = any(re.fullmatch(keeps, word) for word in words[1:]) if keeps else False
        if not why and soon and keeps is not None and not at_once:
            why = "holds lines back until some KB are full"
            hint = f"write stdbuf -oL {words[0]}"
        if why:
            message = f"{words[0]} {why}: the lines of {script.facts.program} do not come here so"
            yield Unfit("ESL096", message, hint, watch.span, reads.patterns[0].text)
            return


def buffered(script: JobScript, watch: Watch) -> Iterator[Unfit]:
    """Find timers on what Python prints, where Python keeps it until 8 KB are full."""
    reads, timer = watch.detection.reads(), watch.detection.timer()
    if timer is None or timer[0] >= _BUFFERED_SECONDS or _unbuffered(script):
        return
    file = reads.source.path if reads is not None else None
    if reads is None or reads.source.stream not in (Stream.STDOUT, Stream.FILE):
        return
    if any(each.words[:2] == ("conda", "run") and not _LIVE & {*each.words} for each in script.always):
        hint = "write conda run --no-capture-output"
        yield Unfit(
            "ESL096", "conda run keeps all output until its end", hint, watch.span, reads.patterns[0].text
        )
        return
    own = {each.command for each in script.python}
    lines = [each for each in script.samples if any(found_in(p, each.text) for p in reads.patterns)]
    if any(each.command not in own for each in lines):
        return
    for each in script.programs:
        words, sink = inner(each, PYTHON), each.place.output.stdout
        there = sink.file == file if file is not None else sink.file == OWN[0]
        if words and there and not any(re.match(r"-[a-zA-Z]*u", word) for word in _options(words)):
            message = f"{' '.join(each.words[:2])[:40]} prints to a file, and Python keeps 8 KB back"
            hint = "write python -u, or export PYTHONUNBUFFERED=1"
            yield Unfit("ESL096", message, hint, watch.span, reads.patterns[0].text)
            return


def other_stream(script: JobScript, watch: Watch) -> Iterator[Unfit]:
    """Find patterns of lines that come on the other of two streams, which have files of their own."""
    reads = watch.detection.reads()
    error = script.option("error")
    if reads is None or not error or error == script.option("output") or not script.shell:
        return
    stream, output = reads.source.stream, script.facts.output
    if stream not in (Stream.STDOUT, Stream.STDERR):
        return
    own = {Stream.STDOUT: OWN[0], Stream.STDERR: OWN[1]}[stream]
    other = "stderr" if stream is Stream.STDOUT else "stdout"
    for pattern in reads.patterns:
        ways = {each.stream for each in script.samples if found_in(pattern, each.text)}
        merged = stream is Stream.STDERR and output.stderr.file == OWN[0]
        merged = merged and not any(found_in(pattern, line) for line in (*_OF_OTHERS, *script.lines))
        known = stream is Stream.STDOUT and output.stderr == Sink(OWN[1]) and script.facts.program
        if merged or (known and found_in(pattern, _ON_STDERR)) or (ways and ways <= set(OWN) - {own}):
            message = f"this comes on {other}, which has another file (#SBATCH --error)"
            yield Unfit("ESL096", message, f"write {other} or output", watch.span, pattern.text)
            return


def in_another_job(script: JobScript, watch: Watch) -> Iterator[Unfit]:
    """Find lines of a program that another job runs, or that runs on when its script has ended."""
    reads, timer = watch.detection.reads(), watch.detection.timer()
    if (reads is None and timer is None) or (reads and reads.source.stream is Stream.FILE):
        return
    patterns = reads.patterns if reads is not None else ()
    if script.names(patterns):
        return
    said = patterns[0].text if patterns else "SILENCE"
    for each in script.always:
        waits = _SUBMIT.get(each.name)
        if waits is not None and not script.programs and not any(x.startswith(waits) for x in each.words[1:]):
            message = f"{each.name} starts another job, whose output comes to a file of its own"
            yield Unfit("ESL096", message, "let whesl run have that job's script", watch.span, said)
            return
    left = [each for each in script.programs if each.place.background]
    waited = any(each.name in ("wait", "fg") for each in script.commands)
    if left and left == script.programs and not waited and script.always[-1] is left[-1]:
        message = f"the script ends without waiting for {' '.join(left[-1].words[:2])}"
        yield Unfit("ESL096", message, "write wait $! as its last line", watch.span, said)


def of_another_launcher(script: JobScript, watch: Watch) -> Iterator[Unfit]:
    """Find patterns of lines that only a launcher prints, where the script does not call that launcher."""
    reads = watch.heard
    if reads is None or not script.programs or script.names(reads.patterns):
        return
    for launcher, callers in _ONLY_OF:
        words = [pattern.text for pattern in reads.patterns if re.match(rf"\^?{launcher}\b", pattern.text)]
        daemons = all(re.search("daemon|noticed that process", each.text) for each in reads.patterns)
        library = watch.detection.span.file == "<openmpi>" and launcher == "mpirun" and daemons
        called = any(re.match(callers, word.rpartition("/")[2]) for word in script.words())
        strange = len(words) == len(reads.patterns) or library
        if strange and not called and not re.search(r"\.sh\b", " ".join(script.words())):
            message = f"{launcher} is not called in the script: its words are never printed"
            who = f"watch for what {script.programs[-1].words[0]} prints"
            yield Unfit("ESL096", message, who, watch.place, watch.exception.name if library else words[0])
            return


def of_the_kernel(script: JobScript, watch: Watch) -> Iterator[Unfit]:
    """Find lines of the kernel that are looked for in a job's output."""
    if watch.heard is not None and watch.span.file == "<kernel>":
        message = f"{watch.exception.name} is in the kernel's log, which is no part of a job's output"
        hint = 'INCLUDE "kernel" file "/var/log/messages", where users may read it'
        yield Unfit("ESL096", message, hint, watch.place, watch.exception.name)


def _unbuffered(script: JobScript) -> bool:
    """Whether the script, or a Python program in it, has its output written at once."""
    words = r"PYTHONUNBUFFERED|\bstdbuf\b|\bunbuffer\b|flush\s*=\s*True|\.flush\(\)|\bscript -"
    texts = (script.text, *(each.command.given for each in script.python))
    return any(re.search(words, text) for text in texts)


def _options(words: Sequence[str]) -> list[str]:
    """Return the options of an interpreter: those before its first other word."""
    end = next((n for n, word in enumerate(words[1:], 1) if not word.startswith("-")), len(words))
    return list(words[1:end])


def _loss(words: Sequence[str], patterns: Sequence[Pattern], timed: bool) -> str:
    """Return what a command of a pipe does so that no line with a pattern comes out of it, or ""."""
    name, options = posixpath.basename(words[0]), [word for word in words[1:] if word.startswith("-")]
    texts = [word for word in words[1:] if not word.startswith("-")]
    if name in _TAKES:
        return _TAKES[name]
    if timed and name in _HOLDS and not any(re.match(r"-\w*[fF]|--follow", each) for each in options):
        return _HOLDS[name]
    if name == "grep" and len(texts) == 1 and not any(each.regex for each in patterns):
        plain = re.fullmatch(r"[\w :-]+", texts[0])
        if plain and any(re.fullmatch(r"-\w*v\w*|--invert-match", x) for x in options):
            return "takes them out" if all(texts[0] in each.text for each in patterns) else ""
        if plain and not any(re.fullmatch(r"-\w*[vicoflqLABC]\w*|--.*", x) for x in options):
            other = not any(texts[0] in each.text or each.text in texts[0] for each in patterns)
            return f"hands on only lines with {texts[0]!r}" if other else ""
    put = (
        re.fullmatch(r"s(\W)([\w :=-]+)\1([^\\&]*)\1g?", texts[0])
        if name == "sed" and len(texts) == 1
        else None
    )
    if put and not any(
        each.regex or put[2] not in each.text or each.text in each.text.replace(put[2], put[3])
        for each in patterns
    ):
        return f"writes {put[3]!r} in place of {put[2]!r}"
    if _LOWER.fullmatch(" ".join(words)):
        capitals = all(re.search("[A-Z]", re.sub(r"\\.|\(\?.*", "", each.text)) for each in patterns)
        return "makes all letters small" if capitals else ""
    return _begun(words, texts, patterns)


def _begun(words: Sequence[str], texts: Sequence[str], patterns: Sequence[Pattern]) -> str:
    """Return the text that a command puts before each line; "" unless all patterns begin with ^."""
    name = posixpath.basename(words[0])
    if not all(each.regex and re.match(r"\^[\w ]", each.text) for each in patterns):
        return ""
    begun = re.fullmatch(r"s(.)\^\1([^\\&]+)\1g?", texts[0]) if name == "sed" and len(texts) == 1 else None
    label = begun and re.match(r"(?:\d+:|\[(?:\d+(?:,\d+)?|default\d+|rank\d+)\])", begun[2])
    if begun and not label and all(each.text[1] != begun[2][0] for each in patterns):
        return f"begins each line with {begun[2]!r}, so that ^ finds nothing"
    dated = name == "ts" or (name in ("awk", "gawk") and re.search(r"print\s+strftime", " ".join(words)))
    if dated or name == "nl" or (name == "cat" and words[1:2] == ("-n",)):
        return f"begins each line with a {'date' if dated else 'number'}, so that ^ finds nothing"
    return ""


def unlabelled(script: JobScript, watch: Watch) -> Iterator[Unfit]:
    """Find expressions that begin with the label of srun -l, where srun prints none."""
    reads, line = watch.detection.reads(), " ".join(word for word in script.words())
    calls = [each.words for each in script.programs if each.name == "srun"]
    labelled = any(re.match(r"-\w*l|--label", word) for words in calls for word in words)
    if reads is None or not calls or labelled or "LABELIO" in script.text or "sed" in line:
        return
    for pattern in reads.patterns if len(calls) == len(script.programs) else ():
        if pattern.regex and re.match(r"\^\(\?P<\w*rank\w*>\\d\+?\):", pattern.text):
            message = "srun puts the rank before a line with -l alone"
            yield Unfit("ESL096", message, "write srun -l, or leave the label out", watch.span, pattern.text)


def without_gpu(script: JobScript, watch: Watch) -> Iterator[Unfit]:
    """Find causes that only a GPU has, where the job asks for none."""
    causes = [each.value for each in watch.detection.causes()]
    named = [each for each in causes if each.startswith("gpu")]
    asks = script.option("partition") or re.search(r"(?i)gpu|gres|nvidia|cuda|hip|rocm", script.text)
    if named and named == causes and script.header and not asks:
        message = "the job asks for no GPU: no failure of it has this cause"
        yield Unfit("ESL095", message, "write #SBATCH --gpus, or leave it out", watch.span, named[0])


def hears_manager(script: JobScript, watch: Watch) -> Iterator[Unfit]:
    """Find exceptions of the resource manager where Slurm, which has none, runs the job."""
    if not script.header or "flux" in script.text:
        return
    if watch.detection.hears_manager:
        message = "Slurm raises no exceptions on jobs: nothing is ever detected this way"
        yield Unfit("ESL095", message, "watch for lines, exits or nodes", watch.span, "JOB EXCEPTION")
    if watch.exception.raises is not None and watch.exception.detections[:1] == (watch.detection,):
        message = "Slurm has no exceptions on jobs: RAISE does nothing"
        yield Unfit("ESL095", message, "leave it out", watch.exception.span, "RAISE")


def other_nodes(script: JobScript, watch: Watch) -> Iterator[Unfit]:
    """Find predictions for nodes that the job's list of nodes has not."""
    glob, listed = watch.detection.nodes(), script.option("nodelist")
    if glob is None or not listed:
        return
    try:
        names = expand(listed)
    except ValueError:
        return
    if names and not any(fnmatchcase(name, glob) for name in names):
        message = f"the job runs on {listed} (#SBATCH --nodelist) alone"
        yield Unfit("ESL095", message, "name one of these, or leave NODE out", watch.span, glob)
