"""Rules that are well formed and cannot work: each is a warning at its words, and sound ones are none."""

from __future__ import annotations

import pytest

from tests.language.corpus import DETECT, EXAMPLES, HEADER, RECOVER
from tests.language.test_checks import findings, under
from whesl import language
from whesl.language.diagnostics import Severity
from whesl.model.workflow import Task, Workflow

ALL = (
    "DECLARE EXCEPTION ALL WORKFLOW_LEVEL JOB [*] ELSE FAIL\n"
    f"{DETECT}EXIT CODE 1\n"
    "EXCEPTION RECOVERY STEP ALL JOB JOB.REPLACE\n"
    "EXCEPTION DETECTION ALL "
)
DISK = f'{DETECT}EXIT CODE 1\n{RECOVER}JOB FILESYSTEM.REPLACE {{"filesystem": %s, "defaultpath": "%s"}}\n'

# Text after HEADER; code; the words under the caret; a part of the hint.
CASES = [
    (f'{DETECT}MATCH "." stdout', "ESL056", '"."', "SILENCE"),
    (f'{DETECT}MATCH ".+" stderr RECURRING 3', "ESL056", '".+"', ""),
    (f'{DETECT}MATCH "\\w" output', "ESL056", '"\\w"', ""),
    (f'{DETECT}MATCH "\\d+" file "f"', "ESL056", '"\\d+"', ""),
    (f'{DETECT}MULTIPLE ["fatal", MATCH "[^#]"] stdout', "ESL056", '"[^#]"', ""),
    (f'{DETECT}MATCH "^.*$|x" stdout', "ESL051", '"^.*$|x"', ""),
    (f'{DETECT}LOG "error.*failed" stdout', "ESL057", '"error.*failed"', "MATCH"),
    (f'{DETECT}LOG "rank \\d+ died" stdout', "ESL057", '"rank \\d+ died"', "MATCH"),
    (f'{DETECT}LOG "(fatal|panic)" stdout', "ESL057", '"(fatal|panic)"', "MATCH"),
    (f'{DETECT}LOG "^Killed" stdout', "ESL057", '"^Killed"', "MATCH"),
    (f'{DETECT}LOG "node[0-9] is lost" stdout', "ESL057", '"node[0-9] is lost"', "MATCH"),
    (f'{DETECT}LOG "a\\nb" stdout', "ESL057", '"a\\nb"', "MULTIPLE"),
    (f'{DETECT}HANG LOG "cycle.*" stdout TIMEOUT 60', "ESL057", '"cycle.*"', "MATCH"),
    (f'{DETECT}LOG "cycle" stdout TIMEOUT 60\n{DETECT}LOG "cycle" output', "ESL058", '"cycle"', "TIMEOUT"),
    (f'{DETECT}LOG "cycle = " stdout TIMEOUT 60\n{DETECT}LOG "cycle" stdout', "ESL058", '"cycle"', ""),
    (
        f'{DETECT}PROGRESS "step (\\d+) of" stdout TIMEOUT 60\n{DETECT}MATCH "step \\d+ of" stdout',
        "ESL058",
        '"step \\d+ of"',
        "",
    ),
    (
        f'{DETECT}PROGRESS "cycle (?P<n>\\d+)" output TIMEOUT 60\n{DETECT}MATCH "cycle (?P<n>\\d+)" stdout',
        "ESL058",
        '"cycle (?P<n>\\d+)"',
        "",
    ),
    (
        f'EXCEPTION DETECTION LOW LOG "oops" stdout\n{DETECT}LOG "oops" stdout RECURRING 3',
        "ESL059",
        '"oops"',
        "EXCEPTION DETECTION E EXCEPTION LOW 3 TIMES",
    ),
    (
        f'EXCEPTION DETECTION LOW LOG "oops" output\n{DETECT}MULTIPLE ["oops 3", "fatal"] stderr',
        "ESL059",
        '"oops 3"',
        "",
    ),
    *(
        (f'{DETECT}LOG "{text}" stdout', "ESL057", f'"{text}"', hint)
        for text, hint in (
            ("*error*", "anywhere in a line"),
            ("error*", "anywhere in a line"),
            ("*.log failed", "anywhere in a line"),
            ("solver*failed", "anywhere in a line"),
            ("error|fatal", "MATCH"),
            ("solver failed|no convergence", "MATCH"),
            ("FAILED$", "MATCH"),
            ("/fatal/i", "MATCH"),
            ("%d ranks died", "MATCH"),
            ("[Ee]rror in the mesh", "MATCH"),
            ("err?or in the mesh", "MATCH"),
            ("/mesh is broken/", "MATCH"),
            ("rank {n} died", "MATCH"),
            ("rank <n> died", "MATCH"),
            ("'mesh is broken'", "inner quotes"),
            ("$USER is over quota", "variables"),
            ("job ${SLURM_JOB_ID} died", "variables"),
            ("rank\\tdied", "MATCH"),
            ("\\033[31mfatal", "MATCH"),
        )
    ),
    *(
        (f"{DETECT}{pattern} stdout", "ESL056", pattern.split(" ", 1)[1], "")
        for pattern in (
            'LOG "e"',
            'LOG "="',
            'LOG "["',
            'LOG "er"',
            'MATCH "[ERROR]"',
            'LOG ":"',
            'LOG "."',
            'MATCH " "',
            'MATCH "\\d+\\.\\d+"',
            'MATCH "[a-z]"',
        )
    ),
    *(
        (f'{DETECT}LOG "oops" file "{path}"', "ESL091", f'"{path}"', hint)
        for path, hint in (
            ("slurm-%j.out", "$SLURM_JOB_ID"),
            ("{job}.log", "$SLURM_JOB_NAME"),
            ("run.log|grep oops", "alone"),
            ("> run.log", "alone"),
            ("..", "the file's name"),
            ("run-%A_%a.log", "$SLURM_JOB_ID"),
            ("%HOME%/run.log", "$SLURM_JOB_ID"),
            ("$(pwd)/run.log", "commands"),
            ("`hostname`.log", "commands"),
            ("${RUN", "${NAME}"),
            ("run_{SLURM_JOB_ID}.log", "${NAME}"),
            ("{a,b}.log", "each of the names"),
            ("~other/run.log", "home"),
            ("file:///scratch/run.log", "file system"),
            ("login1:/scratch/run.log", "file system"),
            (" run.log", "blank"),
            ("stdout", "leave out file"),
            ("/dev/stderr", "stdout"),
            ("-", "stdout"),
            ("run.log.gz", "as text"),
            ("logs/", "file's name"),
            ("*", "only the log has"),
            ("$HOME/*.*", "only the log has"),
            ("**/run.log", "each depth"),
            ("'run.log'", "quotes"),
            ("my\\ run.log", "as it is"),
            ("run.log,other.log", "each of the names"),
            ("field.h5", "as text"),
        )
    ),
    (f'{DETECT}OUTPUT "out-%j.nc" MISSING', "ESL091", '"out-%j.nc"', "$SLURM_JOB_ID"),
    (f'{DETECT}OUTPUT "o.nc" OLDER THAN "$(pwd)/i.nc"', "ESL091", '"$(pwd)/i.nc"', "commands"),
    (f'{DETECT}OUTPUT "run.log" NOT LOG "^Done"', "ESL057", '"^Done"', "MATCH"),
    (f'{DETECT}SUCCESS IF OUTPUT "run.log" LOG "Done.*"', "ESL057", '"Done.*"', "MATCH"),
    (DISK % ('"/b/%j"', "/a"), "ESL091", '"/b/%j"', "$SLURM_JOB_ID"),
    (f'{DETECT}MULTIPLE ["solver failed", "solver"] output', "ESL055", '"solver"', "the other line"),
    (f'{DETECT}OUTPUT "o.nc" OLDER THAN "o.nc"', "ESL091", '"o.nc"', "made of"),
    (f"{DETECT}SILENCE TIMEOUT 1", "ESL069", "1", "seconds"),
    (f'{DETECT}HANG LOG "cycle" output TIMEOUT 1', "ESL069", "1", "seconds"),
    (f'{DETECT}PROGRESS "cycle (\\d+)" output TIMEOUT 4', "ESL069", "4", "seconds"),
    *(
        (f'{DETECT}PROGRESS "{text}" output TIMEOUT 60', "ESL054", f'"{text}"', "the number")
        for text in ("cycle ([a-z]+)", "(done)", "clock (\\d+:\\d+)")
    ),
    *(
        (f"{DETECT}EXIT CODE {codes}\n{RECOVER}JOB JOB.REPLACE", "ESL048", codes, "1-125")
        for codes in ("1-255", "100-126")
    ),
    (DISK % ('"/a"', "/a/"), "ESL079", '"/a"', "another file system"),
    (DISK % ('["/c", "/a/b"]', "/a"), "ESL079", '"/a/b"', ""),
    (DISK % ('"/a"', "/a/b"), "ESL079", '"/a"', ""),
    (f'{DETECT}DISK "/a" ABOVE 1%', "ESL080", "1", "did you mean 99%?"),
    (f'{DETECT}QUOTA "/a" ABOVE 0.9%', "ESL080", "0.9", "did you mean 90%?"),
    (f'{ALL}LOG "oops" file "/shared/run.log"', "ESL082", '"/shared/run.log"', "relative"),
    (f'{ALL}LOG "oops" file "~/run.log"', "ESL082", '"~/run.log"', ""),
    (f'{DETECT}LOG "Job step aborted" output\n{RECOVER}JOB JOB.REPLACE', "ESL083", '"Job step aborted"', ""),
    (
        f'{DETECT}LOG "safe mode" output\n{RECOVER}JOB JOB.REPLACE {{"command": ["./app", "safe mode"]}}',
        "ESL083",
        '"safe mode"',
        "only the fault",
    ),
    (
        f'{DETECT}LOG "retry" output\n{RECOVER}JOB JOB.REPLACE {{"environment": {{"MODE": "retry"}}}}',
        "ESL083",
        '"retry"',
        "",
    ),
    (f"{DETECT}EXCEPTION LOW 5 TIMES", "ESL084", "5", "LIMIT 4"),
    *(
        (f"{DETECT}{form}", code, word, hint)
        for form, code, word, hint in (
            ("EXIT SIGNAL SEGV, 11", "ESL093", "11", "leave one"),
            ("EXIT CODE 3-5, 4", "ESL093", "4", "leave one"),
            ("EXIT SIGNAL WINCH", "ESL095", "WINCH", "SEGV"),
            ("EXIT ANY EXCEPT CODE 1-100, 101-255", "ESL095", "ANY", "leave out"),
            ("CAUSE quota, quota", "ESL093", "quota", "leave one"),
            ("CAUSE quota CONFIDENCE 1", "ESL094", "1", ""),
            ('OUTPUT "*" MISSING', "ESL095", '"*"', "names"),
            ('OUTPUT "out/a.nc" OLDER THAN "out/*"', "ESL095", '"out/*"', "made of"),
            ('DISK "/a" ABOVE 10%', "ESL080", "10", "percentage"),
            ('JOB EXCEPTION "Node_Failure"', "ESL095", '"Node_Failure"', '"node-failure"'),
            ('MULTIPLE ["solver failed"] output', "ESL055", '"solver failed"', "another one"),
            ('ANY ["solver failed", "solver"] output', "ESL055", '"solver"', "the other line"),
            ("EXCEPTION LOW 2 TIMES WITHIN 0.1", "ESL094", "0.1", ""),
        )
    ),
    *(
        (f"{DETECT}{form}\n{RECOVER}{step}", code, word, hint)
        for form, step, code, word, hint in (
            ("CAUSE missing-dependency", "JOB NODE.REPLACE", "ESL048", "E", "mend"),
            ("CAUSE time-limit", 'JOB JOB.REPLACE {"environment": {"A": "1"}}', "ESL048", "E", "SCHEDULER"),
            ('JOB EXCEPTION "cancel"', "JOB JOB.REPLACE", "ESL048", "E", "SCHEDULER"),
            (
                'LOG "DUE TO TIME LIMIT" stderr',
                "JOB JOB.REPLACE",
                "ESL048",
                '"DUE TO TIME LIMIT"',
                "SCHEDULER",
            ),
            ('LOG "No module named" stderr', "JOB JOB.REPLACE", "ESL048", '"No module named"', "JOB.ADD"),
            ("EXIT CODE 7", "JOB JOB.CHECKPOINT", "ESL095", "CHECKPOINT", "leave"),
            ("EXIT CODE 7", "JOB NODE.REPLACE BEFORE FAILURE", "ESL095", "BEFORE", "PREDICTED"),
            ("EXIT CODE 7", f"JOB NODE.REPLACE\n{RECOVER}JOB NODE.REPLACE", "ESL093", "REPLACE", "leave"),
            ("EXIT CODE 7", f"JOB NODE.REPLACE\n{RECOVER}JOB NODE.REMOVE", "ESL095", "REMOVE", "leave"),
            ("EXIT CODE 7", "DEPENDENT_JOB NODE.REPLACE", "ESL049", "REPLACE", "NODE.REMOVE"),
            ("EXIT CODE 7", 'JOB NODE.REPLACE {"node": "n01"}', "ESL095", '"n01"', "suspect"),
            ("EXIT CODE 7", 'JOB NODE.ADD {"count": 5000}', "ESL094", "5000", "spares"),
            ("EXIT CODE 7", 'SCHEDULER JOB.REPLACE {"memory": "64"}', "ESL094", '"64"', "memory"),
            ("EXIT CODE 7", 'JOB JOB.ADD {"command": ["./a --b"]}', "ESL092", '"./a --b"', "each word"),
            ("EXIT CODE 7", 'JOB JOB.ADD {"command": ["sh", "-c", "rm", "x"]}', "ESL092", '"rm"', "one text"),
            ("EXIT CODE 7", 'JOB JOB.REPLACE {"environment": {"PATH": ""}}', "ESL095", '"PATH"', "value"),
            (
                "EXIT CODE 7",
                'JOB JOB.REPLACE {"environment": {"SLURM_JOB_ID": "1"}}',
                "ESL095",
                '"SLURM_JOB_ID"',
                "",
            ),
            (
                "EXIT CODE 7",
                'JOB JOB.REPLACE {"attempts": [{"nodes": 2}, {"nodes": 2}]}',
                "ESL093",
                '"attempts"',
                "",
            ),
            (
                "EXIT CODE 7",
                'JOB JOB.REPLACE {"attempts": [{"nodes": 5}, {"nodes": 4}, {"nodes": 3}, {"nodes": 2}]}',
                "ESL084",
                '"attempts"',
                "LIMIT 4",
            ),
            (
                'DISK "/a" ABOVE 90%',
                'JOB JOB.CHECKPOINT {"trigger": "/a/*"}',
                "ESL091",
                '"/a/*"',
                "whole name",
            ),
        )
    ),
    (f"{DETECT}EXIT CODE 7\n{DETECT}EXIT CODE 7", "ESL093", "E", "leave it out"),
    *(
        (
            f"DECLARE EXCEPTION X JOB_LEVEL JOB {jobs}\nEXCEPTION DETECTION X NODE DOWN\n{DETECT}EXIT CODE 7",
            code,
            at,
            "",
        )
        for jobs, code, at in (
            ("[run, run] ELSE FAIL", "ESL093", "run"),
            ("[run-a, run-*] ELSE FAIL", "ESL093", "run-a"),
            ("[run] LIMIT 9000 ELSE FAIL", "ESL094", "9000"),
            ("[run] LIMIT 5 WITHIN 60 BACKOFF 30 ELSE FAIL", "ESL084", "60"),
            ("[a] ELSE ESCALATE E", "ESL084", "E"),
            ('[run] ELSE FAIL RAISE "timeout"', "ESL095", '"timeout"'),
        )
    ),
    (f"{DETECT}EXIT CODE 1\nDECLARE COUPLED JOB [run, .*]", "ESL092", ".*", "any characters"),
    (f"{DETECT}EXIT CODE 1\nDECLARE COUPLED JOB [run]", "ESL090", "COUPLED", "two steps"),
]
SOUND = [
    f'{DETECT}LOG "NaN" stdout',
    f'{DETECT}LOG "*ERROR in e_c3d" stdout',  # CalculiX
    f'{DETECT}LOG "100% of the disk is used" stdout',
    f'{DETECT}LOG "executable file not found in $PATH" stderr',
    f'{DETECT}LOG "oops" file "run-$SLURM_JOB_ID.log"',
    f'{DETECT}LOG "oops" file "logs/${{SLURM_JOB_ID}}_out"',
    f'{DETECT}LOG "oops" file "50%.log"',
    f'{DETECT}LOG "oops" file "/dev/shm/run.log"',
    f'{DETECT}OUTPUT "out.tar.gz" MISSING',
    f'{DETECT}MULTIPLE ["solver failed", "memory is short"] output',
    f'{DETECT}HANG MATCH "." output TIMEOUT 60',
    f'{DETECT}MATCH "[aeiou]{{4}}" stdout',
    f'{DETECT}LOG "oops" file "logs/*"',
    f'{DETECT}LOG "oops" file "my run.log"',
    f'{DETECT}PROGRESS "t = ([0-9.Ee+-]+) " output TIMEOUT 60',
    f'{DETECT}PROGRESS "step (1\\d*)$" output TIMEOUT 60',
    f"{DETECT}EXIT CODE 126, 127, 3-5\n{RECOVER}JOB JOB.REPLACE",
    f'{DETECT}MATCH "error.*failed" stdout',
    f'{DETECT}LOG "*** glibc detected ***" stdout',
    f'{DETECT}LOG "[n02:12345] *** An error" stdout',
    f'{DETECT}LOG "C:\\temp is full (or not there)." stdout',
    f'{DETECT}LOG "what?" stdout',
    f'{DETECT}LOG "cycle" stderr TIMEOUT 60\n{DETECT}LOG "cycle" stdout',
    f'{DETECT}LOG "oops" stdout\nEXCEPTION DETECTION LOW LOG "oops" stderr RECURRING 3',
    f'{DETECT}LOG "out of memory on GPU" stdout\nEXCEPTION DETECTION LOW LOG "out of memory" stdout',
    f"{DETECT}SILENCE TIMEOUT 60",
    DISK % ('"/b"', "/a"),
    DISK % ('"/ab"', "/a"),
    f'{DETECT}CAUSE time-limit\n{RECOVER}SCHEDULER JOB.REPLACE {{"time": 90}}',
    f'{DETECT}CAUSE missing-dependency\n{RECOVER}JOB JOB.ADD {{"command": "./install"}}',
    f"{DETECT}EXIT SIGNAL 9, SEGV, BUS",
    f'{DETECT}EXIT CODE 7\n{RECOVER}JOB JOB.ADD {{"command": ["sh", "-c", "cp $0 b", "a"]}}',
    f'{DETECT}EXIT CODE 7\n{RECOVER}JOB JOB.ADD {{"command": "find /a -name \'*.tmp\' -delete"}}',
    f"{DETECT}EXIT CODE 7\n{RECOVER}JOB NODE.ADD\n{RECOVER}JOB NODE.REMOVE",
    f'{DETECT}OUTPUT "out/*.nc" OLDER THAN "in/*"',
    f'{DETECT}JOB EXCEPTION "timeout"',
    f'{DETECT}SUCCESS IF OUTPUT "run.log" LOG "JOB DONE"',
    f'{DETECT}QUOTA "/a" ABOVE 1%',
    f'{ALL}LOG "oops" file "run.log"',
    f'{ALL}LOG "oops" file "/shared/$SLURM_JOB_ID/run.log"',
    f'{DETECT}LOG "oops" file "/shared/run.log"',
    f"{DETECT}EXCEPTION LOW 4 TIMES",
    f"{DETECT}EXIT CODE 1\nDECLARE COUPLED JOB [run, post-*, run_SIZE.*]",
    f"{DETECT}EXIT CODE 1\nDECLARE COUPLED JOB [*]",
]


