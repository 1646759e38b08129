"""Fixtures shared by all tests: a home of WHESL's own, and real Slurm clusters where there can be any."""

from __future__ import annotations

import gc
import os
import re
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import pytest_timeout  # type: ignore[import-untyped] # it ships no types
from hypothesis import settings

from tests import environments, limits
from tests.alike import ALL, examples
from tests.equipment import fluxbed, pbsbed
from tests.equipment.install_slurm import SlurmBedError, install, prefix, search_path
from tests.equipment.nfsbed import NfsBed
from tests.equipment.slurmbed import SlurmBed
from whesl.model.errors import WheslError
from whesl.prediction import compile_choice
from whesl.runtime.coordinator.client.start import stop as stop_coordinator
from whesl.testing.waiting import busy

# A command that is called in this process must not choose for the tests that follow.
in_plain_python = compile_choice.in_plain_python
compile_choice.in_plain_python = lambda: None
# Set by ``make test-flux``: no test of Flux may be skipped.
NEED_FLUX = "WHESL_NEED_FLUX"
GROUP = re.compile(r"@[^]@]*$")  # what pytest-xdist adds to the name of a test
USED = pytest.StashKey[float]()  # seconds of a processor when a test began
# Where tests that failed are named, one in a line: as soon as each has, and of a run that came to its end.
FAILING = Path(__file__).resolve().parent.parent / "build" / "failing"
FAILED = Path(__file__).resolve().parent.parent / "build" / "failed"
# The part of all tests within which the last long one begins.
LONG = 0.8
DIRECTORIES = count()  # the numbers of this process's tests' directories
LONGEST_NAME = 26  # characters of a directory's name before its number: a socket's path has at most 107
# Where tests call functions that numba compiles, and which tests call the same ones: the first that fits.
# Those of no group call hardly any.
COMPILED = {
    "tests/lab/readers/": "",
    "tests/lab/simulators/workflow/test_readers.py::test_optimal_makespans": "workflows",
    "tests/lab/simulators/workflow/test_readers.py::test_the_experiment": "workflows",
    "tests/lab/simulators/workflow/test_readers": "",
    "tests/lab/simulators/torus/": "tori",
    "tests/lab/reproductions/torus/": "tori",
    "tests/lab/simulators/grid/": "tori",
    "tests/placement/policies/": "tori",
    "tests/cli/test_lab_torus": "tori",
    "tests/lab/simulators/workflow/": "workflows",
    "tests/lab/reproductions/workflow/": "workflows",
    "tests/lab/simulators/desktop/": "workflows",
    "tests/cli/test_lab_workflow": "workflows",
    "tests/lab/simulators/cloud/": "clouds",
    "tests/lab/reproductions/cloud/": "clouds",
    "tests/cloud/core/": "clouds",
    "tests/cloud/test_p": "clouds",  # plans and their page
    "tests/prediction/free_nodes/": "clouds",
    "tests/lab/": "clusters",
    "tests/lab/reproductions/": "clusters",
    "tests/cli/test_lab_": "clusters",
}
# Whose loops take minutes of a processor to compile, and their tests a fraction of it in plain Python.
# Each is called by the experiments of its own room alone; WHESL_COMPILE_ALL has them compiled, too.
PLAIN = (
    "whesl.placement.policies.torus.",
    *(
        f"whesl.placement.policies.multicluster.{name}"
        for name in ("conservative", "fcfs", "profile", "schedule")
    ),
    "whesl.lab.simulators.torus.",
    "whesl.lab.simulators.grid.",
    "whesl.lab.reproductions.workflow.",
    "whesl.lab.simulators.desktop.",
    "whesl.lab.simulators.workflow.",
)
# Modules, and tests by the beginning of their names, most of which begin daemons, servers or several
# attempts of a task, or read long logs: half a second of a processor each. ``make check`` leaves them to
# ``make test``, and has whole tasks in tests/runtime/isolator/test_exec.py and test_causes.py.
COSTLY = (
    "tests/api/test_adapters.py",
    "tests/checkpoints/test_job.py",
    "tests/checkpoints/test_refused.py",
    "tests/cli/placement/test_chains.py",
    "tests/cli/placement/test_learn.py",
    "tests/cli/test_alone.py",
    "tests/cli/test_exec_slips.py",
    "tests/cli/test_explain.py",
    "tests/cli/test_raise.py",
    "tests/cli/test_watch.py",
    "tests/client/test_heartbeat.py",
    "tests/cloud/providers/test_ec2.py",
    "tests/cloud/providers/test_processes.py",
    "tests/cloud/transfer/test_s3.py",
    "tests/cloud/transfer/test_ssh.py",
    "tests/deploy/test_dashboard.py",
    "tests/filesystems/test_bed.py",
    "tests/managers/resource/embedded/test_commands.py",
    "tests/managers/resource/test_shims_unread.py",
    "tests/managers/workflow/test_front.py",
    "tests/prediction/failures/test_learned.py",
    "tests/prediction/log_chains/test_follow.py",
    "tests/prediction/log_chains/test_mining.py",
    "tests/runtime/coordinator/test_crashes.py",
    "tests/runtime/coordinator/test_daemon.py",
    "tests/runtime/coordinator/test_daemon_commands.py",
    "tests/runtime/coordinator/test_metrics.py",
    "tests/runtime/detect/test_storms.py",
    "tests/runtime/diagnose/test_log_storms.py",
    "tests/runtime/functions/test_calls.py",
    "tests/runtime/isolator/test_caller.py",
    "tests/runtime/isolator/test_common_output.py",
    "tests/runtime/isolator/test_coordinated.py",
    "tests/runtime/isolator/test_exec.py::test_closed_streams",
    "tests/runtime/isolator/test_exec.py::test_each_attempt_reads",
    "tests/runtime/isolator/test_exec.py::test_observe_mode",
    "tests/runtime/isolator/test_exec.py::test_paths_of_the_rules",
    "tests/runtime/isolator/test_exec.py::test_the_isolator_stays_small",
    "tests/runtime/isolator/test_exec.py::test_what_sheds",
    "tests/runtime/isolator/test_exec_killed.py",
    "tests/runtime/isolator/test_full_journal.py",
    "tests/runtime/isolator/test_growth.py",
    "tests/runtime/isolator/test_last_lines.py",
    "tests/runtime/isolator/test_leader.py",
    "tests/runtime/isolator/test_nodes_alone.py",
    "tests/runtime/isolator/test_output_links.py",
    "tests/runtime/isolator/test_paused.py",
    "tests/runtime/isolator/test_promised_output.py",
    "tests/runtime/isolator/test_rebuild.py",
    "tests/runtime/isolator/test_recovered.py",
    "tests/runtime/isolator/test_remarks.py",
    "tests/runtime/isolator/test_short_task.py",
    "tests/runtime/isolator/test_signal_delivery.py",
    "tests/runtime/isolator/test_silence.py",
    "tests/runtime/isolator/test_stopped_ranks.py",
    "tests/runtime/isolator/test_storms.py",
    "tests/runtime/isolator/test_waiting.py",
    "tests/runtime/isolator/test_warned.py",
    "tests/runtime/node_agent/test_agent.py",
    "tests/runtime/node_health/test_node_health.py",
    "tests/runtime/wire/test_sockets.py",
    "tests/security/test_files.py",
    "tests/security/test_network.py",
    "tests/security/test_patterns.py",
    "tests/security/test_planted.py",
)
# Modules whose tests call some small compiled functions, which are the same in all of a group.
SHARED = {
    "tests/lab/readers/test_swf": "logs",
    "tests/lab/readers/test_site": "logs",
    "tests/prediction/failures/test_ffp": "events",
}


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give each test a directory by a number; pytest's own would look through those of all before it."""
    name = re.sub(r"\W", "_", request.node.name)[:LONGEST_NAME]
    return tmp_path_factory.mktemp(f"{name}{next(DIRECTORIES)}", numbered=False)


