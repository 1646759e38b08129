"""What srun ended, what a logger or a shell survived, and the devices that lines name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runtime.diagnose.logs import told, why
from whesl.runtime.diagnose.diagnosing import diagnose_files
from whesl.runtime.diagnose.diagnosis_records import Accounting
from whesl.runtime.diagnose.vocabulary import Outcome

STEPS = "".join(f"step {n} loss {3 - n / 1000:.3f}\n" for n in range(200))


def test_a_rank_that_srun_ended_is_no_cause() -> None:
    """Words of srun 22.05.8, which ends the tasks of a step by SIGTERM, and by SIGKILL what is left."""
    failed = "srun: error: n01: task 0: Exited with exit code 1\n"
    ends = "srun: launch/slurm: _step_signal: Terminating StepId=29.0\n"
    assert told(f"{STEPS}{failed}{ends}srun: error: n04: task 2: Killed\n") == (
        "dependency-of-other-rank",
        201,
    )


def test_a_failed_command_counts_less_than_a_failure_much_later() -> None:
    listed = "ls: cannot access 'a.rst': No such file or directory\n"
    assert told(listed + "the mesh is read\n" * 70 + "RuntimeError: the mesh is empty\n")[1] == 72


def test_an_exception_below_a_logger_s_head_is_as_serious_as_the_head_says() -> None:
    java = "java.net.ConnectException: Connection refused\n\tat java.base/sun.nio.ch.Net.pollConnect(Net)\n"
    assert why(STEPS + "INFO: The address of the cloud is not known.\n" + java).outcome is not Outcome.FAILED
    assert why(STEPS + "SEVERE: The address of the cloud is not known.\n" + java).outcome is Outcome.FAILED


@pytest.mark.parametrize(
    ("line", "device"),
    [
        ("kernel: mlx5_core 0000:5e:00.0: device's health compromised - reached miss count", "0000:5e:00.0"),
        ("kernel: Buffer I/O error on dev sda2, logical block 3, async page read", "sda2"),
        ("ib_mlx5_log.c:177  Transport retry count exceeded on mlx5_0:1/RoCE (synd 0x15)", "mlx5_0"),
        ("dm-0: write failed, user block limit reached.", "dm-0"),
        (
            "n1:rank0.x: Wrong pkey 0x7fff on hfi1_0 port 1, please use PSM3_PKEY to specify a valid pkey",
            "hfi1_0",
        ),
    ],
)
def test_the_device_that_a_line_names(line: str, device: str) -> None:
    cause = why(f"{STEPS}{line}\n").cause
    assert cause is not None and (cause.finding.device, cause.finding.node == device) == (device, False)


BUSY = "OSError: [Errno 98] Address already in use\n"


@pytest.mark.parametrize("again", ["port 9091 is busy, trying 9092", "start failed, retrying", "will retry"])
def test_a_try_that_the_program_repeats_some_lines_below_is_no_death(again: str) -> None:
    assert (
        why(f"{BUSY}\nthe tracker did not start\n{again}\nthe tracker runs\n").outcome is not Outcome.FAILED
    )
    assert why(f"{BUSY}\nthe tracker did not start\n").outcome is Outcome.FAILED


def test_what_is_indented_below_a_warning_belongs_to_it() -> None:
    timeout = "slurm_load_jobs error: Socket timed out on send/recv operation\n"
    asked = f"- cmd executed: squeue\n- output:\n  {timeout}"
    assert why(STEPS + "WARN: the queue's state cannot be fetched\n" + asked).outcome is not Outcome.FAILED
    assert why(STEPS + "ERROR: the queue's state cannot be fetched\n" + asked).outcome is Outcome.FAILED


def test_work_counts_for_each_line_that_it_follows() -> None:
    """Only forms that were printed before the first trouble of the log were work."""
    note = "minimizer: [ ERROR ] inaccurate gradient\n"
    work = "".join(f"{note}structure_{n} is relaxed, in {n % 7}.5 seconds\n" for n in range(45))
    death = "ERROR: Assertion `x == y` failed.\n"
    assert why(note + work + death + work).outcome is not Outcome.FAILED
    assert told(note + work + death)[1] == 92


def test_trouble_that_work_followed_each_time_is_outlived_at_its_last_time_too() -> None:
    trouble = "  #000: H5A.c line 675 in H5Aopen_by_name(): unable to synchronously open attribute\n"
    year = "HDF5-DIAG: Error detected in HDF5 (1.14.4-2) thread 1:\n" + trouble
    log = "".join(f"{year}Processed {n} values\nyear {1900 + n} is written\n" for n in range(30))
    assert why(log + "All done.\n").outcome is Outcome.ENDED_WELL
    assert why(log.replace("Processed", "") + year).outcome is Outcome.FAILED


def test_of_two_deaths_the_one_behind_the_work_counts() -> None:
    """Rank 5 prints no steps of its own, and a launcher's summary follows."""
    steps = "".join(f"0: nstep {n} te {n}.5\n" for n in range(27))
    summary = "srun: error: n1: task 3: Exited with exit code 1\n"
    end = f"3: ERROR: shr_reprosum_calc ERROR: NaNs or INFs in input\n{summary}"
    assert told("5: NetCDF: Variable not found\n" + steps + end) == ("numerical", 29)