@pytest.mark.parametrize(("text", "code", "word", "hint"), CASES)
def test_what_cannot_work(text: str, code: str, word: str, hint: str) -> None:
    whole = f"{HEADER}{text}\n"
    (only,) = findings(whole)
    assert (only.code, under(whole, only)) == (code, word)
    assert hint in only.hint
    assert only.severity is (Severity.ERROR if code in ("ESL051", "ESL090") else Severity.WARNING)


@pytest.mark.parametrize("text", SOUND)
def test_what_works(text: str) -> None:
    assert findings(f"{HEADER}{text}\n") == ()


@pytest.mark.parametrize("limit", ["LIMIT 3 WITHIN 60", "LIMIT 3 WITHOUT PROGRESS"])
def test_what_a_limit_does_not_bound_may_be_counted(limit: str) -> None:
    header = HEADER.replace("LOW JOB_LEVEL JOB [run]", f"LOW JOB_LEVEL JOB [run] {limit}")
    assert header != HEADER
    assert findings(f"{header}{DETECT}EXCEPTION LOW 5 TIMES\n") == ()


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_can_work(name: str) -> None:
    assert findings(EXAMPLES[name]) == ()


def test_a_library_is_not_looked_into() -> None:
    """Its patterns have their own samples; what a rule does with its exceptions is the rule's."""
    text = f'{HEADER}{DETECT}EXIT CODE 1\nINCLUDE "slurm" file "/shared/slurm.log"\n'
    assert findings(text) == ()


