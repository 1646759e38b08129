"""Which line of several is the cause."""

from __future__ import annotations

import pytest

from tests.runtime.diagnose.logs import told, why
from whesl.model.evidence import Advice
from whesl.runtime.diagnose.vocabulary import Outcome

STEPS = "".join(f"step {n} loss {3 - n / 1000:.3f}\n" for n in range(200))


def test_a_symptom_before_its_cause_is_explained_by_it() -> None:
    log = (
        STEPS
        + "[rank1]:[E ProcessGroupNCCL.cpp:629] Watchdog caught collective operation timeout: WorkNCCL(\n"
        + "n2:1:2 [0] misc/socket.cc:50 NCCL WARN socketProgress: Connection closed by remote peer n1<1>\n"
        + "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n"
        + "srun: error: n2: task 3: Exited with exit code 1\n"
    )
    assert told(log) == ("out-of-memory-gpu", 203)
    assert len(why(log).consequences) == 3


def test_an_error_after_which_the_work_went_on_is_none() -> None:
    log = STEPS + "RuntimeError: CUDA error: out of memory\n" + STEPS + "Training complete.\n"
    assert why(log).outcome is Outcome.ENDED_WELL
    died = STEPS + "KeyError: 'x'\n" + STEPS + "OSError: [Errno 28] No space left on device: '/scratch/x'\n"
    assert told(died) == ("filesystem-full", 402)


def test_the_same_trouble_twice_that_the_work_went_on_after_is_none() -> None:
    """The second one was taken for a last failure that the first one explains."""
    log = STEPS + "Nonlinear solve did not converge\n Solve Did NOT Converge!\n" + STEPS
    assert why(log).outcome is not Outcome.FAILED


def test_work_of_the_same_form_as_before_an_error_goes_on() -> None:
    sites = [f"site {n:02}  coef   {n / 7:.4f}\n" for n in range(9)]
    error = "Error in site 9: singular gradient\n"
    assert why("".join([*sites[:4], error, *sites[4:]])).outcome is Outcome.UNKNOWN
    assert why("".join([*sites, error, "site 10 failed\n"])).outcome is Outcome.FAILED


def test_what_jobs_survive_is_a_cause_only_with_a_death() -> None:
    copy = "cp: cannot stat '/scratch/a.tar': No such file or directory\n"
    caught = "Error in file(f) : cannot open file 'x': No such file or directory\n"
    output = "".join(f"{name} is written\n" for name in ("mesh", "zone", "field", "flux", "mean", "plot"))
    assert why(copy + caught + output).outcome is Outcome.UNKNOWN
    assert told(copy) == told(caught) == ("input/config-error", 1)
    assert told(copy + output + "srun: error: n1: task 3: Exited with exit code 1\n") == (
        "input/config-error",
        1,
    )
    assert told(caught + output + "Execution halted\n") == ("input/config-error", 1)
    limit = "slurmstepd: error: Exceeded step memory limit at some point.\n"
    assert why(STEPS + limit).outcome is not Outcome.FAILED
    assert told(STEPS + "srun: error: n1: task 3: Killed\n" + limit) == ("out-of-memory-host", 202)


def test_what_an_interpreter_reads_is_no_trouble_and_shows_that_it_goes_on() -> None:
    banner = "R Under development (unstable)\n" + "Type 'q()' to quit R.\n".rjust(99, "\n")
    log = (
        banner + "Error in f(NaN) : NaN is no size\n" + "> x <- c(1)\n> y\n> identical(x, NaN)\n+   y)\n" * 9
    )
    assert why(log).outcome is Outcome.UNKNOWN


def test_a_message_that_much_work_followed_before_is_none_where_the_job_ends_well() -> None:
    task = "".join(
        f"task {n}: line 23: syntax error near unexpected token `then'\ncycle {n}\n" for n in range(50)
    )
    assert why(task + "All done.\n").outcome is Outcome.ENDED_WELL
    assert why(task).outcome is Outcome.FAILED


