"""The keeper: the process that the batch script runs. It waits for the isolator, and restarts a dead one.

Run by path, with an interpreter that has no site packages: the keeper imports the standard library only and
stays small for as long as the job lasts. Its one argument is a JSON object, the fields of ``Keeper``.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import select
import signal
import sys
import threading
import time

if __name__ == "__main__":  # run by path, in an interpreter without packages
    sys.path.append(os.path.abspath(__file__).rsplit(os.sep, 5)[0])  # noqa: PTH100
from whesl import drop_coerced_locale, take_own_name
from whesl.files import file_retry
from whesl.runtime.detect import output_passthrough
from whesl.runtime.isolator.launch import home_watch, isolator_start, program_runner, signal_delivery
from whesl.runtime.isolator.launch.signal_delivery import CAUSED, ENDING, SIGNALS
from whesl.runtime.locking import procfs

TYPE_CHECKING = False  # importing typing and pathlib costs milliseconds, and memory while the job lasts
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn

RESTARTS = 5
RESTART_WINDOW = 60.0
EXIT_NO_ISOLATOR = 70  # EX_SOFTWARE of sysexits.h: the isolator keeps dying
EXIT_TEMPORARY = 75  # EX_TEMPFAIL: another run of the task goes on
LOST = 76  # an isolator's exit status when another isolator has taken its task over
# Seconds within which a signal that has killed the job's script also reaches the keeper.
_TOLD = 0.5


class Keeper:
    """Keeps the isolator of one task alive.

    Args:
        task_dir: the task's directory.
        python: the interpreter for the isolator.
        claim: the claim that the isolator's result has to carry.
        isolator: the running isolator's process number.
        child: whether the isolator is a child of this process (else this keeper attached to it).
        runner: the process number of a first attempt's runner that this process has started; 0 for none.
        copy: the streams (``stdout``, ``stderr``) whose files are copied through to the keeper's own streams.
        common: those of the copied streams whose target file other tasks append to as well.
        in_job: whether the task is in a job of a resource manager, which ends the job itself.
        batch: the process number of the job's script, which may be this process; 0 for none.
        gate: the pipe's end by which a waiting isolator is told to load; 0 when no isolator waits.
        summary: where the isolator's summary is shown at the end: "stderr", a file's path, "" for nowhere.
        quiet: whether to show no notices.
    """

    def __init__(
        self,
        task_dir: str,
        python: str,
        claim: str,
        isolator: int,
        *,
        child: bool,
        runner: int,
        copy: list[str],
        summary: str,
        quiet: bool,
        common: Sequence[str] = (),
        in_job: bool = False,
        batch: int = 0,
        gate: int = 0,
    ) -> None:
        self._directory = task_dir
        self._python = python
        self._claim = claim
        self._isolator = isolator
        self._home = home_watch.HomeWatch(task_dir)
        self._child = child
        self._status = 0  # the exit status of the last isolator that was a child
        self._runner = procfs.pidfd(runner) if runner else None
        # The runner's exit status, where the task's directory was removed before the runner ended.
        self._bereft: int | None = None
        # The signal by which the plain command would have died, once ``run`` has returned; 0 for none.
        self.died_of = 0
        self._summary = summary
        self._quiet = quiet
        # The stream whose copier shows notices: stdout where both streams are one, such as a terminal.
        self._teller = "stderr" if "stderr" in copy else "stdout"
        self._starts: list[float] = []
        self._last = False
        self._in_job = in_job
        self._script = procfs.Watched(batch) if batch not in (0, os.getpid()) else None
        # Signals that came before the program was started, each with its reach.
        self._held: list[tuple[int, str]] = []
        self._early: set[signal.Signals] = set()  # signals that came before this process listened
        self._overtaken: set[int] = set()  # signals that end the program, unless it has just ended by itself
        self._heard: set[int] = set()
        self._ending: list[int] = []  # signals to report to the next isolator
        self._program: tuple[int, signal_delivery.Program] | None = None
        self._witnesses: signal_delivery.Witnesses | None = None
        self._first_runner = runner
        self._gate = gate
        if gate:
            os.set_inheritable(gate, False)
        self._over = threading.Event()
        self._wakeup = -1  # the pipe's end for the numbers of signals that came
        self._told = 0  # the time of the last shown notice of a pause, ns since the epoch
        self._copiers = [self._copier(name, common=name in common) for name in copy]

    def run(self) -> int:
        """Wait until the task is over and return its exit status."""
        read, self._wakeup = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(self._wakeup, warn_on_full_buffer=False)
        signal_delivery.pass_caused(self._wakeup)
        self._witnesses = signal_delivery.Witnesses()
        for signum in signal_delivery.heard():
            signal.signal(signum, lambda *_: None)
        # The signals were blocked before the isolator was started (see ``signal_delivery.hold_signals``).
        self._early = signal.sigpending()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        for copier in self._copiers:
            copier.start()
        self._home.start()
        result = self._wait_briefly(read) if self._gate else None
        while result is None:
            self._wait(read)
            result = self._result()
            if result is not None or self._status == LOST or self._in_vain() or not self._start_again(read):
                break
        self._over.set()
        self.died_of = output_passthrough.finish(self._copiers, read, self._heard, ENDING)
        if self.died_of:
            return 128 + self.died_of
        if result is None and self._status == LOST:
            with contextlib.suppress(OSError):
                sys.stderr.write("whesl: another run of this task has taken it over: this one ends\n")
            while self._moved():
                signal.pause()
            return EXIT_TEMPORARY
        if result is None:
            return self._without_isolator()
        self._tell(str(result.get("notice", "")))
        code = int(result["code"])
        self.died_of = self._death(code)
        return code

    def _death(self, code: int) -> int:
        """Return the signal by which the plain command would have died, 0 for none.

        Args:
            code: the task's exit status.
        """
        left = self._left()[1:]
        # Either the program has died of the signal, or the signal came without the program ending normally
        # with that status.
        if left == (code, True) or (code - 128 in self._heard and left != (code, False)):
            return code - 128
        return min(self._overtaken, default=0)

    def _moved(self) -> bool:
        """Whether another node of the same job has taken the task over, so that the job's script may not end.

        A resource manager that has called this node down would take the script's end for the job's.
        """
        with contextlib.suppress(OSError, ValueError, LookupError, AttributeError):
            job = json.loads(file_retry.content(f"{self._directory}/job.json") or b"{}")
            return bool(job.get("moved_from")) and job["setup"]["claim"] == self._claim
        return False

    def _tell(self, notice: str) -> None:
        """Show the summary on request; else a notice, WHESL's single line in a job's output."""
        try:
            if self._summary:
                summary = f"{self._directory}/summary"
                text = (file_retry.content(summary, file_retry.BRIEF) or b"").decode(errors="replace")
                if not text:
                    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
                if self._summary == "stderr":
                    sys.stderr.write(text)
                    return
                flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
                with open(self._summary, "a", opener=lambda path, _: os.open(path, flags, 0o666)) as file:
                    file.write(text)
        except OSError as error:
            notice = notice or f"whesl: no summary ({error}): see {self._directory}/summary"
        if notice and not self._quiet:
            with contextlib.suppress(OSError):
                sys.stderr.write(f"{notice}\n")

    def _wait_briefly(self, signals: int) -> dict[str, Any] | None:
        """Return the result of a short task that needs no isolator; else let the isolator load."""
        from whesl.runtime.isolator.launch import (
            short_task_without_isolator,  # imported here since few keepers need it
        )

        result = None
        isolator = self._home.isolator = procfs.pidfd(self._isolator)
        try:
            short = short_task_without_isolator.Short(self._directory)
            if short.wait(self._runner, [signals, isolator]):
                if self._runner is not None:
                    self._reap_runner()
                result = short.end()
        except Exception as error:  # after any error, an isolator does the same work
            with contextlib.suppress(OSError), open(f"{self._directory}/log", "a") as log:  # noqa: PTH123
                log.write(f"an isolator is needed: {error!r}\n")
        self._home.isolator = None
        if isolator is not None:
            os.close(isolator)
        with contextlib.suppress(OSError):  # the isolator is dead
            os.write(self._gate, isolator_start.PARTING if result else isolator_start.GO)
        os.close(self._gate)
        if result:
            self._reap()
        return result

    def _wait(self, signals: int) -> None:
        """Wait until the isolator is gone, and forward signals meanwhile."""
        pidfd = self._home.isolator = procfs.pidfd(self._isolator)
        if pidfd is None:
            self._reap()
            return
        poller = select.poll()
        poller.register(signals, select.POLLIN)
        poller.register(pidfd, select.POLLIN)
        if self._runner is not None:
            poller.register(self._runner, select.POLLIN)
        for descriptor in self._script.descriptors if self._script is not None else ():
            poller.register(descriptor, select.POLLIN)
        ending, self._ending = self._ending, []
        for signum in ending:
            self._tell_isolator(signum)
        gone = False
        while not gone:
            if self._script is not None and self._script.gone():
                self._end_with_script(self._script, poller, signals)
            patience = output_passthrough.LOOK_FIRST * 1000 if self._held else None
            for descriptor, _ in poller.poll(patience):
                if descriptor == pidfd:
                    gone = True
                    continue
                if descriptor == self._runner:
                    poller.unregister(descriptor)
                    self._reap_runner()
                    continue
                if descriptor == signals:
                    self._hear(signals)
            self._deliver()
        self._home.isolator = None
        os.close(pidfd)
        self._reap()

    def _end_with_script(self, script: procfs.Watched, poller: select.poll, signals: int) -> None:
        """Die after the job's script has died: the isolator ends the task when its keeper is gone.

        After a signal to the whole job, the keeper lives on, so that the program has time to end.
        """
        for descriptor in script.descriptors:
            poller.unregister(descriptor)
        self._script, deadline = None, time.monotonic() + _TOLD
        while not self._heard.intersection(ENDING):
            if not select.select([signals], (), (), max(deadline - time.monotonic(), 0))[0]:
                os.kill(os.getpid(), signal.SIGKILL)
            self._hear(signals)

    def _hear(self, signals: int) -> None:
        """Pass on received signals, first those that end recovery to the isolator."""
        assert self._witnesses is not None
        came = [signum for signum in os.read(signals, 64) if signum in SIGNALS | CAUSED]
        self._heard.update(came)
        program = self._program_now()
        deadly = [s for s in came if s in ENDING and program is not None and not program.handles(s)]
        reach = self._witnesses.reach(came, deadly)
        for signum in came:
            alone = self._in_job and reach[signum] == signal_delivery.ONE
            if signum in ENDING:
                self._tell_isolator(signal_delivery.ALONE[signal.Signals(signum)] if alone else signum)
            if reach[signum] == signal_delivery.EVERYBODY:
                continue
            early = signum in self._early
            if signum in deadly and not early:
                self._overtaken.add(signum)
            if not self._send(signum, reach[signum], early=early):
                self._held.append((signum, reach[signum]))
        self._early = set()

    def _deliver(self) -> None:
        """Send the program the signals that came before it was started."""
        for each in [each for each in self._held if self._send(*each, early=True)]:
            self._held.remove(each)
            self._overtaken.discard(each[0])

    def _send(self, signum: int, reach: str, *, early: bool) -> bool:
        program = self._program_now()
        return program is not None and program.send(signum, reach, early=early)

    def _program_now(self) -> signal_delivery.Program | None:
        runner = self._first_runner if self._runner is not None else program_runner.running(self._directory)
        if runner and (self._program is None or self._program[0] != runner):
            self._program = runner, signal_delivery.Program(runner)
        return self._program[1] if runner and self._program else None

    def _tell_isolator(self, signum: int) -> None:
        """Pass a signal on to the isolator, to the next one when none runs."""
        try:
            if self._home.isolator is not None:
                signal.pidfd_send_signal(self._home.isolator, signum)
                return
        except ProcessLookupError:
            pass
        self._ending.append(signum)

    def _reap(self) -> None:
        if self._child:
            with contextlib.suppress(ChildProcessError):
                self._status = os.waitstatus_to_exitcode(os.waitpid(self._isolator, 0)[1])

    def _reap_runner(self) -> None:
        """Reap the runner, a child of this process; the isolator reads its status from a file."""
        assert self._runner is not None
        with contextlib.suppress(ChildProcessError):
            end = os.waitid(os.P_PIDFD, self._runner, os.WEXITED)
            if end is not None and end.si_code == os.CLD_EXITED:
                self._home.ended = end.si_status
                if file_retry.gone(self._directory):
                    self._bereft = end.si_status  # without the task's directory, no attempt can follow
        os.close(self._runner)
        self._runner = None

    def _result(self) -> dict[str, Any] | None:
        """Return the task's result (``taskdir.Result``), None where the isolator has left none."""
        try:
            result: dict[str, Any] = json.loads(file_retry.content(f"{self._directory}/result.json") or b"{}")
        except (OSError, ValueError):
            return None
        return result if result.get("claim") == self._claim else None

    def _without_isolator(self) -> int:
        """Return the exit status that the task's runner has left, with a warning that no rule judged it."""
        number, status, _ = self._left()
        said = f"whesl: the isolator ended {RESTARTS + 2} times, soon after its start, and no task runs"
        hint = f"see {self._directory}/log"
        if self._status == os.EX_IOERR:
            said = f"whesl: the files in {self._directory} cannot be read or written, and no task runs"
        if file_retry.gone(self._directory):
            said, status = f"whesl: {self._directory} was removed while its task ran", self._bereft
            hint = "something cleans WHESL_HOME; `whesl clean` removes what is over"
        if status is not None:
            said += f"; attempt {number or 1} ended with status {status}, which no rule has judged"
        with contextlib.suppress(OSError):
            sys.stderr.write(f"{said}\n  hint: {hint}\n")
        return EXIT_NO_ISOLATOR if status is None else status

    def _left(self) -> tuple[int, int | None, bool]:
        """Return the last attempt's number, its exit status or None, and whether it died of a signal."""
        try:
            numbers = [name.partition("attempt-")[2] for name in file_retry.names(self._directory)]
            newest = max((int(each) for each in numbers if each.isascii() and each.isdigit()), default=0)
            place = f"{self._directory}/attempt-{newest}"
            if file_retry.content(f"{place}/claim") != self._claim.encode():
                return newest, None, False
            return newest, *program_runner.read(file_retry.content(f"{place}/status") or b"")
        except OSError:
            return 0, None, False

    def _in_vain(self) -> bool:
        """Whether a task that was told to end has ended, and its result cannot be written."""
        told = bool(self._heard.intersection(ENDING))
        return told and self._status == os.EX_IOERR and not program_runner.running(self._directory)

    def _start_again(self, signals: int) -> bool:
        if self._bereft is not None:
            return False
        now = time.monotonic()
        # Restarts are counted anew once an isolator has run for the window's length.
        if self._starts and now - self._starts[-1] >= RESTART_WINDOW:
            self._starts = []
        if len(self._starts) >= RESTARTS:
            if self._outlast(signals, RESTART_WINDOW):
                now, self._starts, self._last = time.monotonic(), [], False
            elif self._last:
                return False
            else:
                # The task may just have ended: one more isolator reports its end.
                self._last = True
        self._starts.append(now)
        # The first restart is immediate; later ones are delayed, so that isolators that die at once do not
        # use up all restarts within a second.
        time.sleep(0.0 if len(self._starts) == 1 else 0.2 * 2 ** len(self._starts))
        self._isolator = isolator_start.start_isolator(self._python, self._directory)
        self._child = True
        return True

    def _outlast(self, signals: int, patience: float) -> bool:
        """Wait beside a task without an isolator until the task ends, a signal comes, or the time is over.

        The keeper's end would end the job and so the task: a sound task must not end because of WHESL's own
        failures.

        Args:
            signals: the descriptor on which signals arrive.
            patience: seconds to wait.

        Returns False when no task runs.
        """
        found = program_runner.running(self._directory)
        runner = procfs.pidfd(found) if found else None
        if runner is None:
            return False
        poller = select.poll()
        poller.register(signals, select.POLLIN)
        poller.register(runner, select.POLLIN)
        for descriptor, _ in poller.poll(patience * 1000):
            if descriptor == signals:
                self._hear(signals)
        os.close(runner)
        return True

    def _copier(self, name: str, *, common: bool) -> threading.Thread:
        """Return a thread that copies a stream through; a slow reader delays this thread alone."""
        teller = self._summary == "stderr" and name == self._teller
        idle = self._tell_paused if teller else lambda: None
        streams = (self._directory, name, 1 if name == "stdout" else 2, self._over, idle, self._break_pipe)
        settings = {"common": common}
        return threading.Thread(target=output_passthrough.copy, args=streams, kwargs=settings, daemon=True)

    def _break_pipe(self) -> None:
        """Send the program what the kernel sends to who writes into a pipe without a reader."""
        os.write(self._wakeup, bytes((signal.SIGPIPE,)))

    def _tell_paused(self) -> None:
        """Show once the notice of a paused task."""
        with contextlib.suppress(OSError), open(f"{self._directory}/paused") as file:  # noqa: PTH123
            when = os.fstat(file.fileno()).st_mtime_ns
            if when != self._told:
                sys.stderr.write(file.read())
                sys.stderr.flush()
            self._told = when


def become(told: dict[str, Any]) -> NoReturn:
    """Become a keeper, in a new interpreter that has loaded nothing else.

    Args:
        told: the fields of ``Keeper``.
    """
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # a stream that was closed when this process started is None
            stream.flush()
    program = [sys.executable, "-I", "-S", os.path.abspath(__file__), json.dumps(told)]  # noqa: PTH100
    os.execv(sys.executable, program)  # noqa: S606  # a list


if __name__ == "__main__":
    take_own_name()
    drop_coerced_locale()
    keeper = Keeper(**json.loads(sys.argv[1]))
    status = keeper.run()
    sys.stderr.flush()
    if keeper.died_of:
        signal_delivery.die(keeper.died_of)
    # The caller waits, and the interpreter has nothing to clean up.
    os._exit(status)
