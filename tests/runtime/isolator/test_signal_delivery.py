"""Each signal that comes to the keeper reaches those whom it was meant for, once."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from tests.alike import alike
from tests.runtime.isolator.bench import Bench, bench, until
from whesl.managers.workflow import script_wrapping
from whesl.runtime.isolator.launch import signal_delivery

__all__ = ["bench"]


@pytest.fixture(autouse=True)
def program(bench: Bench) -> None:
    """The beginning of a process is a part of what is tested."""
    bench.forked = False


# Counts each signal in a file of its own; so does a child in the same process group.
PROGRAM = """\
import os, pathlib, signal, sys, time
where = pathlib.Path(sys.argv[1])
who = "program" if os.fork() else "child"
def note(signum, _):
    with (where / f"{who}-{signum}").open("a") as file:
        file.write("x")
for signum in map(int, sys.argv[2:]):
    signal.signal(signum, note)
(where / f"{who}-ready").write_text(f"{os.getpid()} {os.getpgid(0)} {os.getsid(0)}")
deadline = time.monotonic() + 300  # a test that fails stops nobody
while not (where / "stop").exists() and time.monotonic() < deadline:
    time.sleep(0.01)
os._exit(5)
"""
SIGNALS = sorted(signal_delivery.SIGNALS - {signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU, signal.SIGCONT})
# The isolator dies of these where everybody is sent them, and is started again.
CAUSED = sorted(signal_delivery.CAUSED)


def begun(bench: Bench) -> subprocess.Popen[bytes]:
    (bench.place / "program.py").write_text(PROGRAM)
    words = [
        "python3",
        str(bench.place / "program.py"),
        str(bench.place),
        *(str(int(one)) for one in (*SIGNALS, *CAUSED)),
    ]
    child = bench.exec(*words, start_new_session=True)
    ready = [bench.place / f"{who}-ready" for who in ("program", "child")]
    until(lambda: all(file.exists() and file.read_text() for file in ready), "the program")
    listening(child.pid)
    return child


def listening(pid: int) -> None:
    """Wait until the keeper hears signals."""

    def caught() -> bool:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        masks = {
            line.split()[0]: int(line.split()[1], 16)
            for line in lines
            if line.startswith(("SigBlk", "SigCgt"))
        }
        return bool(masks["SigCgt:"] >> (signal.SIGUSR1 - 1) & 1) and masks["SigBlk:"] == sum(
            1 << one - 1 for one in CAUSED
        )

    until(caught, "the keeper")


def counts(place: Path, who: str) -> dict[int, int]:
    return {
        int(file.name.rpartition("-")[2]): len(file.read_text())
        for file in place.glob(f"{who}-*")
        if file.name != f"{who}-ready"
    }


def test_every_signal_to_the_keeper_alone_reaches_the_program_alone_and_once(bench: Bench) -> None:
    """A trap for SIGSEGV, SIGBUS, SIGFPE, SIGILL or SIGPIPE was never run: the keeper died instead."""
    child = begun(bench)
    for signum in (*SIGNALS, *CAUSED):
        os.kill(child.pid, signum)
        until((bench.place / f"program-{int(signum)}").exists, f"signal {signum}")
    (bench.place / "stop").touch()
    assert child.wait(30) == 5
    assert counts(bench.place, "program") == {int(signum): 1 for signum in (*SIGNALS, *CAUSED)}
    assert counts(bench.place, "child") == {}


def test_a_signal_to_the_keeper_s_group_reaches_the_program_s_group(bench: Bench) -> None:
    child = begun(bench)
    os.killpg(child.pid, signal.SIGUSR2)
    until(lambda: counts(bench.place, "child"), "the signal at the child")
    (bench.place / "stop").touch()
    assert child.wait(30) == 5
    assert counts(bench.place, "program") == counts(bench.place, "child") == {int(signal.SIGUSR2): 1}


def test_a_signal_to_everybody_is_passed_on_to_nobody(bench: Bench) -> None:
    """As Slurm ends a job: the keeper hears what all have heard."""
    child = begun(bench)
    program = int((bench.place / "program-ready").read_text().split()[0])
    below = Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()
    for pid in (child.pid, *(int(pid) for pid in below), program):
        os.kill(pid, signal.SIGUSR1)
    until(lambda: counts(bench.place, "program"), "the signal")
    os.kill(child.pid, signal.SIGUSR2)  # when this has arrived, the first one would have, too
    until(lambda: int(signal.SIGUSR2) in counts(bench.place, "program"), "the next signal")
    (bench.place / "stop").touch()
    assert child.wait(30) == 5
    assert counts(bench.place, "program") == {int(signal.SIGUSR1): 1, int(signal.SIGUSR2): 1}


@pytest.mark.costly
@pytest.mark.parametrize("seed", alike([1, 2]))
@pytest.mark.parametrize("way", ["exec", "observe", "script"])
def test_every_attempt_ignores_and_blocks_what_its_caller_does(bench: Bench, way: str, seed: int) -> None:
    """``nohup whesl exec CMD``: SIGHUP ended CMD; ``trap '' PIPE`` was lost, as were blocked signals."""
    every = sorted(signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP})
    draw = random.Random(seed)
    ignored, blocked = ({signum for signum in every if draw.random() < 0.5} for _ in range(2))

    def begin() -> None:
        for signum in every:
            signal.signal(signum, signal.SIG_IGN if signum in ignored else signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked - {signal.SIGCHLD})

    first, ends = "#!/bin/bash", '[ "$WHESL_RESTART_COUNT" != 0 ] ||'
    app = bench.place / "app.sh"
    shows = f"{first}\ngrep -e SigBlk -e SigIgn /proc/self/status >> masks\n"
    app.write_text(f"{shows}{ends} echo An error occurred in MPI_Send\n{ends} exec sleep 60\n")
    whesl, rules = (sys.executable, "-m", "whesl"), str(bench.rules())
    words = [*whesl, "exec", "--step", "app", "--no-coordinator", "-e", rules, "--", "bash", str(app)]
    if way == "script":
        calls = bench.place / "whesl"
        calls.write_text(
            f'#!/bin/sh\nw="$2 $3"; shift 3; exec {" ".join(whesl)} exec $w --no-coordinator "$@"\n'
        )
        calls.chmod(0o700)
        call = script_wrapping.TaskCall(program=(str(calls),), workflow="w", step="app", spec=rules)
        made = script_wrapping.program_for(call, first, "", str(bench.place))
        made.write()
        words = [made.path, str(app)]
    elif way == "observe":
        app.write_text(shows)
        words.insert(4, "--observe")
    # A shell stands between, as in jobs: of other callers nobody can tell whether they ignore SIGPIPE.
    call_them = ["bash", "-c", '"$@"; exit $?', "bash"]
    for run in (["bash", str(app)], words):
        environment = bench.environment | ({} if run is words else {"WHESL_RESTART_COUNT": "1"})
        subprocess.run(
            [*call_them, *run],
            cwd=bench.place,
            env=environment,
            check=True,
            preexec_fn=begin,
            restore_signals=False,
            stdout=(bench.place / "out").open("a"),
            timeout=60,
        )
    found = (bench.place / "masks").read_text().splitlines()
    assert found == found[:2] * (2 if way == "observe" else 3)


def test_the_program_leads_a_process_group_with_nothing_blocked(bench: Bench) -> None:
    """Slurm 25.05 starts a script with SIGCHLD blocked, and dash then waits for ever."""
    script = "ps -o pgid= -p $$ >pgid; echo $$ >pid; grep -E 'Sig(Blk|Ign)' /proc/self/status >masks"
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    try:
        code, _, err = bench.run("sh", "-c", script)
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
    assert code == 0, err
    place = bench.place
    assert (place / "pgid").read_text().strip() == (place / "pid").read_text().strip()
    before = subprocess.run(
        ["grep", "-E", "Sig(Blk|Ign)", "/proc/self/status"], capture_output=True, check=True
    )
    assert (place / "masks").read_bytes() == before.stdout


def test_a_signal_that_everybody_is_sent_twice_is_passed_on_to_nobody(bench: Bench) -> None:
    """As Slurm ends a job that it preempts: the second one was taken for one to the keeper alone."""
    child = begun(bench)
    program = int((bench.place / "program-ready").read_text().split()[0])
    below = Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()

    def reached(times: int) -> bool:
        return counts(bench.place, "program").get(int(signal.SIGUSR1)) == times

    for told in (1, 2):
        for pid in (child.pid, *(int(pid) for pid in below), program):
            with contextlib.suppress(ProcessLookupError):  # the witnesses are others by now
                os.kill(pid, signal.SIGUSR1)
        until(partial(reached, told), "the signal")
    os.kill(child.pid, signal.SIGUSR2)  # when this has arrived, the others would have, too
    until(lambda: int(signal.SIGUSR2) in counts(bench.place, "program"), "the next signal")
    (bench.place / "stop").touch()
    assert child.wait(30) == 5
    assert counts(bench.place, "program") == {int(signal.SIGUSR1): 2, int(signal.SIGUSR2): 1}


@pytest.mark.parametrize("reach", [signal_delivery.EVERYBODY, signal_delivery.GROUP])
def test_a_signal_that_comes_while_witnesses_take_others_places_is_told_right(
    monkeypatch: pytest.MonkeyPatch, reach: str
) -> None:
    """Slurm sends TERM right after CONT: the program of a job that was preempted was told TERM twice."""

    class Interrupted(signal_delivery.Witnesses):
        def _begin(self) -> signal_delivery._Pair:
            for pair in getattr(self, "_pairs", []):
                for pid in (pair.near, pair.far if reach == signal_delivery.EVERYBODY else 0):
                    if pid:
                        os.kill(pid, signal.SIGTERM)
            return super()._begin()

    witnesses = Interrupted()
    for pid in (witnesses._pairs[0].near, witnesses._pairs[0].far):
        os.kill(pid, signal.SIGCONT)
    assert witnesses.reach([signal.SIGCONT]) == {signal.SIGCONT: signal_delivery.EVERYBODY}
    assert witnesses.reach([signal.SIGTERM]) == {signal.SIGTERM: reach}
    monkeypatch.setattr(signal_delivery, "_AGAIN", 0.0)
    assert witnesses.reach([signal.SIGCONT]) == {signal.SIGCONT: signal_delivery.ONE}, "this one is another"
    assert witnesses.reach([signal.SIGUSR1]) == {signal.SIGUSR1: signal_delivery.ONE}
    for pair in witnesses._pairs:
        pair.end()


def test_who_was_sent_a_signal_is_known_without_a_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slurm killed a script's process group at the time limit before the program was told of it."""
    monkeypatch.setattr(signal_delivery, "_SENDING", 3600.0)
    witnesses = signal_delivery.Witnesses()
    older = signal_delivery.children(os.getpid())[-2]
    os.kill(older, signal.SIGUSR1)
    assert witnesses.reach([signal.SIGUSR1]) == {signal.SIGUSR1: signal_delivery.EVERYBODY}
    os.kill(witnesses._pairs[-1].near, signal.SIGUSR2)
    assert witnesses.reach([signal.SIGUSR2]) == {signal.SIGUSR2: signal_delivery.GROUP}
    for pid in (witnesses._pairs[0].near, witnesses._pairs[1].near, witnesses._pairs[1].far):
        os.kill(pid, signal.SIGINT)  # the last one began a moment ago, in the keeper's group
    assert witnesses.reach([signal.SIGINT]) == {signal.SIGINT: signal_delivery.GROUP}
    term = [signal.SIGTERM]
    assert witnesses.reach(term, term) == {signal.SIGTERM: signal_delivery.ONE}, "the program dies of it"
    for pair in witnesses._pairs:
        pair.end()