def test_variables_in_arguments_that_are_paths() -> None:
    step = (
        f'{DETECT}EXIT CODE 1\n{RECOVER}JOB FILESYSTEM.REPLACE {{"filesystem": "%s", "defaultpath": "/a"}}\n'
    )
    for path in ("~/b", "$SCRATCH/b", "${SCRATCH}/b", "/b/${workspace}"):
        assert findings(HEADER + step % path) == ()
    assert [each.code for each in findings(HEADER + step % "/b/${workspce}")] == ["ESL074"]


@pytest.mark.parametrize(
    ("jobs", "code", "said"),
    [
        ("[sim, post]", None, ""),
        ("[sim, view]", None, ""),
        ("[sim, pst]", "ESL045", "did you mean post?"),
        ("[sim, after]", "ESL090", "after waits for the end of sim"),
        ("[s*m]", "ESL090", "none of them is coupled"),
    ],
)
def test_coupled_jobs_are_those_of_a_workflow(jobs: str, code: str | None, said: str) -> None:
    tasks = (
        Task(id="w/sim", step="sim"),
        Task(id="w/post", step="post"),
        Task(id="w/view", step="view", parents=("w/sim",), beside=("w/sim",)),
        Task(id="w/after", step="after", parents=("w/sim",)),
    )
    workflow = Workflow(id="w", name="study", wms="batch", root="/w", tasks=tasks)
    text = f"{HEADER}{DETECT}EXIT CODE 1\nDECLARE COUPLED JOB {jobs}\n".replace("[run]", "[sim]")
    found = findings(text, workflow)
    assert [each.code for each in found] == ([code] if code else [])
    assert all(said in f"{each.message} {each.hint}" for each in found)
    if code is None:
        spec = language.parse(text, "t.esl").spec
        assert spec is not None and spec.coupled == (tuple(jobs.strip("[]").split(", ")),)