@pytest.fixture(autouse=True)
def whesl_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give each test a WHESL_HOME of its own, and end the coordinators that were started on demand in it."""
    home = tmp_path / "whesl-home"
    monkeypatch.setenv("WHESL_HOME", str(home))
    yield home
    for file in tmp_path.glob("*/coordinator/endpoint.json"):
        with suppress(WheslError):
            stop_coordinator(file.parent.parent)


def pytest_configure(config: pytest.Config) -> None:
    """Give the tests' programs their signals also below a shell's ``&`` and nohup, which ignore them."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    if "PYTEST_XDIST_WORKER" in os.environ:  # nohup protects the process that started the workers
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    # Tests start thousands of short processes, half of whose time would go into compiling what they import.
    os.environ["PATH"] = search_path()  # the Slurm that is tested comes first
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    limits.stretch()
    if "not compiled" in config.getoption("markexpr"):
        in_plain_python()  # no test that is left gains from it, and each process would load numba
    elif not os.environ.get(ALL):
        leave_plain()
    # How long an example takes says how busy the machine is. A hundred is hypothesis's own number.
    settings.register_profile("whesl", deadline=None, max_examples=examples(100))
    settings.load_profile("whesl")


def leave_plain() -> None:
    """Have the functions of some modules run as plain Python, which those of all others may not call."""
    from whesl.prediction import numba_jit  # loads numba, by the choice of this process

    compiled = numba_jit.jit

    def jit(function: Callable[..., Any]) -> Callable[..., Any]:
        return function if function.__module__.startswith(PLAIN) else compiled(function)

    numba_jit.jit = jit  # type: ignore[assignment] # it takes the same functions, and returns the same


