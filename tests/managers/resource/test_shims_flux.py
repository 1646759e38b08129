"""What ``flux`` in a task's script is called with, and which srun becomes a ``flux run``."""

from __future__ import annotations

import json
import os
import shlex
import socket
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import need_flux
from whesl.managers.resource.launcher_shims import flux_instance_files, shim_program
from whesl.managers.resource.launcher_shims.flux_node_swap import QUICK, marks, rewrite_flux
from whesl.managers.resource.launcher_shims.flux_run_direct_submission import plain_run
from whesl.managers.resource.launcher_shims.flux_run_to_jobspec import core_limits, jobspec
from whesl.managers.resource.launcher_shims.srun_to_flux import Facts, Run, flux_run
from whesl.model.hostlist import idset

# Four nodes were given: n02 was lost and n04 took its place.
TASK = {
    "WHESL_NODELIST": "n01,n04,n03",
    "WHESL_SWAPPED": json.dumps({"n02": "n04"}),
    "WHESL_HIDDEN_NODES": "n02",
    "WHESL_FLUX_URI": "local:///run/x/local-0",
    "WHESL_FLUX_RANKS": "n01=0,n02=1,n03=2,n04=3",
    "WHESL_ATTEMPT_TOKEN": "wf.app.2",
    "FLUX_URI": "local:///run/x/local-0",
}
BY_NAME = {name: value for name, value in TASK.items() if name != "WHESL_FLUX_RANKS"}
SLURM = {**TASK, "SLURM_JOB_ID": "7", "SLURM_NNODES": "3", "SLURMD_NODENAME": "n01"}
FACTS = Facts(4, mpi_default="none")


def flux(line: str, environ: dict[str, str] = TASK) -> str:
    return " ".join(rewrite_flux(shlex.split(line), environ))


@pytest.mark.parametrize(
    ("given_words", "expected"),
    [
        ("run ./app", f"run {QUICK} --requires=rank:0,2,3 --env=WHESL_ATTEMPT_TOKEN ./app"),
        (
            "submit -N2 -n4 ./app -N9",
            "submit --requires=rank:0,2,3 --env=WHESL_ATTEMPT_TOKEN -N2 -n4 ./app -N9",
        ),
        ("-v run -lN2 ./app", f"-v run {QUICK} --requires=rank:0,2,3 --env=WHESL_ATTEMPT_TOKEN -l -N2 ./app"),
        # A rule that empties the environment does not have the last word.
        (
            "run --env-remove=* --env=A=b -n1 ./app",
            f"run {QUICK} --requires=rank:0,2,3 --env-remove=* --env=A=b --env=WHESL_ATTEMPT_TOKEN -n1 ./app",
        ),
        (
            "batch --env -* -N1 job.sh",
            "batch --requires=rank:0,2,3 --env -* --env=WHESL_ATTEMPT_TOKEN -N1 job.sh",
        ),
        # The user's own constraints: joined by and, swapped nodes translated.
        (
            "run --requires=host:n02 ./app",
            f"run {QUICK} --requires=rank:0,2,3 --env=WHESL_ATTEMPT_TOKEN --requires=host:n04 ./app",
        ),
        (
            "alloc --requires 'gpu and (rank:1-2 or -host:n0[2-3])' -N1",
            "alloc --requires=rank:0,2,3 --env=WHESL_ATTEMPT_TOKEN"
            " --requires=gpu and (rank:2,3 or -host:n[04,03]) -N1",
        ),
        (
            "bulksubmit --requires=hosts:n01,n03 ./app ::: 1",
            "bulksubmit --requires=rank:0,2,3 --env=WHESL_ATTEMPT_TOKEN --requires=hosts:n01,n03 ./app ::: 1",
        ),
        ("exec hostname", "exec --rank=0,2,3 hostname"),
        ("exec -r all -l hostname", "exec --rank=0,2,3 -l hostname"),
        ("exec -r 1 hostname -r", "exec --rank=3 hostname -r"),
        ("exec --jobid=f1 -r 1 hostname", "exec --jobid=f1 -r 1 hostname"),
        # Nothing of the task's nodes in these.
        ("jobs -a", "jobs -a"),
        ("--parent run ./app", "--parent run ./app"),
        ("-p submit ./app", "-p submit ./app"),
        ("run --help", "run --help"),
        ("--version", "--version"),
        ("", ""),
    ],
)
def test_flux_is_held_to_the_nodes_in_use(given_words: str, expected: str) -> None:
    assert flux(given_words) == expected


