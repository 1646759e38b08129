"""Features of what happens to a job from outside: signals, requeues, holds, preemption, lost nodes, limits."""
# ruff: noqa: E501 - a row for each event

from __future__ import annotations

from tests.neutrality.records import Act, Feature, Kind, When
from tests.neutrality.scripts import SH
from tests.waiting import HOLD_LIFTED

SLURM = ("slurm",)
BOTH = ("slurm", "local")
# By name where scancel knows it, else by number.
NUMBERS = {"ILL": 4, "TRAP": 5, "ABRT": 6, "BUS": 7, "FPE": 8, "SEGV": 11, "PIPE": 13, "STKFLT": 16}
NUMBERS |= {"XCPU": 24, "XFSZ": 25, "VTALRM": 26, "PROF": 27, "WINCH": 28, "IO": 29, "PWR": 30, "SYS": 31}
NAMED = ("HUP", "INT", "QUIT", "TERM", "USR1", "USR2", "ALRM", "URG", "CONT", "TSTP", "TTIN", "TTOU")
SIGNALS = (*NAMED, *NUMBERS)
# Bounded: a job that nobody ends ends by itself.
WAITS = ": > ready\ni=0; while [ ! -e done ] && [ $i -lt 300 ]; do sleep 0.1 & wait $!; i=$((i+1)); done\n"
STILL = ": > ready\nsleep 25\n"


def scancel(*options: str, mark: str = "ready") -> Act:
    """Return the act of cancelling or signalling the job, when the script has made a file."""
    return Act(when=When.MARK, mark=mark, do=("scancel", *options, "{job}"))


def done(mark: str) -> Act:
    """Return the act that lets the script end, when it has made a file."""
    return Act(when=When.MARK, mark=mark, do=("touch", "{place}/done"))


def outside(name: str, text: str, *acts: Act, header: tuple[str, ...] = (), managers: tuple[str, ...] = BOTH, **more: object) -> Feature:  # fmt: skip
    """Return a script and what is done to it."""
    lines = tuple(line.encode() for line in header)
    return Feature(name=name, kind=Kind.BODY, speaks=SH, text=text.encode(), header=lines, acts=acts, managers=managers, **more)  # type: ignore[arg-type] # the fields' own types hold  # fmt: skip


def _word(signal: str) -> str:
    return str(NUMBERS.get(signal, signal))


def _trap(signal: str) -> str:
    return f"trap 'echo got {signal} >> signals; : > got-{signal}' {signal}\n"


def _signals() -> tuple[Feature, ...]:
    marks = ["ready", *(f"got-{signal}" for signal in SIGNALS)]
    each = [
        scancel("-b", "-s", _word(signal), mark=mark) for signal, mark in zip(SIGNALS, marks, strict=False)
    ]
    return (
        outside("trap-all", "ulimit -c 0\n" + "".join(map(_trap, SIGNALS)) + WAITS.replace("300", "2000"), *each, done(marks[-1]), seconds=30.0),
        *(outside(f"trap-{s}", _trap(s) + WAITS, scancel("-b", "-s", _word(s)), done(f"got-{s}")) for s in SIGNALS),
        *(outside(f"signal-{s}", "ulimit -c 0\n" + STILL, scancel("-b", "-s", _word(s)))
          for s in ("HUP", "INT", "QUIT", "USR1", "USR2", "ALRM", "TERM", "KILL", "SEGV", "PIPE")),
        outside("trap-several", "".join(map(_trap, NAMED[:6])) + WAITS, *each[:6], done(f"got-{NAMED[5]}")),
        outside("trap-then-exit", "trap 'echo checkpoint > checkpoint; exit 0' USR1\n" + WAITS, scancel("-b", "-s", "USR1")),
        outside("trap-ignored", "trap '' USR1\n" + WAITS, scancel("-b", "-s", "USR1"), done("ready")),
        outside("trap-while-foreground", "trap 'echo later >> signals' USR1\n: > ready\nsleep 2\necho after >> signals\n", scancel("-b", "-s", "USR1")),
        outside("trap-passes-on", "trap 'kill -USR1 $child' USR1\nsh -c 'trap \"echo child got it > child; exit 5\" USR1; : > ready; while :; do sleep 0.1; done' & child=$!\nwait $child; wait $child; echo $?\n", scancel("-b", "-s", "USR1")),
    )  # fmt: skip