def test_the_scheduler_s_record_in_the_log() -> None:
    trouble = '[E::hts_open_format] Failed to open file "/tmp/a.bam" : File exists\n'
    assert why(trouble + "JobID 998 State COMPLETED ExitCode 0:0\n").outcome is Outcome.ENDED_WELL
    assert why(trouble + "JobID 998 State FAILED ExitCode 1:0\n").outcome is Outcome.FAILED


def test_the_allocator_s_advice_does_not_silence_its_message() -> None:
    full = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 7.81 GiB."
    advice = "If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF"
    assert told(f"{STEPS}[rank21]: {full}. {advice}\n") == ("out-of-memory-gpu", 201)
    assert why(f"{STEPS}{advice}\n").outcome is Outcome.UNKNOWN


WRF_ENDS = "d01 2026-09-01_06:00:00 wrf: SUCCESS COMPLETE WRF\n"


@pytest.mark.parametrize(
    "after",
    [
        "[n9:21012] PMIX ERROR: NOT-FOUND in file client/pmix_client_topology.c at line 352\n",
        "slurm_script: line 71: module: command not found\n",
        "MPIDI_OFI_mpi_finalize_hook(1011): OFI domain close failed (ofi_init.c:1129: Device busy)\n",
    ],
)
def test_what_follows_a_program_s_own_end_is_no_death(after: str) -> None:
    assert why(STEPS + WRF_ENDS + after).outcome is Outcome.ENDED_WELL
    assert why(STEPS + after).outcome is Outcome.FAILED
    # A further program may have died of it.
    assert why(STEPS + WRF_ENDS + STEPS + after).outcome is Outcome.FAILED
    died = "srun: error: n01: task 0: Exited with exit code 1\n"
    assert why(STEPS + WRF_ENDS + after + died).outcome is Outcome.FAILED
    assert why(STEPS + WRF_ENDS + after + died + "+ exit 0\n").outcome is Outcome.ENDED_WELL


def test_much_work_before_a_clean_end_outlives_what_others_might_have_met() -> None:
    nan = "loss is nan at micro-batch 11977: batch dropped by the guard\n"
    end = "[2026-09-22 03:01:41,001] [INFO] [launch.py:351:main] Process 21188 exits successfully.\n"
    helper = "terminate called without an active exception (service pid 21122)\n"
    assert why(STEPS + nan + STEPS + end + helper + end).outcome is Outcome.ENDED_WELL
    assert why(STEPS + nan + STEPS + "All done.\n").outcome is Outcome.ENDED_WELL
    assert why(STEPS + nan + STEPS + helper + "All done.\n").outcome is Outcome.FAILED


def test_a_rank_of_few_words_went_on_with_the_busiest_one() -> None:
    steps = "".join(f"0: nstep {n} te {n}.5\n" for n in range(60))
    trouble = "3: WARP: Assertion `x == y` failed.\n"
    assert why("3: nstep 0 te 0.5\n" + trouble + steps).outcome is not Outcome.FAILED
    each = "".join(f"{n}: nstep 1 te 0.5\n" for n in range(4, 64))
    assert why("3: nstep 0 te 0.5\n" + trouble + each).outcome is Outcome.FAILED