@pytest.mark.costly
@pytest.mark.parametrize("early", alike([0.0, 0.05, 0.02, 0.1], run=2))
def test_a_signal_before_the_program_s_first_line_is_not_lost(bench: Bench, early: float) -> None:
    """It had ended what stood around the program, or nobody heard of it."""
    script = bench.place / "job.sh"
    script.write_text("#!/bin/bash\ntrap 'echo got it; exit 6' USR1\nwhile :; do sleep 0.01; done\n")
    out = (bench.place / "out").open("wb")
    child = bench.exec("bash", str(script), options=("--script-word", "1"), stdout=out)

    def held() -> bool:
        lines = Path(f"/proc/{child.pid}/status").read_text().splitlines()
        blocked = next(int(line.split()[1], 16) for line in lines if line.startswith("SigBlk:"))
        caught = next(int(line.split()[1], 16) for line in lines if line.startswith("SigCgt:"))
        # The C library blocks all signals, SIGCHLD too, for as long as it starts a thread or a process.
        briefly = blocked >> (signal.SIGCHLD - 1) & 1
        return bool((blocked | caught) >> (signal.SIGUSR1 - 1) & 1) and not briefly

    until(held, "signals wait")
    signal.sigtimedwait([], early)
    os.kill(child.pid, signal.SIGUSR1)
    assert child.wait(30) == 6
    assert (bench.place / "out").read_text() == "got it\n"