def test_an_exception_that_python_ignores_is_no_cause() -> None:
    ignored = (
        "Exception ignored in: <function _ConnectionBase.__del__ at 0x7f1a2b3c4d50>\n"
        'Traceback (most recent call last):\n  File "/usr/lib/python3.11/connection.py", line 132\n'
        "OSError: [Errno 9] Bad file descriptor\n"
    )
    assert why(STEPS + ignored).outcome is not Outcome.FAILED
    assert told(STEPS + ignored + "KeyError: 'x'\n") == ("segfault/app-bug", 205)


def test_what_others_meet_later_stays_the_cause() -> None:
    log = (
        "kernel: NVRM: Xid (PCI:0000:44:00): 79, GPU has fallen off the bus.\n"
        + STEPS
        + "[rank1]:[E ProcessGroupNCCL.cpp:629] Watchdog caught collective operation timeout: WorkNCCL(\n"
    )
    assert told(log) == ("gpu-hardware", 1)


def test_an_output_that_was_held_back_comes_after_the_error() -> None:
    steps = "".join(STEPS.splitlines(keepends=True)[:30])
    log = "KeyError: 'x'\n" + steps + "srun: error: n2: task 3: Exited with exit code 1\n"
    assert told(log) == ("segfault/app-bug", 1)


def test_the_first_exception_of_a_chain() -> None:
    log = """\
Traceback (most recent call last):
  File "a.py", line 1, in <module>
    raise KeyError("MemoryError: a text in the source")
KeyError: 'x'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "a.py", line 3, in <module>
RuntimeError: no x
"""
    assert told(log) == ("segfault/app-bug", 4)


def test_where() -> None:
    log = """\
[rank3]: RuntimeError: CUDA error: uncorrectable ECC error encountered
mpirun noticed that process rank 3 with PID 0 on node n02 exited on signal 9 (Killed).
"""
    found = why(log)
    assert found.cause is not None
    assert (found.cause.finding.rank, found.cause.finding.node) == (3, "n02")
    assert found.advice is Advice.OTHER_NODES


def test_nothing_known() -> None:
    assert why("hello\nworld\n").outcome is Outcome.UNKNOWN
    assert why("").outcome is Outcome.UNKNOWN


@pytest.mark.parametrize(
    ("heading", "said"),
    [
        ("Fatal error:", "Group Protein_LIG referenced in the .mdp file was not found in the index file."),
        (
            "[0] --> FOAM FATAL ERROR: (openfoam-2306)",
            "[0] number of processor directories = 32 is not equal to 64",
        ),
        ("FATAL CALLED FROM FILE:  <stdin>  LINE:   812", " the grid does not fit"),
        (" * [ABORT]      *", " *  \\___/  The requested basis set was not found in      *"),
        (
            "terminate called after throwing an instance of 'std::out_of_range'",
            "  what():  vector::_M_range_check",
        ),
        ("[n1:17] *** Process received signal ***", "[n1:17] Signal: Segmentation fault (11)"),
    ],
)
def test_of_a_heading_the_line_below_is_shown_where_it_says_why(heading: str, said: str) -> None:
    assert told(f"{STEPS}{heading}\n{said}\nAborted\n")[1] == 202
    assert told(f"{STEPS}{heading}\n")[1] == 201


def test_an_exception_is_of_the_class_that_its_words_tell() -> None:
    assert told(STEPS + "RuntimeError: the link of the fabric is down\n")[0] == "network-fabric"
    assert told(STEPS + "RuntimeError: boom\n")[0] == "segfault/app-bug"


def test_words_of_harmless_lines_do_not_silence_a_message_that_is_known_word_by_word() -> None:
    """The path of the test was read as "test error", and the peer's errno as "no error"."""
    mount = "FATAL:   container creation failed: mount /tmp/test->/tmp/test error: while mounting /tmp/test\n"
    assert told(STEPS + mount)[0] == "container"
    gloo = "[rank1]:[E528 08:52:46.1 ProcessGroupGloo.cpp:145] Gloo connectFullMesh failed with [pair.cc:144]"
    assert told(f"{STEPS}{gloo} no error\n")[0] == "launcher/rendezvous"
    assert why(STEPS + "max test error 1.2e-3\nTraining complete.\n").outcome is Outcome.ENDED_WELL