@pytest.mark.parametrize(
    ("given_words", "expected"),
    [
        ("hostlist -l", "hostlist n[01,04,03]"),
        ("hostlist -el -d, --nth=0", "hostlist -e -d, --nth=0 n[01,04,03]"),
        ("hostlist avail -c", "hostlist -c n[01,04,03]"),
        ("hostlist -x n01 instance n07", "hostlist -x n01 n[01,04,03] n07"),
        ("hostlist", "hostlist"),  # of standard input
        ("getattr hostlist", "hostlist n[01,04,03]"),
        ("getattr size", "hostlist --count n[01,04,03]"),
        ("getattr rank", "getattr rank"),
        ("resource list -no {nodelist}", "resource list --include=0,2,3 --no-skip-empty -no {nodelist}"),
        ("resource status", "resource status --include=0,2,3"),
        ("resource list -i 1", "resource list -i 1"),
        ("resource drain n01 fan", "resource drain n01 fan"),
    ],
)
def test_flux_shows_the_nodes_in_use(given_words: str, expected: str) -> None:
    """Scripts took the head from a list of all nodes, with spare and replaced ones."""
    assert flux(given_words) == expected


def test_a_job_of_the_instance_sees_its_own_nodes() -> None:
    assert flux("hostlist -le", {**TASK, "FLUX_JOB_ID": "f7"}) == "hostlist -e local"


def test_without_ranks_nodes_are_told_by_name() -> None:
    assert (
        flux("run ./app", BY_NAME)
        == f"run {QUICK} --requires=host:n[01,04,03] --env=WHESL_ATTEMPT_TOKEN ./app"
    )
    assert flux("exec ./app", BY_NAME) == "exec ./app"


def test_a_batch_time_of_the_user_s_own_comes_last() -> None:
    words = rewrite_flux(["run", "-o", "output.batch-timeout=2", "./app"], TASK)
    assert words.index(QUICK) < words.index("output.batch-timeout=2")


def test_the_node_of_a_task_is_its_own() -> None:
    """The script's SLURMD_NODENAME would hide the tasks of other nodes from the agents there."""
    assert "--env=SLURMD_NODENAME={{node.name}}" in rewrite_flux(["run", "./app"], SLURM)


@pytest.mark.parametrize(
    "change",
    [
        {"FLUX_URI": "local:///run/nested/local-0"},
        {"FLUX_URI": ""},
        {"WHESL_FLUX_URI": ""},
        {"WHESL_NODELIST": ""},
    ],
)
def test_nested_instances_and_other_shells_are_left_alone(change: dict[str, str]) -> None:
    assert rewrite_flux(["run", "-N1", "./app"], {**TASK, **change}) == ["run", "-N1", "./app"]


@given(st.lists(st.text(alphabet="-=nNrunhost:[]0129, {}()", max_size=8), max_size=6))
def test_the_words_of_the_command_are_never_touched(words: list[str]) -> None:
    command = ["app", *words]
    assert rewrite_flux(["run", "-N2", *command], TASK)[-len(command) :] == command


@given(st.sets(st.integers(0, 300), min_size=1))
def test_sets_of_ranks_are_read(numbers: set[int]) -> None:
    assert idset(",".join(map(str, sorted(numbers)))) == sorted(numbers)


