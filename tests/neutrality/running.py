"""Runs cases on a cluster, plain and wrapped side by side, and collects what became of each."""

from __future__ import annotations

import os
import stat
import subprocess
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from tests import commands
from tests.neutrality import progress
from tests.neutrality.cases import FEATURES
from tests.neutrality.composing import RULES, Job, applies, job_of
from tests.neutrality.observing import Places, labels, outcome
from tests.neutrality.records import CONTROLS, Act, Case, Outcome, Way
from tests.neutrality.sites import WHESL, Site
from whesl.model.hostlist import expand
from whesl.testing.waiting import BUSY, looks

# The script itself is the job, or the command that it calls.
PLAIN = {
    "run": Way(name="plain", command="run", rules=next(iter(RULES))),
    "exec": Way(name="plain-exec", command="exec", rules=next(iter(RULES))),
    "front": Way(name="plain-front", command="front", rules=next(iter(RULES))),
}
# What scripts write when they get a signal.
TELLING = ("signals", "cleaned", "checkpoint", "child", "told", "slow")
# Texts that show what ``whesl run`` hands on: for those it is a program, else a fork, which takes less.
PROGRAM = {"facts", "where", "srun-environment"}
# Seconds that a run may take beside what its job takes: submission, queue, report.
_AROUND = 60.0
# So many looks without anything new are made before a run counts as over.
_STILL = 2
# What tells the steps of calls apart: a script calls once, or several times.
_CALLS = ("", *(f"-{number}" for number in range(1, 12)))
# The same where an act still waits: a job that has lost its node is requeued some moments later.
_STILL_WAITING = 40


class Twin(msgspec.Struct, frozen=True, kw_only=True):
    """One run of one case."""

    case: Case
    way: Way
    plain: bool

    @property
    def compared(self) -> bool:
        """Whether it is compared with a plain one, as the control is, too."""
        return self.way not in PLAIN.values()


def twins(pairs: Iterable[tuple[Case, Way]], manager: str) -> list[Twin]:
    """Return all runs, those of one case beside each other: each way needs its plain one.

    Args:
        pairs: cases, and the ways in which they are run.
        manager: the cluster's resource manager.

    A control is a second plain run: what differs there is no matter of wrapping.
    """
    found: dict[tuple[str, str], Twin] = {}
    for case, way in pairs:
        if applies(case, FEATURES, way, manager):
            plain = plain_of(way)
            found.setdefault((case.name, plain.name), Twin(case=case, way=plain, plain=True))
            found[case.name, way.name] = Twin(case=case, way=way, plain=way in CONTROLS.values())
    return list(found.values())


def plain_of(way: Way) -> Way:
    """Return what a way is compared with."""
    return PLAIN[way.command]