_HET_STEP = "srun -l -n1 echo a : -n2 echo b | sort; srun --het-group=0 -n1 sh -c 'echo zero $SLURM_PROCID' : --het-group=1 -n2 sh -c 'echo one $SLURM_PROCID' | sort; exit 4\n"
_CHILD = "sh -c 'trap \"echo child got USR1 >> signals; exit 4\" USR1; : > child-ready; i=0; while [ $i -lt 250 ]; do sleep 0.1; i=$((i+1)); done' & child=$!\n"
_STEP = "srun -n1 sh -c 'trap \"echo step got USR1 >> signals; exit 4\" USR1; : > step-ready; i=0; while [ $i -lt 250 ]; do sleep 0.1; i=$((i+1)); done' & step=$!\n"
_CANCELS = (
    outside("cancelled", STILL, scancel()),
    outside("cancelled-pending", STILL, Act(when=When.PENDING, do=("scancel", "{job}")), header=("--hold",)),
    outside("cancelled-cleans-up", "trap 'echo cleaned > cleaned; exit 9' TERM\n" + WAITS, scancel()),
    outside("cancelled-slow", "trap 'sleep 0.5; echo slow > slow' TERM\n" + WAITS, scancel()),
    outside("cancelled-ignores", "trap '' TERM\n: > ready\ni=0; while [ $i -lt 600 ]; do sleep 0.1; i=$((i+1)); done\n", scancel(), seconds=40.0),
    outside("cancelled-children", _CHILD + "i=0; while [ ! -e child-ready ]; do sleep 0.1; done; : > ready\nwait\n", scancel()),
    outside("full-signal", "trap 'echo script got USR1 >> signals' USR1\n" + _CHILD + "while [ ! -e child-ready ]; do sleep 0.1; done; : > ready\nwait $child; wait $child; echo $? >> signals\n", scancel("-f", "-s", "USR1"), volatile=("file:signals", "file:slurm-*")),
    outside("batch-signal", "trap 'echo script got USR1 >> signals; kill $child; exit 3' USR1\n" + _CHILD + "while [ ! -e child-ready ]; do sleep 0.1; done; : > ready\nwait $child; wait $child; echo $? >> signals\n", scancel("-b", "-s", "USR1")),
    outside("step-signal", "trap 'echo script got USR1 >> signals' USR1\n" + _STEP + "while [ ! -e step-ready ]; do sleep 0.1; done; : > ready\nwait $step; echo $? >> signals\n", scancel("-s", "USR1"), volatile=("file:slurm-*",)),  # a shell tells of a sleep that dies, if one runs
    outside("step-cancelled", _STEP + "while [ ! -e step-ready ]; do sleep 0.1; done; : > ready\nwait $step; echo $? > status\n", Act(when=When.MARK, mark="ready", do=("scancel", "{job}.0")), managers=SLURM, volatile=("file:slurm-*", "messages:*")),
    outside("step-full", "trap 'echo script got USR1 >> signals' USR1\n" + _STEP + "while [ ! -e step-ready ]; do sleep 0.1; done; : > ready\nwait $step; wait $step; echo $? > status\n", scancel("-f", "-s", "USR1"), volatile=("file:signals",)),
    outside("cancelled-with-step", _STEP + "while [ ! -e step-ready ]; do sleep 0.1; done; : > ready\nwait\n", scancel()),
    outside("killed", STILL, scancel("-s", "KILL", "-f")),
    outside("stopped-and-continued", WAITS, scancel("-b", "-s", "STOP"), Act(when=When.MARK, mark="ready", do=("scancel", "-b", "-s", "CONT", "{job}")), done("ready")),
    outside("cancelled-by-state", STILL, scancel("--state=RUNNING"), managers=SLURM),
    outside("cancelled-by-itself", "trap 'echo told > told' TERM\nscancel $SLURM_JOB_ID\n" + WAITS),
)  # fmt: skip