def test_ranges_of_ranks_are_read() -> None:
    assert idset("[0-3,7]") == [0, 1, 2, 3, 7]
    for wrong in ("", "a", "3-1", "0-99999999"):
        with pytest.raises(ValueError):
            idset(wrong)


# srun as flux run ---------------------------------------------------------------------------------

ALWAYS = "--requires=rank:0,2,3 --setopt=output.batch-timeout=0.01 --setopt=exit-timeout=none"
UNBOUND = "--setopt=cpu-affinity=off"


def translated(line: str, environ: dict[str, str] = SLURM, facts: Facts = FACTS) -> Run | None:
    return flux_run(shlex.split(line), environ, facts, read=lambda path: Path(path).read_text())


def words(line: str, environ: dict[str, str] = SLURM, facts: Facts = FACTS) -> str:
    """The options of the flux run, without those for the environment, and its command."""
    run = translated(line, environ, facts)
    assert run is not None, line
    return " ".join(word for word in run.words if not word.startswith("--env="))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("./app", f"--nodes=3 --ntasks=3 --exclusive {ALWAYS} -- ./app"),
        ("-N2 -n4 ./app -N9", f"--nodes=2 --ntasks=4 --exclusive {ALWAYS} -- ./app -N9"),
        ("-n1 --exact ./app", f"--nodes=1 --ntasks=1 {ALWAYS} -- ./app"),
        ("-n2 -c2 ./app", f"--nodes=2 --ntasks=2 --cores-per-task=2 {ALWAYS} -- ./app"),
        ("--ntasks-per-node=2 ./app", f"--nodes=3 --ntasks=6 --exclusive {ALWAYS} -- ./app"),
        ("-l -u ./app", f"--nodes=3 --ntasks=3 --exclusive {ALWAYS} --label-io --unbuffered -- ./app"),
        ("-K ./app", f"--nodes=3 --ntasks=3 --exclusive {ALWAYS} --setopt=exit-on-error -- ./app"),
        ("-K0 ./app", f"--nodes=3 --ntasks=3 --exclusive {ALWAYS} -- ./app"),
        ("-t 1:30 ./app", f"--nodes=3 --ntasks=3 --exclusive {ALWAYS} --time-limit=90s -- ./app"),
        ("-t 1-0 ./app", f"--nodes=3 --ntasks=3 --exclusive {ALWAYS} --time-limit=86400s -- ./app"),
        ("-J x -D /w ./app", f"--nodes=3 --ntasks=3 --exclusive {ALWAYS} --job-name=x --cwd=/w -- ./app"),
        ("-m cyclic ./app", f"--nodes=3 --ntasks=3 --exclusive {ALWAYS} --taskmap=cyclic -- ./app"),
        ("--mpi=pmi2 -- ./app", f"--nodes=3 --ntasks=3 --exclusive {ALWAYS} -- ./app"),
        ("--cpu-bind=none -n1 ./app", f"--nodes=1 --ntasks=1 --exclusive {ALWAYS} {UNBOUND} -- ./app"),
        # The user's own nodes: the one that was swapped, and one that is left out.
        ("-N1 -n1 -w n02 ./app", f"--nodes=1 --ntasks=1 --exclusive {ALWAYS} -- ./app".replace("0,2,3", "3")),
        ("-x n03 ./app", f"--nodes=2 --ntasks=2 --exclusive {ALWAYS} -- ./app".replace("0,2,3", "0,3")),
    ],
)
def test_an_srun_becomes_a_flux_run(line: str, expected: str) -> None:
    assert words(line) == expected