def test_a_disk_that_was_full_explains_the_container_that_was_not_made() -> None:
    log = "slurmstepd: error: pyxis: {}\n"
    said = (
        "failed to import docker image",
        "    Write failed because No space left on device",
        "couldn't start",
    )
    assert told(STEPS + "".join(map(log.format, said))) == ("filesystem-full", 202)


def test_a_program_that_stops_between_two_steps_did_not_say_that_it_has_done_its_work() -> None:
    """It was called ended well, killed or not."""
    assert why(STEPS).outcome is Outcome.UNKNOWN
    assert why(STEPS + "step 200/200 loss 2.8\n").outcome is Outcome.ENDED_WELL


def test_a_dump_of_memory_after_an_error_is_no_work() -> None:
    dump = "00000000 00000000 00000000 00000000\n" * 3 + "00000007 00000000 00000000 00000000\n"
    found = why(STEPS + "mlx5: n018.site: got completion with error:\n" + dump).cause
    assert found is not None and found.finding.node == "n018.site"


@pytest.mark.parametrize(
    ("message", "rank", "node"),
    [
        ("FATAL ERROR: CUDA error in x on Pe 4 (n01 device 0 pci 0:1:0): an illegal memory access", 4, "n01"),
        ("=   PID 7 RUNNING AT me@node1\n=   EXIT CODE: 134", None, "node1"),
        (
            "------------- Processor 821 Exiting: Caught Signal ------------\nReason: Segmentation fault\n"
            "Abort(1) on node 63 (rank 63 in comm 496): application called MPI_Abort(comm=0x8, 1)",
            821,
            None,
        ),
        ("[1,0]<stderr>:Stalled ops:HorovodBroadcast_0 [missing ranks: 5]", 5, None),
        ('0::Assertion `a >= b\' failed, file "x.cpp", line 468 !!!\nSIGABRT', 0, None),
        (
            "29: Abort(1) on node 29 (rank 29 in comm 0): application called MPI_Abort(MPI_COMM_WORLD, 1)\n"
            "srun: error: h03: tasks 0-1,3-11,25-39: Killed",
            29,
            "h03",
        ),
        (
            "Beginning MPAS-landice Error Log File for task      10 of      16\nERROR: MPAS IO Error: Bad x",
            10,
            None,
        ),
        ("[mpiexec@i026.x] HYDT_y (tools/pbs_wait.c:67): tm_poll failed with TM error 17002", None, "i026.x"),
        (
            "s3d.x: a.cc:6264: f(): Assertion `0' failed.\n*** Caught a fatal signal (proc 20): SIGABRT(6)",
            20,
            None,
        ),
        ("FATAL: task-exit: a.sh: task rank 1 on host n02 failed and exit-on-error is set", 1, "n02"),
        ("Sender: LSF System <lsf@c073>\ncat: write error: Input/output error", None, "c073"),
        (
            " *** CPASSERT failed ***\nMPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD",
            1,
            None,
        ),
    ],
)
def test_the_place_among_the_words_of_messages(message: str, rank: int | None, node: str | None) -> None:
    cause = why(f"{STEPS}{message}\n").cause
    assert cause is not None
    assert (cause.finding.rank, cause.finding.node) == (rank, node)


def test_what_is_fatal_is_so_as_a_warning_too() -> None:
    log = STEPS + "WARNING: SLURM-job '12' failed, SLURM status is: 'TIMEOUT'\n"
    assert told(log) == ("time-limit", 201)


def test_a_job_is_cancelled_where_nothing_else_says_why_its_step_was() -> None:
    step = "slurmstepd: error: *** STEP 4.0 ON n1 CANCELLED AT 2026-03-02T11:00:00 ***\n"
    assert told(STEPS + step)[0] == "preempted/cancelled"
    assert (
        told(STEPS + step + "srun: error: n1: task 3: Exited with exit code 1\n")[0]
        == "dependency-of-other-rank"
    )


def test_the_host_and_the_rank_that_the_lines_around_tell() -> None:
    retry = "The InfiniBand retry count between two MPI processes has been\nexceeded.\n  Local host:   n118\n"
    found = why(STEPS + retry).cause
    assert found is not None
    assert found.finding.node == "n118"
    stack = (
        "Abort(1090959) on node 12: Fatal error in internal_Init: Other MPI error, error stack:\n"
        "MPIDI_OFI_mpi_init_hook(814)....: OFI fi_open domain failed (ofi_init.c:814:x:No such device)\n"
    )
    found = why(STEPS + stack).cause
    assert found is not None
    assert (found.finding.line, found.finding.rank) == (202, 12)