@pytest.mark.costly
@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGSEGV, signal.SIGKILL])
def test_whesl_exec_dies_of_the_signal_that_its_command_died_of(bench: Bench, signum: signal.Signals) -> None:
    """A job of which it is the script's interpreter, or the last line, then ends as it does without."""
    assert bench.run("sh", "-c", f"ulimit -c 0; kill -{int(signum)} $$")[0] == -signum


def test_whesl_exec_returns_a_status_that_only_looks_like_a_signal(bench: Bench) -> None:
    assert bench.run("sh", "-c", "exit 143")[0] == 143


@pytest.mark.parametrize("takes", alike(["sigwait([15])", "sigtimedwait([15], 60)", "sigpending()"]))
def test_a_program_that_blocks_a_signal_and_takes_it_ends_by_itself(bench: Bench, takes: str) -> None:
    """The program ended with 5 after ``sigwait``, and ``whesl exec`` died of the signal."""
    text = "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, [15]); open('ready', 'w')"
    child = bench.exec("python3", "-c", f"{text}\nwhile not signal.{takes}: pass\nraise SystemExit(5)")
    until((bench.place / "ready").exists, "the program")
    listening(child.pid)
    child.send_signal(signal.SIGTERM)
    assert child.wait(60) == 5


def test_a_handler_that_python_has_not_set_is_no_obstacle(bench: Bench) -> None:
    """With PYTHONFAULTHANDLER=1 ``whesl exec`` ended with a traceback."""
    bench.environment["PYTHONFAULTHANDLER"] = "1"
    assert bench.run("true") == (0, "", "")
