"""Specifications that tests share: the printed ones, one of every form, and a generator of valid ones."""

from __future__ import annotations

from pathlib import Path

from hypothesis import strategies as st

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = {path.name: path.read_text("utf-8") for path in sorted((ROOT / "examples").glob("*.esl"))}
PRINTED = ("disk-quota.esl", "crash.esl", "hang.esl")

HEADER = """\
DECLARE ENTITY SCHEDULER, WMS, JOB, DEPENDENT_JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL, WORKFLOW_LEVEL
DECLARE RESOURCE NODE[ADD, REMOVE, REPLACE]
DECLARE RESOURCE FILESYSTEM[ADD HANDLER "own.handler", REMOVE, REPLACE]
DECLARE RESOURCE JOB[ADD, REMOVE, REPLACE, CHECKPOINT]
DECLARE EXCEPTION E WORKFLOW_LEVEL JOB [run] ELSE FAIL
DECLARE EXCEPTION LOW JOB_LEVEL JOB [run] ELSE FAIL
EXCEPTION DETECTION LOW EXIT CODE 1
"""
DETECT = "EXCEPTION DETECTION E "
RECOVER = "EXCEPTION RECOVERY STEP E "

# All detection forms, after "EXCEPTION DETECTION E ".
DETECTIONS = (
    'LOG "text" stdout',
    'LOG "text" stderr RECURRING 3',
    'LOG "text" output',
    'MATCH "a(?P<b>\\d+)" file "x/y.log" RECURRING 3 WITHIN 1.5',
    'MULTIPLE ["aa", MATCH "b+", LOG "cc"] stdout',
    'MULTIPLE ["aa", "bb"] stderr WITHIN 10',
    'ANY ["aa"] file "f"',
    'ANY ["aa", "bb"] stdout RECURRING 2 WITHIN 9',
    'LOG "cycle = " stdout TIMEOUT 120',
    'HANG MATCH "cycle = \\d" stderr TIMEOUT 120 WARMUP 0',
    "EXTERNAL",
    "PREDICTED",
    'PREDICTED NODE "n0*" WITHIN 60 CONFIDENCE 0.8',
    "SILENCE TIMEOUT 60",
    "SILENCE TIMEOUT 60.5 WARMUP 10",
    "SILENCE TIMEOUT 600 STOPPED",
    'PROGRESS "step (\\d+)" stdout TIMEOUT 5',
    'PROGRESS MATCH "(x) (?P<n>\\d+)" file "f" TIMEOUT 5 WARMUP 2',
    "EXIT ANY",
    "EXIT ANY EXCEPT CODE 2, 126-127",
    "EXIT CODE 1, 3-5",
    "EXIT SIGNAL SIGSEGV, BUS, 9",
    "CAUSE gpu-hardware",
    'CAUSE segfault/app-bug, "licence", time-limit CONFIDENCE 0.7',
    'OUTPUT "out/*.nc" MISSING',
    'OUTPUT "out.nc" EMPTY',
    'OUTPUT "out/*.nc" OLDER THAN "in/*"',
    'OUTPUT "run.log" NOT MATCH "^Normal +termination"',
    'OUTPUT "$RUN/log" NOT LOG "Total"',
    'SUCCESS IF OUTPUT "out/*.nc"',
    'SUCCESS IF OUTPUT "out/*.nc" NOT EMPTY',
    'SUCCESS IF OUTPUT "out/*.nc" NEWER THAN "in/*"',
    'SUCCESS IF OUTPUT "run.log" MATCH "^Done"',
    "NODE DOWN",
    "NODE DRAINED",
    'JOB EXCEPTION "exec"',
    'JOB EXCEPTION "node-failure" SEVERITY 2',
    'DISK "/a" ABOVE 90%',
    'INODES "/a" ABOVE 90.5 %',
    'QUOTA "/a" ABOVE 1%',
    "EXCEPTION LOW 3 TIMES",
    "EXCEPTION LOW 3 TIMES WITHIN 100",
)


def big(kilobytes: int) -> str:
    """Return a valid specification of many different statements, of at least this size."""
    parts = [HEADER, f"{DETECT}EXIT ANY\n"]
    size = len(HEADER)
    number = 0
    while size < kilobytes * 1000:
        name = f"FAULT-{number}"
        part = (
            f"# fault number {number}\n"
            f"DECLARE EXCEPTION {name} WORKFLOW_LEVEL JOB [run-{number}, post.{number}-*] LIMIT 3 WITHIN 60\n"
            f'EXCEPTION DETECTION {name} LOG "error number {number} in stage" stdout\n'
            f'EXCEPTION DETECTION {name} MATCH "rank (?P<rank>\\d+) of {number} died" stderr RECURRING 2\n'
            f"EXCEPTION DETECTION {name} EXIT CODE 1, 3-5\n"
            f'EXCEPTION RECOVERY STEP {name} JOB JOB.REPLACE {{"environment": {{"N": "{number}"}},\n'
            f'    "command": ["./run", "--node", "${{node}}"], "nodes": {number + 1}}}\n'
            f"EXCEPTION RECOVERY STEP {name} WMS NODE.REPLACE\n"
        )
        parts.append(part)
        size += len(part)
        number += 1
    return "".join(parts)