def test_an_end_and_a_failure_in_one_line() -> None:
    """It raised ValueError."""
    assert why(STEPS + "Total time: 12 s, FATAL ERROR: the run has failed\n").outcome is Outcome.FAILED


def test_a_heading_of_any_failure_is_explained_by_the_failure_below_it() -> None:
    log = '--> FOAM FATAL IO ERROR: \nerror in IOstream "U"\n/s/U: No space left on device\n'
    assert told(STEPS + log) == ("filesystem-full", 203)


def test_a_report_that_stands_before_the_output_it_is_about() -> None:
    """LSF's report comes first, and the steps that follow were taken for work that went on."""
    report = "TERM_RUNLIMIT: job killed after reaching LSF run time limit.\nExited with exit code 140.\n"
    assert told(report + "The output (if any) follows:\n" + STEPS) == ("time-limit", 1)


def test_a_backward_pass_is_no_test_that_passed() -> None:
    found = "AssertionError: Rank 3: found NaN in local grad norm in backward pass. Device: 1, node: n02\n"
    cause = why(STEPS + found).cause
    assert cause is not None
    assert (cause.finding.rank, cause.finding.node, cause.finding.device) == (3, "n02", "1")


def test_the_allocator_names_its_gpu() -> None:
    """The line named the GPU, and the answer did not."""
    line = "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has"
    cause = why(STEPS + line + " a total capacity of 79.15 GiB\n").cause
    assert cause is not None and (cause.finding.rank, cause.finding.device) == (3, "3")


@pytest.mark.parametrize(
    ("message", "node"),
    [
        (
            "ORTE has lost communication with a remote daemon.\n\n  Remote daemon: [[1,0],1] on node n07\n",
            "n07",
        ),
        (" ORTE has lost communication with its daemon located on node:\n\n   hostname:  n07.x\n", "n07.x"),
    ],
)
def test_the_place_that_the_message_names_goes_before_the_first_rank_that_failed(
    message: str, node: str
) -> None:
    cause = why(STEPS + message + "srun: error: n03: task 5: Exited with exit code 1\n").cause
    assert cause is not None
    assert cause.finding.node == node


@pytest.mark.parametrize(
    ("told_by", "cls"),
    [
        ("=   EXIT CODE: 139", "segfault/app-bug"),
        ("=   EXIT CODE: 137", "out-of-memory-host"),
        ("=   EXIT CODE: 9\nEXIT STRING: Segmentation fault (signal 11)", "segfault/app-bug"),
        ("=   EXIT CODE: 15", "preempted/cancelled"),
        ("[ERROR] [launch.py:4:x] ['p', '--local_rank=0'] exits with return code = -9", "out-of-memory-host"),
        ("[ERROR] [launch.py:4:x] ['p', '--local_rank=0'] exits with return code = -11", "segfault/app-bug"),
        (
            "prterun noticed that process rank 0 with PID 7 on node n2 exited on\nsignal 9 (Killed).",
            "out-of-memory-host",
        ),
        ("Exited with exit code 127.", "missing-dependency"),
    ],
)
def test_a_signal_that_a_launcher_tells_by_its_number(told_by: str, cls: str) -> None:
    proxies = "[proxy:0:0@n2] control_cb (pm/pmiserv/pmip_cb.c:878): assert (!closed) failed\n"
    assert told(STEPS + told_by + "\n" + (proxies if "EXIT" in told_by else ""))[0] == cls


def test_the_source_line_of_a_frame_is_none_of_its_words_also_behind_a_label() -> None:
    log = """\
[rank1]: Traceback (most recent call last):
[rank1]:   File "train.py", line 9, in <module>
[rank1]:     raise FloatingPointError("loss is nan at step 20")
[rank1]: FloatingPointError: loss is nan at step 20
"""
    assert told(STEPS + log) == ("numerical", 204)