def test_steps_that_count_errors_are_steps() -> None:
    chunks = "".join(f"chunk {n}: 9652 molecules, {n % 7} sanitization errors skipped\n" for n in range(60))
    dead = (
        "(raylet) The node with node id: 8f1b and address: 10.2.0.11 and node name: n1 has been marked dead"
    )
    dead += " because the detector has missed too many heartbeats from it.\n"
    assert why(chunks + dead + chunks).outcome is not Outcome.FAILED
    assert why(chunks + dead).outcome is Outcome.FAILED


def test_a_search_in_a_file_that_finds_nothing_ends_a_program_only_at_its_end() -> None:
    search = "7:  NetCDF: Variable not found\n"
    death = "MPIDI_OFI_handle_cq_error(1067): OFI poll failed (ofi_events.c:1069: UNDELIVERABLE)\n"
    assert told(search + "the grid is read\n" * 70 + death) == ("network-fabric", 72)
    assert told(STEPS + search) == ("input/config-error", 201)


ROWS = "".join(f"MPI: {n % 64} level {n % 6} dt {n}.5e-4\n" for n in range(60))


def test_trouble_before_the_first_row_is_outlived_by_many_rows_and_a_good_end() -> None:
    trouble = 'Lmod has detected the following error:  The following module(s) are unknown: "hdf5/1.14"\n'
    assert why(trouble + ROWS + "Successful run, exiting.\n+ exit 0\n").outcome is Outcome.ENDED_WELL
    assert why(trouble + "All done.\n").outcome is Outcome.FAILED
    assert why(trouble + ROWS + "RuntimeError: the mesh is empty\nAll done.\n").outcome is Outcome.FAILED


@pytest.mark.parametrize(
    "balance",
    ["500 shards, 0 lost, errors retried: 8", "ok = 300, failed = 0", "# failed 0 of 60", "Total errors: 0"],
)
def test_a_balance_without_failures_is_an_end_where_a_log_ends(balance: str) -> None:
    assert why(STEPS + balance + "\n").outcome is Outcome.ENDED_WELL
    assert why(balance + "\n" + STEPS).outcome is Outcome.UNKNOWN
    assert why(STEPS + balance.replace("0", "1") + "\n").outcome is Outcome.UNKNOWN


def test_a_script_that_submits_its_continuation_is_not_ended_by_the_limit() -> None:
    line = "run.sh: walltime slice used up"
    assert why(f"{STEPS}{line}, submitting the continuation\n").outcome is not Outcome.FAILED
    assert why(f"{STEPS}{line}\n").outcome is Outcome.FAILED


KILLED = "./case.sh: line 12: 41212 Killed                  ./app a.in"
FULL_GPU = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
BROKEN = "RuntimeError: CUDA error: an illegal memory access was encountered"
SCHEDULER = "srun: error: n7: task 3: Exited with exit code 1\n"
RAISED = 'Traceback (most recent call last):\n  File "a.py", line 3, in f\n    g()\n{}\n'
OUTLIVED = {
    "the logger that told of it told of the end": "INFO:app:a\nERROR:app:{}\nINFO:app:b\nINFO:app:done\n",
    "so did the logger of its record": f"INFO:app:a\nERROR:app:b failed\n{RAISED}INFO:app:c\nINFO:app:done\n",
    "the job began again": "begins, restart 0\n{}\nbegins, restart 1\nreading the grid\nall done\n",
    "a thread raised it": f"start\nException in thread T-3:\n{RAISED}a read\nb read\nc read\nd read\ndone\n",
    "the script waited and tried again": "+ ./get\n{}\n+ sleep 30\n+ ./get\ngot it\n+ ./solve\nsolved\n",
    "the words quote it": 'Note: where you see "{}", ask for more.\nreading\nsolving\nfinished\n',
    "Python warns with it": f"/a.py:4: FitWarning: \n3 fits:\n{RAISED}\n  warnings.warn(text)\nbest 1\n",
    "the program takes less": "{}\nreducing the batch to 16\nepoch a\nepoch b\nepoch c\nall done\n",
}


@pytest.mark.parametrize("line", [KILLED, FULL_GPU, BROKEN])
@pytest.mark.parametrize("log", OUTLIVED.values(), ids=OUTLIVED)
def test_trouble_that_a_program_outlived_with_few_words(log: str, line: str) -> None:
    assert why(log.replace("{}", line)).outcome is not Outcome.FAILED
    assert why(log.split("{}")[0] + line + "\n" + SCHEDULER).outcome is Outcome.FAILED


