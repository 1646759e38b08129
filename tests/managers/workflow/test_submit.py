"""The sbatch in front: what it adds to a call, and that each submission happens once."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.managers.workflow.wrapped import program_text, wrapped
from whesl.managers.resource.granted_spares_and_requeue import NO, NOTHING, YES
from whesl.managers.resource.port import JobRecord
from whesl.managers.workflow import script_wrapping
from whesl.managers.workflow.prepare import run_environment
from whesl.managers.workflow.submission import exactly_once_submission
from whesl.managers.workflow.submission.install import install
from whesl.managers.workflow.submission.sbatch_options import asked_of, parse_call, parse_header
from whesl.managers.workflow.submission.sbatch_rewriting import rewrite
from whesl.model.errors import CouldNotObserveError, RefusedError, TransientError
from whesl.model.states import JobState

HEADER = """\
#!/bin/bash
#SBATCH --nodes={nodes}
#SBATCH --partition=main
#SBATCH --job-name="run_SIZE.10"
#SBATCH --output="run_SIZE.10.out"
#SBATCH --comment "what Maestro says"
{more}
"""


def script(spares: int = 1, nodes: str = "2", more: str = "", task: str = "run", keeps: bool = True) -> str:
    header = dict(parse_header(HEADER.format(nodes=nodes, more=more)))
    call = script_wrapping.TaskCall(
        program=("/opt/whesl",),
        workflow="w",
        step=task,
        instance="SIZE.10",
        spec="/r",
        nodes=nodes,
        spares=spares,
        keeps=keeps,
        tasks=header.get("ntasks") or "",
        gpus=header.get("gpus") or "",
    )
    return wrapped(call, HEADER.format(nodes=nodes, more=more) + "\nsrun x\n")


def rewritten(text: str, *arguments: str, comment: str = "whesl:w/run#1") -> list[str]:
    said = script_wrapping.read_wrapped(text)
    assert said is not None
    return list(rewrite(parse_call([*arguments, "run.slurm.sh"]), text, said, comment).words)


@pytest.mark.parametrize(
    ("words", "options", "script_name", "rest"),
    [
        (["-D", "/w", "a.sh"], [("chdir", "/w")], "a.sh", []),
        (
            ["--reservation", "r", "-D", "/w", "a.sh", "-N2"],
            [("reservation", "r"), ("chdir", "/w")],
            "a.sh",
            ["-N2"],
        ),
        (
            ["-N4", "-n", "8", "--exclusive", "a.sh"],
            [("nodes", "4"), ("ntasks", "8"), ("exclusive", None)],
            "a.sh",
            [],
        ),
        (
            ["-Hn8", "--parsable", "a.sh", "x"],
            [("hold", None), ("ntasks", "8"), ("parsable", None)],
            "a.sh",
            ["x"],
        ),
        (["--no-kill=off", "--", "a.sh"], [("no-kill", "off")], "a.sh", []),
        (["--wrap", "true"], [("wrap", "true")], "", []),
        (["-N"], [("nodes", None)], "", []),
        ([], [], "", []),
    ],
)
def test_command_lines(
    words: list[str], options: list[tuple[str, str | None]], script_name: str, rest: list[str]
) -> None:
    call = parse_call(words)
    assert (list(call.options), call.script, list(call.arguments)) == (options, script_name, rest)


@given(st.lists(st.text(max_size=8), max_size=6))
def test_no_word_of_the_caller_is_lost(words: list[str]) -> None:
    call = parse_call(words)
    given = [word for number, component in enumerate(call.words) for word in (*[":"][:number], *component)]
    together = [*given, *([call.script] if call.script else []), *call.arguments]
    assert [word for word in words if word not in ("", "--")] == [w for w in together if w not in ("", "--")]


def test_headers_end_at_the_first_command() -> None:
    text = (
        '#!/bin/sh\n# x\n\n#SBATCH -N 3 --comment="a b" # note\n#SBATCHX -n9\n#SBATCH "\ntrue\n#SBATCH -N9\n'
    )
    assert parse_header(text) == (("nodes", "3"), ("comment", "a b"))


def test_flags_and_comment() -> None:
    words = rewritten(script(spares=0), "-D", "/w")
    assert words[:2] == ["-D", "/w"]
    assert words[-1] == "run.slurm.sh"
    assert {"--no-kill", "--requeue", "--comment=whesl:w/run#1"} <= set(words)
    assert not any(word.startswith("--nodes") for word in words)
    assert dict(asked_of(parse_call(["a"]), script(), {}))["comment"] == "what Maestro says"
    assert dict(asked_of(parse_call(["--comment=mine", "a"]), script(), {}))["comment"] == "mine"


@pytest.mark.parametrize(
    ("header", "environment", "arguments", "appended"),
    [
        ("", {}, [], True),  # slurm-%j.out
        ("#SBATCH -o step.%j.out -e step.%j.err", {}, [], True),
        ("#SBATCH -o out-%06A.%a", {}, [], True),
        ("#SBATCH -o new", {}, [], True),
        ("#SBATCH -o old", {}, [], False),
        ("#SBATCH -o %x.out", {}, [], False),
        ("#SBATCH -o step.%j.out", {}, ["-e", "old"], False),
        ("#SBATCH -o old", {}, ["-D", "/else"], True),
        ("#SBATCH --open-mode=truncate", {}, [], False),
        ("", {"SBATCH_OPEN_MODE": "truncate"}, [], False),
        # The file of a variable was taken for the default's: what an earlier job had written was kept in it.
        ("", {"SBATCH_OUTPUT": "old"}, [], False),
        ("#SBATCH -e old", {"SBATCH_ERROR": "new"}, [], True),
        ("", {"SBATCH_OUTPUT": "old"}, ["-o", "new"], True),
        ("", {}, ["--no-requeue"], False),
    ],
)
def test_the_output_of_a_first_run_is_kept_where_nothing_older_is_in_its_files(
    header: str, environment: dict[str, str], arguments: list[str], appended: bool
) -> None:
    text = script(more=header)
    said = script_wrapping.read_wrapped(text)
    assert said is not None
    call = parse_call([*arguments, "a.sh"])
    result = rewrite(call, text, said, "c", environment, exists=lambda name: name == "old")
    assert ("--open-mode=append" in result.words) is appended


@pytest.mark.parametrize(
    ("header", "environment", "arguments", "said_last"),
    [
        ("", {}, [], NOTHING),
        ("", {"SBATCH_NO_REQUEUE": "1"}, [], NO),
        ("", {"SBATCH_REQUEUE": "1"}, [], YES),
        ("", {"SBATCH_REQUEUE": "1", "SBATCH_NO_REQUEUE": "1"}, [], YES),
        ("", {}, ["--requeue"], YES),
        ("#SBATCH --no-requeue", {}, [], NO),
        ("#SBATCH --no-requeue\n#SBATCH --requeue", {}, [], YES),
        ("#SBATCH --requeue", {"SBATCH_NO_REQUEUE": ""}, [], NO),
        ("#SBATCH --requeue", {}, ["--no-requeue"], NO),
        ("#SBATCH --no-requeue", {"SBATCH_REQUEUE": "1"}, ["--requeue", "--no-requeue"], NO),
    ],
)
def test_a_lost_start_is_slurm_s_where_the_user_has_said_nothing(
    header: str, environment: dict[str, str], arguments: list[str], said_last: str
) -> None:
    text = script(more=header)
    said = script_wrapping.read_wrapped(text)
    assert said is not None
    result = rewrite(parse_call([*arguments, "a.sh"]), text, said, "c", environment)
    assert result.requeue == said_last
    added = [word for word in result.words[len(arguments) :] if "requeue" in word]
    assert added == (["--requeue"] if said_last == NOTHING else []), "what the user has said stays"


def test_who_only_observes_asks_slurm_for_nothing() -> None:
    call = script_wrapping.TaskCall(program=("w",), workflow="w", step="s", spec="/r", observe=True)
    text = wrapped(call, "#!/bin/sh\nx\n")
    said = script_wrapping.read_wrapped(text)
    assert said is not None
    result = rewrite(parse_call(["a.sh"]), text, said, "c")
    assert not result.requeue
    assert result.words == ("--comment=c", "a.sh")


def test_a_job_is_kept_from_ending_with_a_node_only_where_a_rule_acts_on_that() -> None:
    assert "--no-kill" in rewritten(script(keeps=True))
    assert "--no-kill" not in rewritten(script(keeps=False))


HETEROGENEOUS = [
    ("#SBATCH hetjob\n#SBATCH -N1 -n1", ["-N1"], "-N1 + --nodes=2 : -N1 + --nodes=2 --ntasks=2"),
    ("#SBATCH packjob\n#SBATCH -N2 -n4", [], "+ --nodes=2 : + --nodes=3 --ntasks=6"),
    (
        "",
        ["-N1", "-n1", ":", "-N2", "-n2"],
        "-N1 -n1 + --nodes=2 --ntasks=2 : -N2 -n2 + --nodes=3 --ntasks=3",
    ),
    ("#SBATCH hetjob\n#SBATCH -N2 -n3", [], "no multiple"),
    ("#SBATCH hetjob\n#SBATCH -N1 --gpus=4", [], "has --gpus"),
    ("#SBATCH hetjob\n#SBATCH -n4", [], "does not say how many nodes"),
]


@pytest.mark.parametrize(("more", "arguments", "expected"), HETEROGENEOUS)
def test_each_component_of_a_heterogeneous_job_gets_the_spares(
    more: str, arguments: list[str], expected: str
) -> None:
    text = script(1, "1", more)
    said = script_wrapping.read_wrapped(text)
    assert said is not None
    result = rewrite(parse_call([*arguments, "a.sh", "word"]), text, said, "c")
    words = " ".join(result.words).replace("--comment=c --no-kill --requeue", "+")
    if result.spares:
        assert words == f"{expected} a.sh word"
    else:
        assert words == "+ a.sh word" and expected in result.notices[0]


@pytest.mark.parametrize(
    ("nodes", "more", "arguments", "spares", "expected"),
    [
        ("2", "", [], 1, ["--nodes=3"]),
        ("2", "#SBATCH --ntasks=8", [], 1, ["--nodes=3", "--ntasks=12"]),
        ("2", "#SBATCH --ntasks=5", [], 2, ["--nodes=4", "--ntasks=12"]),
        ("2", "#SBATCH --ntasks-per-node=4", [], 1, ["--nodes=3"]),
        ("2-4", "", [], 1, ["--nodes=3-5"]),
        ("2", "", ["-N", "6"], 2, ["--nodes=8"]),
        ("2", "#SBATCH -G a100:4", [], 1, ["--nodes=3", "--gpus=a100:6"]),
    ],
)
def test_spares(nodes: str, more: str, arguments: list[str], spares: int, expected: list[str]) -> None:
    words = rewritten(script(spares, nodes, more), *arguments)
    added = [word for word in words if word.startswith(("--nodes", "--ntasks", "--gpus"))]
    assert added == expected
    assert words.index(expected[0]) > (words.index("6") if arguments else -1), "the last option wins"


@pytest.mark.parametrize(
    ("header", "spares"), [("#SBATCH -n4", 0), ("#SBATCH -n1", 1), ("", 1), ("#SBATCH -N2k", 0)]
)
def test_spares_need_a_number_of_nodes(header: str, spares: int) -> None:
    tasks = dict(parse_header(f"{header}\n")).get("ntasks") or ""
    call = script_wrapping.TaskCall(program=("w",), workflow="w", step="s", spec="/r", spares=1, tasks=tasks)
    text = wrapped(call, f"#!/bin/sh\n{header}\nx\n")
    said = script_wrapping.read_wrapped(text)
    assert said is not None
    result = rewrite(parse_call(["a.sh"]), text, said, "c")
    assert result.spares == spares
    assert bool(result.notices) == (spares == 0)


def test_numbers_that_the_script_would_not_see_corrected_are_not_scaled() -> None:
    text = script(1, "2", "#SBATCH --ntasks=8")
    said = script_wrapping.read_wrapped(text)
    assert said is not None
    assert (said.tasks, said.gpus) == ("8", "")
    assert "export WHESL_KEEPS_NODES=1 SLURM_NTASKS=8 SLURM_NPROCS=8\n" in program_text(text)
    result = rewrite(parse_call(["-n", "16", "a.sh"]), text, said, "c")
    assert result.spares == 0
    assert "not those of the script" in result.notices[0]


# Exactly once, on a scheduler that loses replies -------------------------------------------------------


class Scheduler:
    """A scheduler in memory; ``blind`` looks fail before one succeeds, ``late`` looks miss a new job."""

    def __init__(self) -> None:
        self.accepted: dict[str, tuple[str, JobState]] = {}
        self.blind = 0
        self.late = 0
        self.known = True
        self.forgotten = False
        self.submitted = 5.0  # when its jobs were, as ``submit`` says

    def find(self, token: str) -> JobRecord | None:
        if self.blind:
            self.blind -= 1
            raise CouldNotObserveError("no answer")
        if self.late:
            self.late -= 1
            return None
        if token in self.accepted and self.known:
            job, state = self.accepted[token]
            return JobRecord(id=job, token=token, state=state)
        return None

    def jobs(self, ids: Sequence[str]) -> dict[str, JobRecord]:
        made = {job: state for job, state in self.accepted.values() if job in ids and not self.forgotten}
        return {job: JobRecord(id=job, state=made[job], submitted=self.submitted) for job in made}

    def accept(self, token: str) -> str:
        assert token not in self.accepted, "submitted twice"
        self.accepted[token] = (str(100 + len(self.accepted)), JobState.PENDING)
        return self.accepted[token][0]

    def end(self, state: JobState) -> None:
        token, (job, _) = list(self.accepted.items())[-1]
        self.accepted[token] = (job, state)


class KilledError(Exception):
    """The submitting process ends here."""


def submit(
    directory: Path, scheduler: Scheduler, how: Callable[[str], str] | None = None, task: str = "w/a task"
) -> str:
    ledger = exactly_once_submission.Ledger(directory, task)
    with ledger.locked():
        return exactly_once_submission.submit_once(
            ledger, task, scheduler, how or scheduler.accept, lambda _: None, lambda: 5.0
        )


def lost(scheduler: Scheduler, error: Exception) -> Callable[[str], str]:
    """Accept, and lose the reply."""

    def accept(token: str) -> str:
        scheduler.accept(token)
        raise error

    return accept


def test_a_lost_reply_is_one_job(tmp_path: Path) -> None:
    scheduler = Scheduler()
    scheduler.late = 2
    assert submit(tmp_path, scheduler, lost(scheduler, TransientError("timed out"))) == "100"
    assert len(scheduler.accepted) == 1


@pytest.mark.parametrize("state", list(JobState))
def test_killed_before_the_reply_is_one_job(state: JobState, tmp_path: Path) -> None:
    """Whatever became of the job meanwhile: the manager has never heard of it, so this is it."""
    scheduler = Scheduler()
    with pytest.raises(KilledError):
        submit(tmp_path, scheduler, lost(scheduler, KilledError()))
    scheduler.end(state)
    assert submit(tmp_path, scheduler) == "100"
    assert len(scheduler.accepted) == 1


@pytest.mark.parametrize("state", list(JobState))
def test_a_second_submission_after_the_reply(state: JobState, tmp_path: Path) -> None:
    scheduler = Scheduler()
    assert submit(tmp_path, scheduler) == "100"
    scheduler.end(state)
    means_another = state.ended and state is not JobState.COMPLETED
    assert submit(tmp_path, scheduler) == ("101" if means_another else "100")
    # And the new one is as safe from a lost reply as the first.
    assert submit(tmp_path, scheduler) == ("101" if means_another else "100")


def test_a_job_that_is_forgotten_has_ended(tmp_path: Path) -> None:
    scheduler = Scheduler()
    submit(tmp_path, scheduler)
    scheduler.known, scheduler.forgotten = False, True
    assert submit(tmp_path, scheduler) == "101"


def test_a_job_whose_owner_changed_its_comment_is_known_by_its_id(tmp_path: Path) -> None:
    """Where Slurm has no accounting, a study that was run again submitted it a second time."""
    scheduler = Scheduler()
    submit(tmp_path, scheduler)
    scheduler.known = False
    assert submit(tmp_path, scheduler) == "100"
    scheduler.submitted = -1000.0  # a job of another time has the id: Slurm counts anew
    assert submit(tmp_path, scheduler) == "101"


def test_not_seen_is_not_gone(tmp_path: Path) -> None:
    scheduler = Scheduler()
    submit(tmp_path, scheduler)
    scheduler.blind = 3
    assert submit(tmp_path, scheduler) == "100"
    scheduler.blind = 99
    with pytest.raises(CouldNotObserveError):
        submit(tmp_path, scheduler)
    assert len(scheduler.accepted) == 1


def test_a_task_s_name_may_be_longer_than_a_file_s(tmp_path: Path) -> None:
    scheduler = Scheduler()  # sbatch ended with a traceback: File name too long
    assert [submit(tmp_path, scheduler, task=f"w/{'é' * 100}{end}") for end in "121"] == ["100", "101", "100"]


def test_a_refusal_is_told_and_may_be_tried_again(tmp_path: Path) -> None:
    scheduler = Scheduler()

    def refuse(token: str) -> str:
        raise RefusedError("invalid partition")

    with pytest.raises(RefusedError):
        submit(tmp_path, scheduler, refuse)
    ledger = exactly_once_submission.Ledger(tmp_path, "w/a task")
    refused = ledger.read()
    assert refused is not None and (refused.refused, refused.job) == ("invalid partition", "")
    assert submit(tmp_path, scheduler) == "100"
    accepted = ledger.read()
    assert accepted is not None and (accepted.refused, accepted.job) == ("", "100")


@settings(deadline=None)  # files are written, and machines are busy
@given(
    st.lists(
        st.sampled_from(["ok", "lost", "killed", "late", "refused", "fail", "finish", "blind"]), max_size=12
    )
)
def test_never_two_living_jobs_for_one_task(events: list[str]) -> None:
    import tempfile

    scheduler = Scheduler()
    with tempfile.TemporaryDirectory() as name:
        for event in events:
            living = [job for job, state in scheduler.accepted.values() if not state.ended]
            assert len(living) <= 1
            if event in ("fail", "finish") and scheduler.accepted:
                scheduler.end(JobState.FAILED if event == "fail" else JobState.COMPLETED)
                continue
            how: Callable[[str], str] = scheduler.accept
            if event in ("lost", "late"):
                how = lost(scheduler, CouldNotObserveError("?"))
                scheduler.late = 3 if event == "late" and not scheduler.accepted else 0
            elif event == "killed":
                how = lost(scheduler, KilledError())
            elif event == "refused":

                def how(token: str) -> str:
                    raise RefusedError("no")

            scheduler.blind = 2 if event == "blind" else 0
            try:
                submit(Path(name), scheduler, how)
            except (KilledError, RefusedError):
                continue
            finally:
                scheduler.late = scheduler.blind = 0


@pytest.mark.parametrize("task", ["w/a", "w/a b", "w/ü#1", "w/x\ty"])
def test_a_token_is_one_word(task: str) -> None:
    assert len(exactly_once_submission.token(task, 3).split()) == 1
    assert exactly_once_submission.token(task, 3).endswith("#3")
    assert exactly_once_submission.token(task, 3) != exactly_once_submission.token(task + "x", 3)


@pytest.mark.parametrize(
    ("output", "job"),
    [
        ("Submitted batch job 17\n", "17"),
        ("Submitted batch job 17 on cluster alpha\n", "17"),
        ("17\n", "17"),
        ("17;alpha\n", "17"),
        ("sbatch: 3 nodes are down\nSubmitted batch job 5\n", "5"),
        ("", ""),
        ("error 17 times", ""),
    ],
)
def test_replies(output: str, job: str) -> None:
    assert exactly_once_submission.job_id(output) == job


# The program itself ------------------------------------------------------------------------------------


def test_it_stands_on_no_file_of_the_home() -> None:
    """One call that failed there was a submission that failed, and with it all of a workflow."""
    assert Path("/home/w/bin") not in install(Path("/home/w/bin")).parents
    environment = run_environment({}, install(Path("/home/w/bin")), Path("/home"), "slurm")
    assert shutil.which("sbatch", path=environment["PATH"]) == str(install(Path("/home/w/bin")) / "sbatch")


def test_what_is_not_ours_goes_to_the_real_one(tmp_path: Path) -> None:
    real, front = tmp_path / "real", tmp_path / "a front"
    real.mkdir()
    (real / "sbatch").write_text(
        f"#!{sys.executable}\nimport json, os, sys\nprint(json.dumps([sys.argv[1:], os.environ['PATH']]))\n"
    )
    (real / "sbatch").chmod(0o755)
    front.symlink_to(install(front))
    environment = {**os.environ, "PATH": f"{front}:{real}:/usr/bin:/bin", "WHESL_HOME": str(tmp_path / "h")}
    environment["WHESL_PYTHON"] = sys.executable
    # A workspace may hold anything, also files with the names of modules.
    (tmp_path / "json.py").write_text("raise SystemExit(9)")
    plain = tmp_path / "plain.sh"
    plain.write_text("#!/bin/sh\ntrue\n")
    done = subprocess.run(
        ["sbatch", "-N2", str(plain), "a b"],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    words, path = json.loads(done.stdout)
    assert words == ["-N2", str(plain), "a b"]
    assert str(front) not in path


def test_nodes_to_avoid_are_added_to_those_of_the_call() -> None:
    text = script(0, "2", "#SBATCH --exclude=n07")
    said = script_wrapping.read_wrapped(text)
    assert said is not None
    words = rewrite(parse_call(["run.sh"]), text, said, "c", avoid=("n02", "n03")).words
    assert "--exclude=n07,n02,n03" in words
    assert not any(
        word.startswith("--exclude") for word in rewrite(parse_call(["run.sh"]), text, said, "c").words
    )