KEYWORDS_AS_NAMES = ("HANG", "LOG", "LIMIT", "DECLARE", "EXCEPTION", "TIMES", "stdout", "JOB", "ELSE", "STEP")
names = st.one_of(
    st.from_regex(r"[A-Za-z_][A-Za-z0-9_-]{0,8}", fullmatch=True), st.sampled_from(KEYWORDS_AS_NAMES)
)
_jobs = st.one_of(
    st.from_regex(r"[A-Za-z0-9*?_][A-Za-z0-9*?_.-]{0,8}", fullmatch=True),
    names,
    st.text(st.characters(exclude_characters='"\\\r\n', exclude_categories=("Cs", "Cc")), min_size=1)
    .filter(str.strip)
    .map(lambda text: f'"{text}"'),
)
_numbers = st.integers(1, 10**6).map(str)
_seconds = st.one_of(_numbers, st.from_regex(r"[1-9][0-9]?\.[0-9]{1,3}", fullmatch=True))


@st.composite
def _within(draw: st.DrawFn) -> str:
    return draw(st.one_of(st.just(""), _seconds.map(lambda s: f" WITHIN {s}")))


@st.composite
def _clauses(draw: st.DrawFn, others: list[str]) -> str:
    clauses = [
        draw(_numbers.map(lambda n: f"LIMIT {n}"))
        + draw(st.sampled_from(["", " WITHOUT PROGRESS"]))
        + draw(_within()),
        draw(_seconds.map(lambda s: f"BACKOFF {s}")),
        "ELSE " + draw(st.sampled_from(["FAIL", "PAUSE", "ESCALATE", *(f"ESCALATE {o}" for o in others)])),
    ]
    chosen = draw(st.lists(st.sampled_from(clauses), unique=True))
    return "".join(f" {clause}" for clause in chosen)


@st.composite
def specifications(draw: st.DrawFn) -> str:
    """A valid specification with any names, in any order, with any blanks."""
    exceptions = draw(st.lists(names, unique=True, min_size=1, max_size=4))
    lines = [
        "DECLARE ENTITY SCHEDULER, WMS, JOB, DEPENDENT_JOB",
        "DECLARE EXCEPTION_TYPE JOB_LEVEL, WORKFLOW_LEVEL",
        'DECLARE RESOURCE NODE[ADD, REMOVE HANDLER "h", REPLACE]',
        "DECLARE RESOURCE JOB[REPLACE]",
    ]
    for number, name in enumerate(exceptions):
        level = draw(st.sampled_from(["JOB_LEVEL", "WORKFLOW_LEVEL"]))
        jobs = ", ".join(draw(st.lists(_jobs, min_size=1, max_size=3)))
        # Escalation and counting go to later ones only, so that there are no circles.
        clauses = draw(_clauses(exceptions[number + 1 :]))
        lines.append(f"DECLARE EXCEPTION {name} {level} JOB [{jobs}]{clauses}")
        forms = [form for form in DETECTIONS if not form.startswith("EXCEPTION")]
        forms += [f"EXCEPTION {later} 2 TIMES" for later in exceptions[number + 1 :]]
        for form in draw(st.lists(st.sampled_from(forms), min_size=1, max_size=3)):
            lines.append(f"EXCEPTION DETECTION {name} {form}")
        lines.append(f"EXCEPTION RECOVERY STEP {name} JOB NODE.REPLACE")
        lines.append(f'EXCEPTION RECOVERY STEP {name} JOB NODE.REMOVE {{"any": [{{"x": null}}, 1.5]}}')
    lines = draw(st.permutations(lines))
    end = draw(st.sampled_from(["\n", "\r\n", "\n\n", "  \n", " # why \\\n", "\n\t# whole line\n"]))
    blank = draw(st.sampled_from([" ", "  ", "\t", " \\\n ", "\\\r\n\t"]))
    # Blanks inside quotes are left alone: every second piece between quotes is a text.
    text = end.join(lines)
    pieces = text.split('"')
    pieces[::2] = ["\n".join(_respace(line, blank) for line in piece.split("\n")) for piece in pieces[::2]]
    return '"'.join(pieces) + draw(st.sampled_from(["", end]))


def _respace(line: str, blank: str) -> str:
    code, mark, comment = line.partition("#")
    lead = code[: len(code) - len(code.lstrip())]
    return (
        lead + blank.join(code.strip(" ").split(" ")) + (" " if code.endswith(" ") else "") + mark + comment
    )