@pytest.mark.parametrize(
    "line",
    [
        "--mpi=pmix ./app",
        "--overlap ./app",
        "--mem=1G ./app",
        "--multi-prog conf",
        "--pty bash",
        "-o out.%t ./app",
        "-o 0 ./app",
        "-n 99 ./app",
        "-n2 -c3 -N1 ./app",
        "-N 2-3 ./app",
        "-m plane=2 ./app",
        "--export=NONE ./app",
        "--export=A,B ./app",
        "--gres=gpu:1 ./app",
        "-n4 -N3 --ntasks-per-node=2 ./app",
        "--jobid=9 ./app",
        "-N1 orted --daemonize",
        "-n1 ./app : -n2 ./other",
        "echo {{taskid}}",
        "-t 0 ./app",
        "--nonsense ./app",
        "--version",
        "-N2",
    ],
)
def test_what_only_srun_can_do_stays_with_it(line: str) -> None:
    assert translated(line) is None


def test_mpi_by_default_is_what_slurm_says() -> None:
    assert translated("./app", facts=Facts(4, mpi_default="pmix_v4")) is None
    assert words("./app", facts=Facts(4, mpi_default="(null)")) == words("./app"), "Slurm 23.11 and later"
    assert translated("./app", facts=Facts(4)) is None, "nobody knows what srun would have offered"
    assert "--setopt=pmi=simple,pmix" in words("./app", facts=Facts(4, mpi_default="pmix", pmix=True))
    assert translated("./app", {**SLURM, "SLURM_MPI_TYPE": "pmix"}) is None


@pytest.mark.parametrize(
    "more",
    [
        {"SLURM_CPU_BIND": "cores"},
        {"SRUN_CPUS_PER_TASK": "2"},
        {"SLURM_EXPORT_ENV": "NONE"},
        {"SLURM_JOB_GPUS": "0"},
    ],
)
def test_defaults_from_the_environment_that_are_not_understood_stay_with_srun(more: dict[str, str]) -> None:
    assert translated("./app", {**SLURM, **more}) is None


def test_programs_find_the_variables_of_a_step() -> None:
    run = translated("-n2 -c2 --export=ALL,A=b$c ./app")
    assert run is not None
    given = [word.removeprefix("--env=") for word in run.words if word.startswith("--env=")]
    assert {"SLURM_PROCID={{taskid}}", "SLURM_NTASKS=2", "SLURM_CPUS_PER_TASK=2", "A=b$$c"} <= set(given)
    assert given[-2:] == ["WHESL_ATTEMPT_TOKEN", "SLURMD_NODENAME={{node.name}}"]


def test_the_number_of_tasks_of_the_job_counts() -> None:
    assert words("./app", {**SLURM, "SLURM_NTASKS": "6"}).startswith("--nodes=3 --ntasks=6 ")
    assert translated("-N2 ./app", {**SLURM, "SLURM_NTASKS": "6"}) is None


def test_files_are_opened_where_srun_would() -> None:
    run = translated("-o out -e err -i in --open-mode=append ./app")
    assert run is not None
    assert (run.input, run.output, run.error) == ("in", ("out", True), ("err", True))
    run = translated("-o none ./app")
    assert run is not None
    assert (run.input, run.output, run.error) == ("", ("/dev/null", False), None)


# The same without flux run's own start -------------------------------------------------------------

EVERYTHING = [
    "--nodes=2", "--ntasks=4", "--cores-per-task=2", "--gpus-per-task=1", "--exclusive",
    "--requires=rank:0,2",
    "--setopt=output.batch-timeout=0.01", "--setopt=exit-timeout=none", "--setopt=exit-on-error",
    "--label-io",
    "--unbuffered", "--taskmap=cyclic", "--job-name=x", "--cwd=/w", "--time-limit=90s", "--env=P={{taskid}}",
    "--env=D=$$c", "--env=A", "--", "./app", "x",
]  # fmt: skip