@pytest.mark.parametrize("line", [KILLED, FULL_GPU, BROKEN])
@pytest.mark.parametrize("behind", [SCHEDULER, f"{SCHEDULER}Job ended at Tue Mar 12 10:11:12 2024\n", ""])
def test_words_of_a_next_try_outlive_nothing_where_only_the_end_follows(line: str, behind: str) -> None:
    assert told(f"{STEPS}{line}\nwill retry\n{behind}")[1] == 201
    assert why(f"{STEPS}{line}\nwill retry\nread\nsolved\nall done\n").outcome is not Outcome.FAILED


def test_a_value_that_is_a_number_again_was_no_end() -> None:
    sound, nan = "{'loss': 0.5, 'epoch': 0.1}\n", "{'loss': nan, 'epoch': 0.2}\n"
    end = "{'train_runtime': 812.1}\n"
    assert why(sound + nan + sound + end).outcome is not Outcome.FAILED
    assert told(sound + nan + nan) == ("numerical", 2)


def test_what_a_python_logger_tells_at_a_low_level_is_no_death() -> None:
    missing = "Unable to initialize backend 'tpu': Failed to open libtpu.so: No such file or directory\n"
    assert why(f"INFO:jax.bridge:{missing}{STEPS}").outcome is not Outcome.FAILED
    assert why(f"{STEPS}INFO:jax.bridge:{missing}").outcome is not Outcome.FAILED
    assert why(f"{STEPS}ERROR:jax.bridge:{missing}").outcome is Outcome.FAILED


CALM = "".join(
    f"{verb} {what}\n"
    for verb in ("computing", "writing")
    for what in ("winds", "rain", "clouds", "soil", "rivers", "ice")
)
OWN_ENDS = ["wrf: SUCCESS COMPLETE WRF", "Total wall time: 0:12:44", "State: COMPLETED (exit code 0)"]


@pytest.mark.parametrize("line", [KILLED, FULL_GPU, BROKEN])
def test_much_ordinary_output_and_an_end_outlive_a_trouble_and_a_death_does_not(line: str) -> None:
    assert why(f"{line}\n{CALM}All done.\n").outcome is Outcome.ENDED_WELL
    assert why(f"{line}\nthe results are copied\nAll done.\n").outcome is Outcome.FAILED
    assert why(f"{line}\n{CALM}").outcome is Outcome.FAILED
    assert told(f"{line}\n{CALM}{SCHEDULER}All done.\n")[1] == 1
    failed = Accounting(state="FAILED", status=1)
    assert why(f"{line}\n{CALM}All done.\n", accounting=failed).outcome is Outcome.FAILED


@pytest.mark.parametrize("end", OWN_ENDS)
@pytest.mark.parametrize("line", ["d01 12 points exceeded cfl=2 in domain d01", FULL_GPU, BROKEN])
def test_a_solver_s_and_the_scheduler_s_own_end_is_believed(end: str, line: str) -> None:
    assert why(f"{STEPS}{line}\n{end}\n").outcome is Outcome.ENDED_WELL
    assert why(f"{STEPS}{line}\n{SCHEDULER}").outcome is Outcome.FAILED
    unsolved = "     convergence NOT achieved after 100 iterations: stopping\n"
    assert why(f"{STEPS}{unsolved}{end}\n").outcome is Outcome.FAILED


def test_what_a_solver_met_before_it_converged_is_outlived() -> None:
    bracket, end = "ZBRENT: fatal error in bracketing\n", "ran for 3 h\n"
    reached = " reached required accuracy - stopping structural energy minimisation\n"
    assert why(f"{STEPS}{bracket}{reached}{end}").outcome is Outcome.ENDED_WELL
    assert told(f"{reached}{STEPS}{bracket}")[0] == "numerical"


@pytest.mark.parametrize(
    "words", [" suppressed", " handled", ", restarting again", ": trying a smaller grid"]
)
def test_a_line_that_tells_how_its_trouble_was_met_is_no_death(words: str) -> None:
    assert why(f"{STEPS}{BROKEN}{words}\n").outcome is not Outcome.FAILED