@pytest.mark.parametrize(
    ("summary", "cls"),
    [
        ("failed (exitcode: -9) local_rank: 1 (pid: 7) of binary: python", "out-of-memory-host"),
        ("failed (exitcode: -11) local_rank: 1 (pid: 7) of binary: python", "segfault/app-bug"),
        (
            "mpirun noticed that process rank 1 with PID 0 on node n2 exited on signal 9 (Killed).",
            "out-of-memory-host",
        ),
    ],
)
def test_the_signal_of_the_first_rank_says_more_than_its_peers(summary: str, cls: str) -> None:
    """PyTorch 2.13 with gloo: the peers of a killed rank tell of a closed connection first."""
    peer = "[rank0]: RuntimeError: [pair.cc:5] Connection closed by peer [127.0.0.1]:21373\n"
    assert told(STEPS + peer + summary + "\n")[0] == cls


@pytest.mark.parametrize(
    "abort",
    [
        "Fatal Python error: Aborted",
        "[n02:12345] *** Process received signal ***\n[n02:12345] Signal: Aborted (6)",
        "Program received signal SIGABRT: Process abort signal.",
        "/var/spool/slurmd/job1/slurm_script: line 9:  4711 Aborted                 (core dumped) ./solver",
        "[n02:6807 :0:6807] Caught signal 6 (Aborted)",
    ],
)
@pytest.mark.parametrize(
    ("said", "cls"),
    [
        (
            "[rank5]:[E ProcessGroupNCCL.cpp:616] [Rank 5] Watchdog caught collective operation timeout: "
            "WorkNCCL(SeqNum=12, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600013 milliseconds before "
            "timing out.",
            "hang/collective-timeout",
        ),
        ("terminate called after throwing an instance of 'std::bad_alloc'", "out-of-memory-host"),
        ("ib_mlx5_log.c:177  Transport retry count exceeded on mlx5_0:1/RoCE (synd 0x15)", "network-fabric"),
    ],
)
def test_a_process_that_aborts_died_of_what_it_said_before(said: str, cls: str, abort: str) -> None:
    """An abort without its rank's label was called the cause of the watchdog's message."""
    assert told(f"{STEPS}{said}\n{abort}\n")[0] == cls