def test_a_specification_says_what_flux_run_was_told() -> None:
    made = jobspec(EVERYTHING, {"A": "b", "P": "old"}, "/here", {"nofile": 1024})
    assert made is not None
    specification, options = made
    assert options == ["--label-io", "--unbuffered"]
    (node,) = specification["resources"]
    assert (node["count"], node["exclusive"], node["with"][0]["count"]) == (2, True, 2)
    system = specification["attributes"]["system"]
    assert system["environment"] == {"A": "b", "D": "$c"}
    assert system["shell"]["options"]["env-expand"] == {"P": "{{taskid}}"}
    assert (system["cwd"], system["duration"], system["constraints"]) == ("/w", 90.0, {"ranks": ["0,2"]})
    assert specification["tasks"][0]["command"] == ["./app", "x"]


@pytest.mark.parametrize(
    "words", ["--nodes=2 --ntasks=3 --requires=rank:0 -- a", "--nodes=1 --ntasks=1 -- a"]
)
def test_what_is_no_simple_specification_is_left_to_flux_run(words: str) -> None:
    assert jobspec(words.split(), {}, "/", {}) is None


@pytest.mark.flux
@pytest.mark.parametrize(
    "left_out", [(), ("--unbuffered", "--taskmap=cyclic", "--gpus-per-task=1", "--exclusive")]
)
def test_flux_run_itself_would_say_the_same(left_out: tuple[str, ...]) -> None:
    need_flux()
    words = [word for word in EVERYTHING if word not in left_out]
    environ = {"PATH": os.environ["PATH"], "A": "b", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        ["flux", "run", "--dry-run", *words], env=environ, capture_output=True, text=True, check=True
    )
    theirs = json.loads(done.stdout)
    made = jobspec(words, environ, "/", core_limits())
    assert made is not None
    variables = theirs["attributes"]["system"]["environment"]
    # What flux adds for its own commands.
    for name in variables.keys() - environ.keys() - {"D"}:
        del variables[name]
    assert made[0] == theirs


# A flux run of the user's own, in the attempts after the first ----------------------------------------

PLAINLY = {
    "WHESL_FLUX_PLAIN": "1",
    "WHESL_RESTART_COUNT": "1",
    "WHESL_ATTEMPT_TOKEN": "t",
    "SLURMD_NODENAME": "n01",
}


@pytest.mark.parametrize(
    "words",
    [
        "-N2 -n 4 ./app -n 9",
        "-N 2 --ntasks=4 -x -l --job-name=x -- ./app",
        "--nodes=2 -n2 -o cpu-affinity=per-task -o pty --gpus-per-task=1 --cores-per-task 2 ./app",
    ],
)
def test_a_known_flux_run_is_submitted_at_once(words: str) -> None:
    given_words = ["run", QUICK, "--requires=rank:0,2", *marks(PLAINLY), *words.split()]
    found = plain_run(given_words, PLAINLY)
    assert found is not None
    assert found.words[1:4] == ["--requires=rank:0,2", *marks(PLAINLY)]
    made = jobspec(found.words, {**PLAINLY, "A": "b"}, "/here", {})
    assert made is not None
    assert made[0]["tasks"][0]["command"][0] == "./app"
    assert made[0]["attributes"]["system"]["environment"]["WHESL_ATTEMPT_TOKEN"] == "t"