ASIDES = [
    " (no GPU requested, fine)",
    " (optional)",
    " (expected, XFAIL)",
    " - tried again: ok",
    " - cache disabled",
    " (caught): restart 2 used",
    ", trying 35",
    " (expected by WILL_FAIL)",
    " (test of abort)",
]


@pytest.mark.parametrize("aside", ASIDES)
@pytest.mark.parametrize("line", [FULL_GPU.rstrip("."), BROKEN])
def test_a_trouble_that_its_own_line_calls_no_trouble_is_no_death(aside: str, line: str) -> None:
    assert why(f"{STEPS}{line}{aside}\n").outcome is not Outcome.FAILED
    assert why(f"{STEPS}{line} (expected 3, got 4)\n").outcome is Outcome.FAILED
    quota = "OSError: [Errno 122] Disk quota exceeded: '/scratch/a'"
    assert told(f"{STEPS}{line}{aside}\n{quota}\n{SCHEDULER}")[1] == 202


@pytest.mark.parametrize(
    "command", ["rm: cannot remove 'a': Permission denied", "kill: (31) - No such process"]
)
def test_a_clean_up_that_failed_ends_nothing(command: str) -> None:
    assert why(f"{STEPS}{command}\ncopied 12 files\n").outcome is not Outcome.FAILED
    assert told(f"{STEPS}{command}\n{RAISED.replace('{}', BROKEN)}")[1] == 205


CHECKED = ["scan finished without errors", "12 tests passed!", "run completed, 1 error corrected"]


@pytest.mark.parametrize("end", CHECKED)
@pytest.mark.parametrize("line", [f"  event 4: {KILLED}", "ZBRENT: fatal error in bracketing"])
def test_an_end_that_counted_the_errors_is_believed_unless_a_death_follows(end: str, line: str) -> None:
    assert why(f"{STEPS}{line}\n{end}\n").outcome is Outcome.ENDED_WELL
    assert why(f"{STEPS}{end}\n{STEPS}{KILLED}\n{SCHEDULER}").outcome is Outcome.FAILED


def test_the_end_of_a_program_tells_nothing_of_the_program_before_it() -> None:
    raised = RAISED.replace("{}", "ValueError: the mesh has no faces")
    end = "Total wall time: 0:12:44\n"
    for failed in (raised, SCHEDULER):
        assert told(f"Running mesh.py\n{failed}Running solve.py\n{STEPS}{end}")[0]
        assert why(f"Running solve.py\n{failed}Running solve.py\n{STEPS}{end}").outcome is Outcome.ENDED_WELL


def test_the_line_below_the_head_of_a_python_warning_belongs_to_it() -> None:
    head, below = (
        "ConvergenceWarning: lbfgs failed to converge (status=1):\n",
        "STOP: TOTAL NO. of ITERATIONS REACHED LIMIT.\n",
    )
    assert why(f"{STEPS}{head}{below}best 1\n").outcome is not Outcome.FAILED
    assert why(f"{STEPS}{below}").outcome is Outcome.FAILED
    assert why(f"{STEPS}{head}{SCHEDULER}").outcome is Outcome.FAILED


def test_a_fuzzer_that_goes_on_is_not_ended_by_the_crash_it_found() -> None:
    crash = (
        "==2211==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x60 at pc 0x55\n    #0 0x55 in f\n"
    )
    assert (
        why(f"{STEPS}{crash}INFO: crash found, continuing\nruns a\nruns b\nruns c\n").outcome
        is not Outcome.FAILED
    )
    assert why(f"{STEPS}{crash}").outcome is Outcome.FAILED


def test_causes_that_stand_above_what_followed_from_them() -> None:
    cmake = "CMake Error at CMakeLists.txt:41 (find_package):\n  Could not find HDF5\n"
    assert told(f"{cmake}./run.sh: line 7: ./build/solver: No such file or directory\n")[1] == 1
    index = "[E::bwa_idx_load_from_disk] fail to locate the index files\n"
    assert told(f"{index}Error in rule bwa:\n    jobid: 4\n")[1] == 1
    mpi = "[n2:31] *** MPI_ERR_TRUNCATE: message truncated\n"
    peer = "[n1:29] PMIX ERROR: UNREACHABLE in file ../../../src/server/pmix_server.c at line 2198\n"
    assert told(f"{STEPS}{mpi}{peer}")[1] == 201
    assert told("g++: fatal error: Killed signal terminated program cc1plus\n")[0] == "out-of-memory-host"