@pytest.mark.parametrize(
    ("said", "end"),
    [
        ("fatal: 0", "Elapsed time: 12.2 s"),
        ("aborted            0", "Run ended normally"),
        ("registered error handler for SIGSEGV", "normal end of run"),
        ("KeyboardInterrupt handler installed", "Success"),
        (
            "slurmstepd: error: *** STEP 5.1 ON n1 CANCELLED AT 2026-01-01T01:00:00 ***",
            "All finished at Mon Jan 1",
        ),
        ("ValueError: expected", "Ran 10 tests in 0.412s\n\nOK"),
        ("curl: (56) Recv failure: Connection reset by peer\nattempt 2", "Pipeline finished"),
        (
            "n3:1:2 [0] misc/socket.cc:484 NCCL WARN Connect to 10.0.4.7<43217> failed : Connection refused\n"
            "n3:1:2 [0] NCCL INFO misc/socket.cc:567 -> Connection refused, retry count 1/35, sleeping",
            "Training finished in 2:11:08.",
        ),
        (" GPU has fallen off the bus events: 0\nnode dgx-07 failed checks: 0 ; draining: no", "All done."),
        ("Worker 3 terminated.", "     Testing Solver tests passed "),
        (
            "RuntimeError: CUDA error: out of memory\n"
            + "".join(f"epoch {n}/30 top-1 error {60 / n:.2f} errors in loader: 0\n" for n in range(1, 30)),
            "Training finished",
        ),
        ("cannot open checkpoint state.pt, starting from scratch", "Training finished"),
        ("All done.\nrm: cannot remove '/scratch/a/*.tmp': No such file or directory", ""),
        ("All done.\n Linf error:     4.00121e-05   1.99213e-05\nvolume error 1.1e-14", ""),
        ("job.sh: line 4: module: command not found\n+ true", "All done."),
        ("Total wall time: 0:12:33\nError: lock file of the session is gone", ""),
        ("All done.\nfiles   ok  failed  timed out  out of memory\n  90   90   0   0   0", ""),
        (
            "ERROR: covariance failed, falling back\nTraceback (most recent call last):\nMemoryError: 4 GiB",
            "All done.",
        ),
        (
            "rm: cannot stat 'x': Permission denied\nmake: [Makefile:5: distclean] Error 1 (ignored)",
            "All done.",
        ),
        ("caught: solver died: out of memory", "All done."),
        ("case 3: caught error: matrix is singular to working precision", "All done."),
        (
            "All done.\n> tryCatch(stop('disk full'), error=f)\n+ touch 'No space left on device'",
            "",
        ),
        ("All done.\n                   0  ERROR MESSAGES", ""),
        (
            "-- Could NOT find MPI_CXX (missing: MPI_CXX_LIB_NAMES)\nconftest.c:1:1: fatal error: x.h: none",
            "All done.",
        ),
        (
            "All done.\n2026-05-01 12:01:00.1: W tensorflow/x.cc:404] aborting: End of sequence",
            "",
        ),
        ("Error: disk full\n> sessionInfo()", "> proc.time()\n   user  system elapsed"),
        ("All done.\n ERROR NORMS:  L1  0.1E-04   L2  0.2E-04\n MAXIMUM ERROR IN ENERGY : 1.2E-09", ""),
        (
            "task 4 failed, attempt 1 of 3\njava.util.x.TimeoutException: null\n\tat org.x.Get(Get.java:8)",
            "All done.",
        ),
        ("SCF not converged.\nconverged SCF energy = -1323.2517", "JOB DONE."),
        ("All done.\nusage: x [--on-error {abort,skip}]\n  --kill-after N  fatal error 3", ""),
        ("All done.\noptions in use: on_error=retry fatal error=3", ""),
        ("All done.\nERROR handling: ON   abort on NaN: .true.", ""),
        ("#   Failed (TODO) test 'no timeout'", "All tests successful."),
        ("ValueError: NaN in loss", "==== 8 passed, 1 xfailed in 22.60s ===="),
    ],
)
def test_a_good_end_outlives_what_is_no_trouble(said: str, end: str) -> None:
    assert why(f"{said}\n{end}\n").outcome is Outcome.ENDED_WELL


@pytest.mark.parametrize(
    ("said", "end"),
    [
        ("ERROR: invalid value of timeout = 0", ""),
        ("RuntimeError: failed to set up the signal handler", "Elapsed time: 12.2 s"),
        ("RuntimeError: raised in a registered hook", "All done."),
        ("ValueError: not expected", "Ran 10 tests in 0.412s\n\nFAILED (errors=1)"),
        ("attempt 2\ncurl: (56) Recv failure: Connection reset by peer", "giving up"),
        ("GPU has fallen off the bus", "All done."),
        ("run.sh: line 12: 4711 Killed                  ./solver in.dat", "exit 0"),
    ],
)
def test_trouble_in_like_words_stays_trouble(said: str, end: str) -> None:
    assert why(f"{said}\n{end}\n").outcome is Outcome.FAILED


def test_a_rank_that_prints_no_steps_went_on_with_the_others() -> None:
    lines = "".join(f"n1 0: model date = {n:08} wall clock = 06:51:19\n" for n in range(90))
    log = f"n1 12: NetCDF: Attribute not found\n{lines}=>> PBS: job killed: walltime 61 exceeded limit 60\n"
    assert told(log) == ("time-limit", 92)


def test_an_exception_without_words_gives_way_to_what_tells_the_fault() -> None:
    log = (
        "RuntimeError: \n\n*** ------\n*** DOLFIN encountered an error. If you are not able to resolve it\n"
        "*** Error:   Unable to solve linear system using PETSc Krylov solver.\n"
        "*** Reason:  Solution failed to converge in 0 iterations.\n"
    )
    assert told(log) == ("numerical", 6)
    assert told("RuntimeError: \n") == ("segfault/app-bug", 1)


def test_a_warning_of_a_helper_does_not_weaken_a_fatal_line() -> None:
    log = (
        "FATAL:   while extracting /home/me/app.sif: extract command failed: WARNING: passwd file not found\n"
        "FATAL ERROR: could not write xattr for file /image/root because you're not superuser\n"
    )
    assert told(log) == ("container", 1)