@pytest.mark.flux
@pytest.mark.parametrize(
    "words", ["-N2 -n 4 a", "-N 2 -n2 -x -l -o pty -o mpi=none -c1 a", "-N1 -n1 --job-name=x a"]
)
def test_flux_run_itself_would_submit_the_same(words: str) -> None:
    need_flux()
    environ = {**PLAINLY, "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
    given = [
        "run",
        QUICK,
        "--requires=rank:0,2",
        *marks(PLAINLY),
        *words.replace("-c1", "--cores-per-task=1").split(),
    ]
    done = subprocess.run(
        ["flux", "run", "--dry-run", *given[1:]], env=environ, capture_output=True, text=True, check=True
    )
    theirs = json.loads(done.stdout)
    run = plain_run(given, environ)
    assert run is not None
    made = jobspec(run.words, environ, str(Path.cwd()), core_limits())
    assert made is not None
    variables = theirs["attributes"]["system"]["environment"]
    # What flux adds for its own commands, and what the job shell replaces.
    for name in (*(variables.keys() - environ.keys()), "SLURMD_NODENAME"):
        del variables[name]
    assert made[0] == theirs


@pytest.mark.parametrize(
    "words",
    [
        "-n4 ./app",
        "-N2 ./app",
        "-N2 -n4",
        "-N2 -n4 --requires=rank:0 ./app",
        "-N2 -n4 -c2 ./app",
        "-N2 -n4 --env=A=$B ./app",
        "-N2 -n4 -o x=1 ./app",
        "-N2 -n4 -o x=NaN ./app",
        "-N2 -n4 -o x={} ./app",
        "-N2 -n4 --input=f ./app",
        "-N2 -n4 --output=f ./app",
        "-N0 -n4 ./app",
        "-N2 -n4 -v ./app",
        "-N2 -n4 -u ./app",
        "-N2 -n4 --ex-site=1 ./app",
        "-N2 -n4 -t 5 ./app",
    ],
)
def test_any_other_is_left_to_flux_run(words: str) -> None:
    assert plain_run(["run", "--requires=rank:0,2", *words.split()], PLAINLY) is None


@pytest.mark.parametrize(
    "change", [{"WHESL_FLUX_PLAIN": ""}, {"WHESL_RESTART_COUNT": "0"}, {"WHESL_RESTART_COUNT": ""}]
)
def test_a_first_attempt_and_a_site_s_plug_ins_are_left_to_flux_run(change: dict[str, str]) -> None:
    words = ["run", "--requires=rank:0", "-N1", "-n1", "./app"]
    assert plain_run(words, PLAINLY) is not None
    assert plain_run(words, {**PLAINLY, **change}) is None
    assert plain_run(["submit", *words[1:]], PLAINLY) is None


def test_the_instance_is_known_from_its_files(tmp_path: Path) -> None:
    resources = {
        "version": 1,
        "execution": {
            "R_lite": [
                {"rank": "0-1", "children": {"core": "0-3"}},
                {"rank": "2", "children": {"core": "0-1"}},
            ],
            "nodelist": ["n[01-02]", "n07"],
        },
    }
    (tmp_path / "R").write_text(json.dumps(resources))
    (tmp_path / "mpi").write_text("none\n")
    (tmp_path / "uri").write_text("local:///x\n")
    facts, ranks = flux_instance_files.facts(str(tmp_path))
    assert (facts.cores, facts.pmix, facts.mpi_default) == (2, False, "none")
    assert ranks == "n01=0,n02=1,n07=2"
    assert flux_instance_files.uri(str(tmp_path)) == "local:///x"
    (tmp_path / "failed").touch()
    assert flux_instance_files.uri(str(tmp_path)) == ""
    for damaged in ("", "{}", "[]", '{"execution": {"R_lite": [], "nodelist": []}}'):
        (tmp_path / "R").write_text(damaged)
        with pytest.raises(ValueError):
            flux_instance_files.facts(str(tmp_path))


def test_an_instance_that_has_just_ended_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither submitted to nor run: the caller goes on with the real srun."""
    became: list[list[str]] = []
    monkeypatch.setattr(shim_program, "become", lambda path, words: became.append(words))
    monkeypatch.setattr(shim_program, "submit", lambda real, run: ("", []))
    path = tmp_path / "local-0"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as broker:
        broker.bind(str(path))
        broker.listen()
        monkeypatch.setenv("FLUX_URI", f"local://{path}")
        shim_program.attach("flux", Run(["--nodes=1", "--", "a"]))
        assert became == [["flux", "run", "--nodes=1", "--", "a"]]
    shim_program.attach("flux", Run(["--nodes=1", "--", "a"]))
    path.unlink()
    shim_program.attach("flux", Run(["--nodes=1", "--", "a"]))
    assert len(became) == 1