# A time limit is a minute at least.
_LIMITS = (
    outside("limit", STILL.replace("25", "200"), header=("--time=1",), seconds=150.0),
    outside("limit-cleans-up", "trap 'echo at the limit > told; exit 0' TERM\n: > ready\nwhile :; do sleep 0.2 & wait $!; done\n", header=("--time=1",), seconds=150.0),
    outside("warned", "trap 'echo USR1 >> signals; exit 0' USR1\n" + WAITS, header=("--time=1", "--signal=B:USR1@57"), managers=SLURM, seconds=40.0, volatile=("messages:*",)),
    outside("warned-step", "trap 'echo script >> signals' USR1\n" + _STEP + "wait $step; echo $? >> signals\n", header=("--time=1", "--signal=USR1@57"), managers=SLURM, seconds=40.0, volatile=("messages:*",)),
    outside("warned-reserved", "trap 'echo USR1 >> signals; exit 0' USR1\n" + WAITS, header=("--time=1", "--signal=BR:USR1@57"), managers=SLURM, seconds=40.0, volatile=("messages:*",)),
    outside("warned-untrapped", STILL, header=("--time=1", "--signal=B:USR1@57"), managers=SLURM, seconds=40.0, volatile=("messages:*",)),
    outside("warned-term", "trap 'echo TERM >> signals; exit 0' TERM\n" + WAITS, header=("--time=1", "--signal=B:TERM@57"), managers=SLURM, seconds=40.0, volatile=("messages:*",)),
)  # fmt: skip

# Slurm holds a job that is requeued for two minutes.
_NOW, _SECOND, _THIRD = (
    Act(when=When.AGAIN, times=times, do=("scontrol", "update", "jobid={job}", HOLD_LIFTED))
    for times in (1, 2, 3)
)
_RUNS = "echo run ${SLURM_RESTART_COUNT-first} >> runs\n"


def _first(text: str) -> str:
    """Return lines for the job's first run alone."""
    return f'if [ -z "$SLURM_RESTART_COUNT" ]; then\n{text}fi\n'