def test_labels_of_ranks_are_no_frames_of_a_stack() -> None:
    calm = CALM.replace("\n", "\n 0: ")
    assert why(f"{KILLED}\n 0: {calm}All done.\n").outcome is Outcome.ENDED_WELL
    frames = "".join(f"  {n}: std::rt::lang_start\n" for n in range(30))
    assert why(f"{KILLED}\n{frames}All done.\n").outcome is Outcome.FAILED


def test_the_line_above_a_record_is_not_its_cause() -> None:
    peer = "torch.distributed.DistBackendError: NCCL error in: /a.cpp:16, remote process exited"
    record = RAISED.replace("{}", peer)
    assert told(f"{STEPS}2025-01-14 08:55:02,117 ERROR uncaught exception\n{record}")[1] == 205
    java = "java.net.ConnectException: Connection refused\n\tat java.base/sun.nio.ch.Net.pollConnect(Net)\n"
    assert told(f"{STEPS}ERROR the task failed\n{java}")[1] == 202


def test_what_the_line_of_a_next_try_tells_is_no_death() -> None:
    again = "[runtime] (retry) fork0.chnk2 after signal: killed, attempt 2\n"
    more = "the parts are joined\nthe report is written\n"
    assert why(f"{STEPS}{BROKEN}\n{again}{more}").outcome is not Outcome.FAILED
    assert told(f"{STEPS}{BROKEN}\n{again}")[1] == 201


def test_a_store_of_ranks_that_is_gone_after_a_rank_s_failure() -> None:
    """The agents of torchrun ask their store once more after their workers have died."""
    store = "torch.distributed.elastic.rendezvous.api.RendezvousConnectionError: The connection has failed.\n"
    wait = "[rank2]: RuntimeError: [/a/gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 180ms"
    assert told(f"{STEPS}{wait} for recv operation to complete\n{store}")[1] == 201
    assert told(f"{store}")[0] == "launcher/rendezvous"


def test_the_words_above_and_below_a_library_s_message() -> None:
    prefix = "[0]PETSC ERROR: "
    head = "[0]PETSC ERROR: --------------------- Error Message ------------------------------------\n"
    notes = "See docs/changes/index.html for recent updates.", "solve() line 537 in src/a.cc"
    message = "[0]PETSC ERROR: first (X) equation in the SSAFD system: zero diagonal entry at i = 170\n"
    assert told(f"{STEPS}{head}{message}{prefix}{notes[0]}\n{prefix}{notes[1]}\n") == ("numerical", 202)
    chem = "     IO error message >Write Failed\n  buf_write: write failed                   0\n"
    assert (
        told(f"{STEPS}{chem} This error has not yet been assigned to a category\n")[0] == "filesystem-error"
    )
    read = "[mpileup] failed to open a.bam: Exec format error\n"
    assert told(f"{STEPS}[E::bwa_idx_load_from_disk] fail to locate the index files\n{read}")[1] == 201
    assert told(f"{STEPS}OSError: [Errno 8] Exec format error: './app'\n")[0] == "missing-dependency"


EPILOGUE = "".join(f"the part {name} is put together\n" for name in "abcdefgh")


@pytest.mark.parametrize(
    "trouble", ["ERROR: three rows of the table have no label", "An error occurred in the exporter"]
)
def test_much_ordinary_output_behind_words_of_any_program_says_that_it_went_on(trouble: str) -> None:
    """No good end is known here, so that it is not known how the job ended."""
    assert why(f"{STEPS}{trouble}\n{EPILOGUE}").outcome is Outcome.UNKNOWN
    assert why(f"{STEPS}{trouble}\nCleaning up\nBye for now\n").outcome is Outcome.FAILED
    assert why(f"{STEPS}{trouble}\n{EPILOGUE}ERROR: no table\n").outcome is Outcome.FAILED
    died = "srun: error: n01: task 0: Exited with exit code 1\n"
    assert why(f"{STEPS}{trouble}\n{EPILOGUE}{died}").outcome is Outcome.FAILED
    assert why(f"{STEPS}RuntimeError: no table\n{EPILOGUE}").outcome is Outcome.FAILED
    failed = Accounting(state="FAILED", status=1, told="State=FAILED")
    assert why(f"{STEPS}{trouble}\n{EPILOGUE}", accounting=failed).outcome is Outcome.FAILED