class Run:
    """A run at work.

    Args:
        site: the cluster.
        twin: what is run.
        number: unique, for its directory.
    """

    def __init__(self, site: Site, twin: Twin, number: int) -> None:
        self.site, self.twin = site, twin
        self.place = site.root / f"twin-{number:05d}"
        self.log = site.root.parent / "logs" / f"{number:05d}"
        call = b"" if twin.plain else _call(site, twin.way)
        # The shell names the whole command line when it tells how a command ended, the wrapping words too.
        named = (call.replace(b"--step app", f"--step app{end}".encode()) for end in _CALLS)
        self.around = tuple((f"{one.decode()} ", "") for one in named) if call else ()
        self.job: Job = job_of(twin.case, FEATURES, twin.way, call, site.manager)
        self.acts: deque[Act] = deque(self.job.acts)
        self.seen = progress.Seen(jobs=())
        self.acted: list[float] = []  # seconds since the epoch
        self.killed: list[str] = []
        self.nodes: dict[str, None] = {}  # lists that its jobs have had
        self.problem = ""
        self.still = 0
        self.process: subprocess.Popen[bytes] | None = None
        self.deadline = 0.0

    def start(self) -> None:
        """Make its directory and submit it."""
        self.place.mkdir()
        self.log.mkdir(parents=True)
        for name, content in {**self.job.files, "job.sh": self.job.script}.items():
            path = self.place / name
            path.parent.mkdir(exist_ok=True, parents=True)
            content = content.replace(b"{place}", os.fsencode(self.place)) if name == "job.sh" else content
            content = content.replace(b"{twin}", self.place.name.encode()) if name == "job.sh" else content
            path.write_bytes(content)
            path.chmod(0o755 if content.startswith(b"#!") else 0o644)
        environment = {**self.site.environment, **self.job.environment, "PWD": str(self.place)}
        what: list[str | bytes] = ["job.sh", *self.job.arguments]
        what = ["--wrap", self.job.script] if self.job.wrap else what
        words: list[str | bytes] = [*self.site.submit, *self.job.command, *what]
        if not self.twin.plain and self.twin.way.command == "run":
            rules = str(self.site.root.parent / "rules" / f"{self.twin.way.rules.value}.esl")
            words = [WHESL, "run", "job.sh", "-e", rules, "--rjms", self.site.manager, "--poll", "1"]
            words += ["--observe"] if self.twin.way.observe else []
            words += ["--", *self.job.command] if self.job.command else []
        if self.twin.way.command == "front":
            rules = str(self.site.root.parent / "rules" / f"{self.twin.way.rules.value}.esl")
            words = ["./job.sh"] if self.twin.plain else [WHESL, "front", "-e", rules, "--", "./job.sh"]
        with (self.log / "out").open("wb") as out, (self.log / "err").open("wb") as err:
            start: Callable[..., subprocess.Popen[Any]] = partial(subprocess.Popen, words)
            if words[0] == WHESL and not PROGRAM & set(self.twin.case.features):
                start = partial(commands.begin, *map(os.fsdecode, words[1:]))
            self.process = start(
                cwd=self.place,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
        self.deadline = time.monotonic() + BUSY * (_AROUND + self.job.seconds)

    def look(self) -> None:
        """Take down which files are there, before the jobs are looked at: those are as far then at least."""
        self.seen = progress.Seen(
            jobs=self.seen.jobs, files=frozenset(path.name for path in self.place.iterdir())
        )

    def advance(self, jobs: Sequence[Mapping[str, str]]) -> bool:
        """Take a look's jobs, do what is due, and return whether the run is over."""
        mine = [job for job in jobs if _inside(job.get("WorkDir", ""), self.place)]
        mine.sort(key=lambda job: int(job["JobId"]))
        self.seen = progress.Seen(jobs=tuple(mine), files=self.seen.files)
        self.nodes |= {job["NodeList"]: None for job in mine if job.get("NodeList", "(null)") != "(null)"}
        while self.acts and progress.due(self.acts[0], self.seen):
            self._do(self.acts.popleft())
        status = self.process.poll() if self.process is not None else None
        if status is None:
            finished = False
        elif not self.seen.jobs:
            finished = status != 0 or self.twin.way.command == "front"  # refused, or it submits nothing
        else:
            finished = all(map(progress.ended, self.seen.jobs))
        self.still = self.still + 1 if finished else 0
        if self.still > (_STILL_WAITING if self.acts else _STILL):
            return True
        if time.monotonic() > self.deadline:
            self.problem = f"did not end: {'the command' if status is None else 'its jobs'}"
            self._abandon()
            return True
        return False

    def _do(self, act: Act) -> None:
        nodes = (
            expand(self.seen.jobs[0].get("NodeList", ""))
            if self.seen.jobs[0].get("NodeList", "(null)") != "(null)"
            else []
        )
        words = progress.command(act, self.seen, str(self.place), nodes)
        self.acted.append(time.time())
        if words[0] == "kill-node":
            self.killed.append(words[1])
            self.site.kill_node(words[1])
        elif words[0] == "start-node":
            self.revive()
        elif words[0] == "touch":
            Path(words[1]).touch()
        else:
            environment = {**self.site.environment, **self.job.environment}
            result = subprocess.run(
                words,
                env=environment,
                cwd=self.place,
                capture_output=True,
                text=True,
                check=False,
                timeout=300,
            )
            with (self.log / "acts").open("a") as log:
                log.write(f"{words} {result.returncode} {result.stdout} {result.stderr}\n")

    def revive(self) -> None:
        """Start the nodes that were killed for it."""
        while self.killed:
            self.site.start_node(self.killed.pop())

    def _abandon(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for job in self.seen.jobs:
            subprocess.run(
                [*self.site.cancel, job["JobId"]],
                env=self.site.environment,
                capture_output=True,
                check=False,
                timeout=300,
            )

    def submitted(self) -> str:
        """Return what came of the submission."""
        status = self.process.returncode if self.process is not None else None
        if self.problem:
            return self.problem
        if self.twin.way.command == "front":
            return f"ended with {status}"
        if not self.seen.jobs:
            return "refused"
        if not self.twin.plain and self.twin.way.command == "run":
            main = labels(self.seen.jobs)
            first = [job for job in self.seen.jobs if main[job["JobId"]].startswith("1")]
            good = all(job["JobState"] == "COMPLETED" for job in first)
            if good != (status == 0):
                return f"whesl run ended with {status}, and the job is {'' if good else 'not '}completed"
        return "taken"

    def delays(self) -> dict[str, float]:
        """Return how many seconds after the last act each of the files was written that tell of a signal."""
        found = {}
        for path in self.place.iterdir():
            if path.name in TELLING or path.name.startswith("got-"):
                written = path.stat().st_mtime
                if before := [moment for moment in self.acted if moment <= written]:
                    found[path.name] = written - before[-1]
        return found

    def files(self) -> dict[str, bytes]:
        """Return what is in its directory, without what was there before."""
        found: dict[str, bytes] = {}
        if self.twin.way.command == "front":
            found |= {f"submits.{name}": (self.log / name).read_bytes() for name in ("out", "err")}
        for path in sorted(self.place.rglob("*")):
            name = str(path.relative_to(self.place))
            mode = path.lstat().st_mode
            if stat.S_ISLNK(mode):
                found[name] = f"link to {path.readlink()}".encode()
            elif (
                stat.S_ISREG(mode)
                and self.job.files.get(name) != (content := path.read_bytes())
                and name != "job.sh"
            ):
                found[name] = content
        return found


def _call(site: Site, way: Way) -> bytes:
    if way.command != "exec":
        return b""
    rules = site.root.parent / "rules" / f"{way.rules.value}.esl"
    job = "$FLUX_ENCLOSING_ID" if site.manager == "flux" else "$SLURM_JOB_ID"
    words = [WHESL, "exec", "--step", "app", "--instance", job, "-e", str(rules), "--quiet"]
    if way.observe:
        words.append("--observe")
    return " ".join([*words, "--"]).encode()


def _inside(path: str, place: Path) -> bool:
    return path == str(place) or path.startswith(f"{place}/")


def run_all(site: Site, wanted: Sequence[Twin], at_once: int = 16) -> dict[tuple[str, str], Outcome]:
    """Run all twins, so many at once, and return the outcomes by the names of case and way."""
    first = len(list(site.root.iterdir()))
    rules = site.root.parent / "rules"
    rules.mkdir(exist_ok=True)
    for kind, text in RULES.items():
        (rules / f"{kind.value}.esl").write_text(text)
    waiting, working, over = (
        deque(Run(site, twin, number) for number, twin in enumerate(wanted, first)),
        list[Run](),
        list[Run](),
    )
    total = sum(BUSY * (_AROUND + run.job.seconds) for run in waiting) + 60
    for _ in looks(total / BUSY):
        while waiting and len(working) < at_once:
            working.append(waiting.popleft())
            working[-1].start()
        for run in working:
            run.look()
        jobs = site.jobs()
        for run in list(working):
            if run.advance(jobs):
                run.revive()
                working.remove(run)
                over.append(run)
        if not working and not waiting:
            break
        time.sleep(0.15)
    return _collected(site, over)


def _whole(lists: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return the lists of nodes that are no part of another one, as that of a job that ends is."""
    return [one for one in lists if not any(set(one) < set(other) for other in lists)]


def _collected(site: Site, runs: Sequence[Run]) -> dict[tuple[str, str], Outcome]:
    time.sleep(3)  # accounting is told of the last steps' ends a moment later
    steps, mails, jobs = site.steps(), site.mails(), site.jobs()
    found = {}
    for run in runs:
        mine = [job for job in jobs if _inside(job.get("WorkDir", ""), run.place)]
        names = labels(mine)
        places = Places(
            directories=(
                *run.around,
                (str(run.place), "<place>"),
                *site.directories(),
                (run.place.name, "<twin>"),
            ),
            jobs=names | {other: names[job["JobId"]] for job in mine for other in site.aliases(job)},
            nodes=_whole([expand(names) for names in run.nodes]),
            pattern=site.pattern,
        )
        seen = outcome(
            mine,
            [step for step in steps if step[0] in names],
            run.files(),
            run.delays(),
            [mail for mail in mails if any(job in mail for job in names)],
            places,
            run.submitted(),
        )
        said = b"".join((run.log / name).read_bytes() for name in ("out", "err"))[-600:]
        seen = msgspec.structs.replace(seen, said=said.decode("utf-8", "replace"))
        found[run.twin.case.name, run.twin.way.name] = seen
    return found