@pytest.hookimpl(tryfirst=True)
def pytest_timeout_set_timer(item: pytest.Item, settings: Any) -> object:
    """Give a test as many times its limit as the machine is busy when it begins."""
    longer = settings._replace(timeout=settings.timeout * busy())
    return pytest_timeout.pytest_timeout_set_timer(item, longer)


def _processor() -> float:
    """Return the seconds of a processor that this process has used, and programs that it has waited for."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Note when a test begins what was used so far."""
    item.stash[USED] = _processor()
    yield


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """Write into ``build/tests.xml`` how long a test had a processor, without daemons that go on."""
    yield
    item.user_properties.append(("processor", f"{_processor() - item.stash[USED]:.2f}"))


def pytest_make_parametrize_id(val: object) -> str | None:
    """Name a test by the beginning of a long text: a whole file in its name hides what a failure says."""
    return f"{ascii(val[:60])[:60]}..." if isinstance(val, (str, bytes)) and len(val) > 100 else None


def first_group(groups: dict[str, str], name: str) -> str:
    """Return the group of the first entry with which the name of a test or module begins, or nothing."""
    return next((group for start, group in groups.items() if name.startswith(start)), "")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import a module whose tests ``make check`` leaves out: each of its processes would do so."""
    name, left_out = collection_path.relative_to(config.rootpath).as_posix(), config.getoption("markexpr")
    costly = "not costly" in left_out and name in COSTLY
    return costly or ("not compiled" in left_out and bool(first_group(COMPILED, name))) or None


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is compiled, and share the tests among the processes of pytest-xdist: the longest come early.

    A module's tests stay together where they share a fixture. Of those that need a processor in time one runs
    at a time, as of those that keep one busy. Those that call the same compiled functions stay together,
    so that each is compiled once. All others go wherever a process is free.
    """
    for item in items:
        if group := first_group(COMPILED, item.nodeid):
            item.add_marker(pytest.mark.compiled(group))
        if item.nodeid.startswith(COSTLY):
            item.add_marker(pytest.mark.costly)
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return
    longest: dict[str, float] = {}
    grouped = set()
    for item in items:
        limit = item.get_closest_marker("timeout")
        seconds = float(limit.args[0]) if limit else 10.0 if item.get_closest_marker("slow") else 0.0
        module = item.nodeid.partition("::")[0]
        definitions = getattr(item, "_fixtureinfo").name2fixturedefs  # noqa: B009 - it has no public name
        compiled = item.get_closest_marker("compiled")
        group = compiled.args[0] if compiled else ""
        group = group or first_group(SHARED, item.nodeid)
        if group and limit is None:  # whichever comes first compiles, on a machine that does other things
            item.add_marker(pytest.mark.timeout(600))
        group = group or next((mark for mark in ("processor", "busy") if item.get_closest_marker(mark)), "")
        named = item.get_closest_marker("xdist_group")
        if not group and (
            named
            or any(
                definition.scope in ("module", "package")
                for some in definitions.values()
                for definition in some
            )
        ):
            group = named.args[0] if named else module
            grouped.add(module)
        if group:
            item.add_marker(pytest.mark.xdist_group(group))
        longest[module] = max(longest.get(module, 0.0), seconds)
    module_of = {item: item.nodeid.partition("::")[0] for item in items}
    items.sort(key=lambda item: (-longest[module_of[item]], module_of[item] not in grouped))
    # Long ones mostly wait and short ones mostly compute: side by side, but the last ones are short.
    long = [item for item in items if longest[module_of[item]]]
    short = items[len(long) :]
    place = {item: LONG * number / len(long) for number, item in enumerate(long)}
    place |= {item: number / len(short) for number, item in enumerate(short)}
    items.sort(key=place.__getitem__)