@pytest.mark.parametrize(
    ("count", "trouble"),
    [
        ("ERROR cases in answers: 12 / 12000 (set to null)", "ERROR in answers: rank 12 gave none"),
        ("errors in the labels: 0.3 %", "ERROR in the labels, cannot go on"),
        ("Error rows: 4 of 900", "Error: row 4 of 900 is empty"),
    ],
)
def test_errors_that_are_counted_out_of_so_many_are_no_trouble(count: str, trouble: str) -> None:
    assert why(f"{STEPS}{count}\n").outcome is not Outcome.FAILED
    assert why(f"{STEPS}{trouble}\n").outcome is Outcome.FAILED


@pytest.mark.parametrize(
    ("death", "cls"),
    [
        (KILLED, "out-of-memory-host"),
        ("./case.sh: line 12: 41212 Segmentation fault      (core dumped) ./app a.in", "segfault/app-bug"),
        ("srun: error: n7: task 3: Out Of Memory", "out-of-memory-host"),
        (SCHEDULER.strip(), "dependency-of-other-rank"),
    ],
)
@pytest.mark.parametrize(
    "command", ["cp: cannot stat 'out.npy': No such file or directory", "ls: cannot access '*.npy'"]
)
def test_a_command_of_a_script_that_fails_behind_its_program_s_death_is_a_consequence(
    death: str, cls: str, command: str
) -> None:
    assert told(f"{STEPS}{death}\n{command}\n") == (cls, 201)
    assert told(f"{STEPS}{death}\n{command}\nmv: cannot stat 'b'\nended at Mon Jul 10\n") == (cls, 201)
    # A command that failed before may have been the cause.
    missing = "cp: cannot stat 'in.npy': No such file or directory"
    assert told(f"{STEPS}{missing}\n{death}\n")[1] == (202 if "Out Of Memory" in death else 201)


def test_torchx_labels_each_line_by_role_and_replica() -> None:
    raised = "i.pretrain/0 [rank3]: Traceback (most recent call last):\n"
    raised += 'i.pretrain/0 [rank3]:   File "a.py", line 3, in f\n'
    raised += "i.pretrain/0 [rank3]: RuntimeError: world_size (1) is not divisible by 2\n"
    cause = why(STEPS + raised).cause
    assert cause is not None and (cause.finding.line, cause.finding.rank) == (203, 3)
    assert told(STEPS + raised)[0] == "input/config-error"


def test_slurm_s_own_directory_that_it_does_without_is_no_trouble() -> None:
    line = "slurmstepd: error: Unable to create TMPDIR [/local/881]: Permission denied\n"
    also = "slurmstepd: error: Setting TMPDIR to /tmp\n"
    assert why(line + also + STEPS).outcome is not Outcome.FAILED
    assert why(line + also + "solver: Permission denied: '/x/a'\n").outcome is Outcome.FAILED


def test_a_message_that_is_known_to_be_harmless_is_not_guessed_to_be_the_cause(tmp_path: Path) -> None:
    """A line is unlike all others, and some lines below it a line tells of an end."""
    log = tmp_path / "job.out"
    ending = "the last part is incomplete\n"
    for line, outcome in (
        (
            "140 xla_bridge.py:120] Unable to initialize backend 'rocm': the platform is not found",
            "unknown",
        ),
        ("x 140 bridge.py:120] the platform is not found in the table: the option lacks a value", "failed"),
    ):
        log.write_text(f"{STEPS}{line}\n{ending}")
        assert diagnose_files([str(log)]).outcome.value == outcome


def test_of_two_causes_that_may_explain_each_other_none_does() -> None:
    hdf5 = "HDF5-DIAG: Error detected in HDF5 (1.10.6) thread 0:\n"
    cause = why(f"{STEPS}{hdf5}  file: a.F90 line: 663 NetCDF: HDF error\n{SCHEDULER}").cause
    assert cause is not None and not any("explains it" in reason for reason in cause.reasons)
    assert told(f"{STEPS}Error in the labels: cannot go on\n")[1] == 201
    assert why(f"{STEPS}Error in the labels: 0.3\n").outcome is not Outcome.FAILED