_REQUEUES = (
    outside("own-requeue", _RUNS + "echo said in this run\n" + _first("scontrol requeue $SLURM_JOB_ID; sleep 25; exit 1\n"), _NOW, header=("--requeue",), seconds=30.0),
    outside("own-requeue-by-default", _RUNS + _first("scontrol requeue $SLURM_JOB_ID; echo $?; sleep 25; exit 1\n"), _NOW, seconds=30.0),
    outside("own-requeue-later", _RUNS + _first("sleep 4; scontrol requeue $SLURM_JOB_ID; sleep 25; exit 1\n"), _NOW, header=("--requeue", "--open-mode=append"), seconds=30.0),
    outside("own-requeue-thrice", _RUNS + "[ \"${SLURM_RESTART_COUNT:-0}\" = 3 ] && exit 0\nsleep 1; scontrol requeue $SLURM_JOB_ID; sleep 25; exit 1\n", _NOW, _SECOND, _THIRD, header=("--requeue",), seconds=60.0),
    outside("own-requeue-refused", _RUNS + "scontrol requeue $SLURM_JOB_ID; echo $?; exit 3\n", header=("--no-requeue",)),
    outside("own-requeue-hold", _RUNS + _first("scontrol requeuehold $SLURM_JOB_ID; sleep 25; exit 1\n"), Act(when=When.AGAIN, do=("scontrol", "release", "{job}")), header=("--requeue",), managers=SLURM, seconds=30.0),
    outside("requeued", _RUNS + _first(STILL + "exit 1\n"), Act(when=When.MARK, mark="ready", do=("scontrol", "requeue", "{job}")), _NOW, seconds=30.0),
    outside("requeued-held", _RUNS + _first(STILL + "exit 1\n"), Act(when=When.MARK, mark="ready", do=("scontrol", "requeuehold", "{job}")), Act(when=When.AGAIN, do=("scontrol", "release", "{job}")), header=("--requeue",), managers=SLURM, seconds=30.0),
    outside("requeued-trap", "trap 'echo told >> runs; exit 1' TERM\n" + _RUNS + _first(": > ready; while :; do sleep 0.1; done\n"), Act(when=When.MARK, mark="ready", do=("scontrol", "requeue", "{job}")), _NOW, seconds=30.0),
    outside("requeue-at-warning", "trap 'echo checkpoint > state; scontrol requeue $SLURM_JOB_ID' USR1\n" + _RUNS + _first(WAITS) + "cat state\n", _NOW, header=("--time=1", "--signal=B:USR1@57", "--requeue"), managers=SLURM, seconds=60.0, volatile=("messages:*",)),
    outside("requeue-exit-code", _RUNS + "[ \"${SLURM_RESTART_COUNT:-0}\" -lt 2 ] && exit 111\nexit 0\n", _NOW, _SECOND, header=("--requeue",), managers=SLURM, seconds=40.0),
    outside("held-again", WAITS, Act(when=When.MARK, mark="ready", do=("scontrol", "hold", "{job}")), done("ready")),
    outside("suspended", "i=0; : > ready; while [ $i -lt 30 ]; do echo $i; sleep 0.1; i=$((i+1)); done\n", Act(when=When.MARK, mark="ready", do=("scontrol", "suspend", "{job}")), Act(when=When.SUSPENDED, do=("scontrol", "resume", "{job}")), managers=SLURM),
    outside("suspended-step", "trap 'echo cont >> signals' CONT\nsrun sh -c 'i=0; : > ready; while [ $i -lt 40 ]; do sleep 0.1; i=$((i+1)); done; echo stepped' & wait $!; wait; echo $?\n", Act(when=When.MARK, mark="ready", do=("scontrol", "suspend", "{job}")), Act(when=When.SUSPENDED, do=("scontrol", "resume", "{job}")), managers=SLURM),
    outside("top-and-update", WAITS, Act(when=When.MARK, mark="ready", do=("scontrol", "update", "jobid={job}", "TimeLimit=20")), done("ready"), managers=SLURM),
    outside("renamed", WAITS, Act(when=When.MARK, mark="ready", do=("scontrol", "update", "jobid={job}", "JobName=renamed")), done("ready"), managers=SLURM),
)  # fmt: skip


def _dependent(kind: str) -> Act:
    options = (
        "sbatch",
        "--time=10",
        "-J",
        f"after-{kind}",
        "-D",
        "{place}",
        "-o",
        "/dev/null",
        "-d",
        f"{kind}:{{job}}",
    )
    return Act(when=When.SEEN, do=(*options, "--wrap", f"echo {kind} > after-{kind}"))  # fmt: skip


_KINDS = ("afterany", "afterok", "afternotok", "after")
_DEPENDENTS = (
    outside("dependents-ok", "sleep 1\n", *map(_dependent, _KINDS)),
    outside("dependents-failed", "sleep 1; exit 3\n", *map(_dependent, _KINDS)),
    outside("dependents-cancelled", STILL, *map(_dependent, _KINDS), scancel()),
    outside("dependents-signal", "ulimit -c 0\nsleep 1; kill -SEGV $$; sleep 5\n", *map(_dependent, _KINDS)),
    outside("dependent-array", "sleep 1\n", _dependent("aftercorr"), _dependent("afterok"), header=("--array=0-1",), managers=SLURM),
    outside("dependents-hetjob", _HET_STEP, *map(_dependent, _KINDS), header=("--ntasks=1", "hetjob", "--ntasks=2"), managers=SLURM),
    outside("dependent-burst-buffer", "sleep 1\n", _dependent("afterburstbuffer"), managers=SLURM),
)  # fmt: skip