def pytest_collection() -> None:
    """Search for no garbage while tests are imported: nearly all that is made then stays."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Keep all that was imported and collected out of each search for garbage."""
    gc.freeze()
    gc.enable()


def in_ci() -> bool:
    """Whether a missing tool is a failure: in CI a skip would hide that nothing was tested."""
    return os.environ.get("CI", "").lower() not in ("", "0", "false", "no")


def need_slurm(*more: str) -> None:
    """Skip the test where no real Slurm can be started; fail in CI, and where a certain one is to be tested.

    ``more``: package sets such as "mpi".
    """
    reason = ""
    if os.geteuid() != 0:
        reason = "a real Slurm has to be started by root"
    else:
        try:
            install(("slurm", *more))
        except SlurmBedError as error:
            reason = str(error)
    if reason and in_ci():
        pytest.fail(f"CI has to run these tests: {reason}")
    if reason and prefix():
        pytest.fail(reason)
    if reason:
        pytest.skip(reason)


def need_nfs() -> None:
    """Skip the test where no file system for several hosts can be mounted; fail in CI."""
    reason = "it has to be mounted by root" if os.geteuid() != 0 else ""
    try:
        install(("nfs",))
    except SlurmBedError as error:
        reason = str(error)
    if reason:
        (pytest.fail if in_ci() else pytest.skip)(f"a file system for several hosts: {reason}")


@pytest.fixture
def nfs_bed() -> Iterator[Callable[..., NfsBed]]:
    """Return a maker of directories on several hosts (arguments of NfsBed); they end with the test."""
    need_nfs()
    with ExitStack() as stack:
        yield lambda *args, **kwargs: stack.enter_context(NfsBed(*args, **kwargs))


@pytest.fixture
def require_slurm() -> None:
    """Need a real Slurm for this test."""
    need_slurm()


@pytest.fixture(scope="session")
def slurm() -> Iterator[SlurmBed]:
    """A real Slurm of four nodes for the whole session. Leave its nodes as they were."""
    need_slurm()
    with SlurmBed(nodes=4) as bed:
        yield bed


@pytest.fixture
def slurm_bed() -> Iterator[Callable[..., SlurmBed]]:
    """Return a maker of private clusters (arguments of SlurmBed); they end with the test."""
    need_slurm()
    with ExitStack() as stack:
        yield lambda *args, **kwargs: stack.enter_context(SlurmBed(*args, **kwargs))


def need_flux() -> None:
    """Skip the test where no real Flux can be started: it is in no package registry."""
    if lacking := fluxbed.missing():
        (pytest.fail if os.environ.get(NEED_FLUX) else pytest.skip)(f"a real Flux needs {', '.join(lacking)}")


def need_pbs() -> None:
    """Skip the test where no real PBS can be started: it is in no package registry."""
    if lacking := pbsbed.missing():
        pytest.skip(f"a real PBS needs {', '.join(lacking)}")


def pytest_sessionstart() -> None:
    """Forget which tests failed in the last run."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        FAILING.parent.mkdir(exist_ok=True)
        FAILING.write_text("")
        FAILED.unlink(missing_ok=True)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Name a test that failed, without the group of pytest-xdist."""
    if report.failed and "PYTEST_XDIST_WORKER" not in os.environ:
        name = GROUP.sub("", report.nodeid)
        with FAILING.open("a+") as file:  # made again where another run has come to its end meanwhile
            file.seek(0)
            if name not in file.read().splitlines():
                file.write(f"{name}\n")


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Say which tests failed where all have run; count a skipped one as a failure in ``make test-flux``."""
    if "PYTEST_XDIST_WORKER" not in os.environ and exitstatus == pytest.ExitCode.TESTS_FAILED:
        with suppress(FileNotFoundError):  # another run of this checkout has moved it
            FAILING.replace(FAILED)  # not of a run that broke off: the tests that it lacks may fail, too
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get(NEED_FLUX) and reporter is not None and reporter.stats.get("skipped"):
        reporter.write_line("tests were skipped, and all of them have to run", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(scope="session")
def flux_bindings() -> Path:
    """A directory for PYTHONPATH in which our Python finds what Flux's own bindings import."""
    need_flux()
    return environments.directory("cffi", "ply")