_URGENT = (
    "sbatch",
    "--time=10",
    "-J",
    "urgent",
    "-p",
    "urgent",
    "-D",
    "{place}",
    "-o",
    "/dev/null",
    "-w",
    "{host}",
    "--exclusive",
    "--wrap",
    "sleep 1; echo urgent > urgent",
)


def _preempted(mode: str, *acts: Act, ends: bool = False) -> Feature:
    text = (
        f"trap 'echo told TERM >> signals{'; exit 0' if ends else ''}' TERM\n"
        + _RUNS
        + _first(": > ready; i=0; while [ $i -lt 60 ]; do sleep 0.1; i=$((i+1)); done\n")
    )
    begin = Act(when=When.MARK, mark="ready", do=_URGENT)
    return outside(f"preempted-{mode}{'-ends' if ends else ''}", text, begin, *acts, header=(f"--partition=low-{mode}", "--exclusive"), managers=SLURM, seconds=60.0)  # fmt: skip


_PREEMPTIONS = (
    _preempted("requeue", _NOW),
    _preempted("cancel"),
    _preempted("requeue", _NOW, ends=True),
    _preempted("cancel", ends=True),
    _preempted("suspend"),
    _preempted("off"),
)

_LOSES = Act(when=When.MARK, mark="ready", do=("kill-node", "{node}"))
_LOSES_HOST = Act(when=When.MARK, mark="ready", do=("kill-node", "{host}"))
_BACK = Act(when=When.ENDED, do=("start-node",))
_TWO = ("--nodes=2", "--ntasks=2", "--exclusive")
_STEPS = "srun sh -c ': > ready; sleep 40; echo rank $SLURM_PROCID done >> ranks'; echo status $? >> status\n"
_LOSSES = (
    outside("node-lost", _STEPS, _LOSES, _BACK, header=(*_TWO, "--no-requeue"), seconds=90.0),
    outside("node-lost-requeued", _RUNS + _first(_STEPS), _LOSES, _NOW, _BACK, header=_TWO, seconds=120.0),
    outside("node-lost-no-kill", _STEPS, _LOSES, _BACK, header=(*_TWO, "--no-requeue", "--no-kill"), seconds=90.0),
    outside("host-lost", STILL.replace("25", "60"), _LOSES_HOST, _BACK, header=("--exclusive", "--no-requeue"), seconds=120.0),
    outside("host-lost-requeued", _RUNS + _first(": > ready; sleep 60\n"), _LOSES_HOST, _NOW, _BACK, header=("--exclusive",), seconds=150.0),
    outside("node-lost-dependents", _STEPS, *map(_dependent, _KINDS), _LOSES, _BACK, header=(*_TWO, "--no-requeue"), seconds=90.0),
)  # fmt: skip

_FLUX = (
    outside("flux-ranks", "flux run -N $(flux resource list -no '{nnodes}') hostname | sort > ranks\n", managers=("flux",)),
    outside("flux-cancelled", STILL, Act(when=When.MARK, mark="ready", do=("flux", "cancel", "{job}")), managers=("flux",), seconds=40.0),
    outside("flux-signal", _trap("USR1") + WAITS, Act(when=When.MARK, mark="ready", do=("flux", "job", "kill", "-s", "USR1", "{job}")), done("got-USR1"), managers=("flux",), seconds=60.0),
    outside("flux-moved-up", WAITS, Act(when=When.MARK, mark="ready", do=("flux", "job", "urgency", "{job}", "31")), done("ready"), managers=("flux",)),
)  # fmt: skip

OUTSIDE = (*_signals(), *_CANCELS, *_LIMITS, *_REQUEUES, *_DEPENDENTS, *_PREEMPTIONS, *_LOSSES, *_FLUX)
