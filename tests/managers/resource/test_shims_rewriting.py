"""What launchers are called with: one case a form."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whesl.managers.resource.launcher_shims.flux_node_swap import RANKS, ranks_of, told_ranks
from whesl.managers.resource.launcher_shims.launcher_node_swap import rewrite
from whesl.managers.resource.launcher_shims.launcher_options import parse_srun
from whesl.managers.resource.launcher_shims.nodes_in_use import Nodes
from whesl.managers.resource.slurm.job_variables_of_nodes_in_use import for_nodes
from whesl.runtime.isolator.launch import runner_start

# Four nodes were given: n02 was lost and n04 took its place; n05 is spare.
AFTER = {
    "WHESL_NODELIST": "n01,n04,n03",
    "WHESL_SWAPPED": json.dumps({"n02": "n04"}),
    "WHESL_HIDDEN_NODES": "n02,n05",
    "WHESL_RESTART_COUNT": "1",
    "SLURM_JOB_ID": "7",
    "SLURM_NNODES": "3",
    "SLURM_JOB_NUM_NODES": "3",
}
FIRST = {
    "WHESL_NODELIST": "n01,n02,n03",
    "WHESL_SWAPPED": "{}",
    "WHESL_HIDDEN_NODES": "n04,n05",
    "WHESL_RESTART_COUNT": "0",
    "SLURM_JOB_ID": "7",
    "SLURM_NNODES": "3",
}
NO_SPARES = {**FIRST, "WHESL_HIDDEN_NODES": ""}


def nothing(path: str) -> str:
    raise FileNotFoundError(path)


# Of srun 26.05.3, with a SPANK plugin's options.
HELP = """\
Usage: srun [OPTIONS(0)... [executable(0) [args(0)...]]]

Parallel run options:
  -A, --account=name          charge job to specified account
      --later-option=n        of a release that is not known

Options provided by plugins:

      --container-image=[USER@][REGISTRY#]IMAGE[:TAG]|PATH
                              [pyxis] the image to use for the container
                              filesystem, as --container-name=x does.
      --container-remap-root  [pyxis] ask to be remapped to root inside the
      --beegfs=[size]         optional argument of a plugin
"""


@pytest.mark.parametrize(
    "own",
    [
        "--container-image ubuntu",
        "--container-im ubuntu",
        "--container-image=ubuntu",
        "--container-remap-root",
        "--beegfs",
        "--later-option 3",
    ],
)
def test_an_option_of_a_plugin_or_a_newer_release_is_asked_of_srun_itself(own: str) -> None:
    asked: list[str] = []
    words = shlex.split(f"-n6 {own} -N3 ./app -N2")
    made = rewrite("srun", words, AFTER, read=nothing, ask=lambda: asked.append("once") or HELP)  # type: ignore[func-returns-value]  # append returns None
    assert " ".join(made) == f"--overlap --nodes=3 --nodelist=n[01,04,03] -n6 {own} ./app -N2"
    assert asked == ["once"]


def test_srun_is_asked_of_no_option_that_is_known() -> None:
    assert rewrite("srun", ["-N1", "./app", "--own"], AFTER, read=nothing, ask=lambda: 1 / 0)  # type: ignore[arg-type,return-value]  # never called


def srun(
    line: str, environ: dict[str, str], *, read: Callable[[str], str] = nothing, ordinal: int = 0
) -> str:
    return " ".join(rewrite("srun", shlex.split(line), environ, read=read, ordinal=ordinal))


@pytest.mark.parametrize(
    ("given_words", "expected"),
    [
        ("./app", "--overlap --nodes=3 --nodelist=n[01,04,03] ./app"),
        ("-N3 -n6 ./app -N2 -w n02", "--overlap --nodes=3 --nodelist=n[01,04,03] -n6 ./app -N2 -w n02"),
        ("-N 2 ./app", "--overlap --nodes=2 --nodelist=n[01,04] ./app"),
        ("--nodes=2-3 ./app", "--overlap --nodes=3 --nodelist=n[01,04,03] ./app"),
        # A node that is not there any more: on fewer.
        ("-N4 -n8 ./app", "--overlap --nodes=3 --nodelist=n[01,04,03] -n8 ./app"),
        ("-n2 ./app", "--overlap --nodes=2 --nodelist=n[01,04] -n2 ./app"),
        # The user's own nodes: swapped, lost and spare ones.
        ("-N1 -w n02 ./app", "--overlap --nodes=1 --nodelist=n04 ./app"),
        ("-N2 --nodelist n0[2-3] ./app", "--overlap --nodes=2 --nodelist=n[04,03] ./app"),
        ("-N2 --nodelist=n02,n05 ./app", "--overlap --nodes=2 --nodelist=n[04,01] ./app"),
        ("-w n03 ./app", "--overlap --nodes=3 --nodelist=n[03,01,04] ./app"),
        ("-x n02 ./app", "--overlap --nodes=2 --nodelist=n[01,03] ./app"),
        ("-N1 -r1 ./app", "--overlap --nodes=1 --nodelist=n04 ./app"),
        # Words that look like options, but are arguments of the command or of an option.
        ("-J -w -l sh -c srun -N9", "--overlap --nodes=3 --nodelist=n[01,04,03] -J -w -l sh -c srun -N9"),
        ("-lN2 ./app", "--overlap --nodes=2 --nodelist=n[01,04] -l ./app"),
        ("-uK1 -N2 ./app", "--overlap --nodes=2 --nodelist=n[01,04] -u -K1 ./app"),
        ("--nodel=n02 -N1 ./app", "--overlap --nodes=1 --nodelist=n04 ./app"),
        ("--overlap ./app", "--nodes=3 --nodelist=n[01,04,03] --overlap ./app"),
        ("--exclusive -n3 ./app", "--overlap --nodes=3 --nodelist=n[01,04,03] -n3 ./app"),
        ("--mpi=pmix --kill-on-bad-exit=1 ./app", None),
        ("-- ./app", "--overlap --nodes=3 --nodelist=n[01,04,03] -- ./app"),
    ],
)
def test_srun_after_a_swap(given_words: str, expected: str | None) -> None:
    if expected is None:
        expected = f"--overlap --nodes=3 --nodelist=n[01,04,03] {given_words}"
    assert srun(given_words, AFTER) == expected


@pytest.mark.parametrize(
    ("given_words", "expected"),
    [
        # No overlap before a node is lost: steps that queue for CPUs go on doing so.
        ("-n3 ./app", "--nodes=3 --nodelist=n[01-03] -n3 ./app"),
        ("-N2 ./app", "--nodes=2 --nodelist=n[01-02] ./app"),
    ],
)
def test_srun_beside_spares(given_words: str, expected: str) -> None:
    assert srun(given_words, FIRST) == expected


def test_small_steps_go_round() -> None:
    """Slurm itself would put each of them on the first node that is named."""
    lists = [srun("-N1 -n1 ./app", FIRST, ordinal=ordinal).split()[1] for ordinal in range(4)]
    assert lists == ["--nodelist=n01", "--nodelist=n02", "--nodelist=n03", "--nodelist=n01"]
    assert srun("-N2 ./app", FIRST, ordinal=1) == "--nodes=2 --nodelist=n[03,01] ./app"


def test_small_steps_are_slurm_s_choice_without_spares() -> None:
    assert srun("-N1 -n1 --exclusive ./app", NO_SPARES) == "-N1 -n1 --exclusive ./app"


@pytest.mark.parametrize(
    "words",
    ["-N9 ./app", "--nodes=2-9 ./app", "-w nowhere ./app", "-w n01,n09 ./app", "-x n09 ./app", "-r 7 ./app"],
)
def test_what_a_job_never_had_is_slurm_s_to_refuse(words: str) -> None:
    """A step of more nodes than its job has ran on fewer, with status 0."""
    assert srun(words, NO_SPARES) == words
    assert srun(words, {**NO_SPARES, "WHESL_LOST_NODES": "n02"}) != words


def test_lost_nodes_without_a_swap_overlap_too() -> None:
    environ = {**FIRST, "WHESL_LOST_NODES": "n04"}
    assert srun("./app", environ).startswith("--overlap ")


@pytest.mark.parametrize(
    ("given_words", "default", "expected"),
    [
        ("./app", "100", "--overlap --mem=0 {} ./app"),
        ("./app", "", "--overlap {} ./app"),
        ("--mem-per-cpu=50 ./app", "", "--overlap --mem=0 {} ./app"),
        ("--overlap --mem-per-cpu 50 ./app", "100", "--mem=0 {} --overlap ./app"),
        ("--mem=50 ./app", "100", "--overlap {} --mem=50 ./app"),
        ("--mem-per-gpu=50 ./app", "100", "--overlap {} --mem-per-gpu=50 ./app"),
    ],
)
def test_memory_that_a_lost_node_s_step_holds_is_not_asked_for_again(
    given_words: str, default: str, expected: str
) -> None:
    environ = {**AFTER, "SLURM_MEM_PER_CPU": default}
    assert srun(given_words, environ) == expected.format("--nodes=3 --nodelist=n[01,04,03]")
    assert "--mem=0" not in srun(given_words, {**FIRST, "SLURM_MEM_PER_CPU": default})


@pytest.mark.parametrize(("restarts", "overlap"), [("0", False), ("1", True), ("", False)])
def test_what_is_not_told_is_taken_from_restarts(restarts: str, overlap: bool) -> None:
    environ = {**FIRST, "WHESL_RESTART_COUNT": restarts}
    del environ["WHESL_SWAPPED"]
    assert srun("./app", environ).startswith("--overlap") is overlap


def test_node_files() -> None:
    files = {"/dir/nodes": "n02\nn03\n", "nodes": "n02\nn02\nn01\n"}
    assert srun("-N2 -w /dir/nodes ./app", AFTER, read=files.__getitem__) == (
        "--overlap --nodes=2 --nodelist=n[04,03] ./app"
    )
    assert srun("-F nodes -n3 -m arbitrary ./app", AFTER, read=files.__getitem__) == (
        "--overlap --nodelist=n04,n04,n01 -n3 -m arbitrary ./app"
    )
    environ = {**AFTER, "SLURM_HOSTFILE": "nodes"}
    assert srun("-n3 -m arbitrary ./app", environ, read=files.__getitem__) == (
        "--overlap --nodelist=n04,n04,n01 -n3 -m arbitrary ./app"
    )


def test_a_host_file_alone_says_the_order_of_the_tasks() -> None:
    """srun takes SLURM_HOSTFILE for --distribution=arbitrary, and a named list for a set of nodes."""
    environ = {**AFTER, "SLURM_HOSTFILE": "nodes"}
    files = {"nodes": "n03\nn02\n"}
    said = srun("-n2 ./app", environ, read=files.__getitem__)
    assert said == "--overlap --distribution=arbitrary --nodelist=n03,n04 -n2 ./app"
    said = srun("-n2 -w n01,n03 ./app", environ, read=files.__getitem__)
    assert said == "--overlap --nodes=2 --nodelist=n[01,03] -n2 ./app"
    said = srun("-n2 -F nodes ./app", {**AFTER}, read=files.__getitem__)
    assert said == "--overlap --nodes=2 --nodelist=n[03-04] -n2 ./app"
    said = srun("-N2 -n2 ./app", environ, read=files.__getitem__)
    assert said.startswith("--overlap --nodes=2 --distribution=arbitrary --nodelist=n03,n04 -n2")


@pytest.mark.parametrize(
    ("line", "environ"),
    [
        ("-N2 ./app", {}),
        ("-N2 ./app", {**AFTER, "WHESL_NODELIST": ""}),
        ("-N2 ./app", {**AFTER, "SLURM_JOB_ID": ""}),
        ("--jobid=8 -N2 ./app", AFTER),
        ("--version", AFTER),
        ("-V", AFTER),
        ("--mpi=list", AFTER),
        ("-Z -w n09 ./app", AFTER),
        ("-N many ./app", AFTER),
        ("-w n[1- ./app", AFTER),
        ("-w /no/such/file ./app", AFTER),
        ("-N2 ./app", {**AFTER, "WHESL_SWAPPED": "{damaged"}),
    ],
)
def test_untouched(line: str, environ: dict[str, str]) -> None:
    assert srun(line, environ) == line


@pytest.mark.parametrize(
    ("line", "environ", "expected"),
    [
        ("--export=NONE a", {}, "--export=WHESL_ATTEMPT_TOKEN"),
        ("--export=A,B=2 a", {}, "--export=A,B=2,WHESL_ATTEMPT_TOKEN"),
        ("--export=ALL,B=2 a", {}, None),
        ("a", {"SLURM_EXPORT_ENV": "NONE"}, "--export=WHESL_ATTEMPT_TOKEN"),
        ("a", {"SLURM_EXPORT_ENV": "ALL"}, None),
        # srun reads this one last; a step without its token was not found when it was to be ended.
        ("a", {"SLURM_EXPORT_ENV": "ALL", "SRUN_EXPORT_ENV": "NONE"}, "--export=WHESL_ATTEMPT_TOKEN"),
        ("a", {"SLURM_EXPORT_ENV": "NONE", "SRUN_EXPORT_ENV": "ALL"}, None),
        ("a", {}, None),
    ],
)
def test_the_token_reaches_the_ranks(line: str, environ: dict[str, str], expected: str | None) -> None:
    result = srun(line, {**NO_SPARES, "WHESL_ATTEMPT_TOKEN": "secret", **environ}).split()
    exports = [word for word in result if word.startswith("--export")]
    if expected is None:
        assert exports == [word for word in line.split() if word.startswith("--export")]
    else:
        assert exports == [expected]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("--propagate=NONE a", "--propagate=RSS"),
        ("--propagate=STACK,CORE a", "--propagate=STACK,CORE,RSS"),
        ("--propagate=STACK,RSS a", "--propagate=STACK,RSS"),
        ("--propagate=ALL a", "--propagate=ALL"),
        ("--propagate a", "--propagate"),
    ],
)
def test_the_mark_reaches_the_ranks(line: str, expected: str) -> None:
    result = srun(line, {**NO_SPARES, "WHESL_ATTEMPT_TOKEN": "secret"}).split()
    assert [word for word in result if word.startswith("--propagate")] == [expected]


def mpi(line: str, environ: dict[str, str], flavour: str, read: Callable[[str], str] = nothing) -> str:
    return " ".join(rewrite("mpirun", shlex.split(line), environ, read=read, flavour=lambda: flavour))


def test_mpirun_reads_slurm_s_variables_itself() -> None:
    line = "-np 4 --mca btl tcp,self -x A ./app --host n02"
    assert mpi(line, AFTER, "openmpi") == line


def test_mpirun_with_hosts_of_the_user() -> None:
    assert mpi("-np 2 --host n01:2,n02:2,n05 ./app", AFTER, "openmpi") == "-np 2 --host n01:2,n04:2 ./app"
    assert mpi("-H n02 -n 1 ./a : -n 1 -H n01 ./b", AFTER, "openmpi") == (
        "--host n04 -n 1 ./a : -n 1 -H n01 ./b"
    )
    assert mpi("-hosts n01,n02 -n 2 ./app -f x", AFTER, "hydra") == "-hosts n01,n04 -n 2 ./app -f x"
    assert mpi("-genv A -n -f hosts ./app", AFTER, "hydra", {"hosts": "n02:2\n"}.__getitem__) == (
        "-genv A -n -hosts n04:2 ./app"
    )


def test_mpirun_with_a_host_file_of_the_user() -> None:
    files = {"hosts": "# nodes\nn01 slots=2\nn02 slots=2 # second\n", "same": "n01\nn03\n"}
    assert mpi("--hostfile hosts ./app", AFTER, "openmpi", files.__getitem__) == ("--host n01:2,n04:2 ./app")
    assert mpi("--hostfile same ./app", AFTER, "openmpi", files.__getitem__) == "--hostfile same ./app"


def test_mpirun_with_a_rank_file_of_the_user() -> None:
    """It named the dead node for ever: mpirun refused every restart."""
    files = {
        "ranks": "rank 0=n01 slot=0\nrank 1=n02 slot=0-1\n# rank 2\n",
        "same": "rank 0=n01 slot=0\nrank 1=+n1 slot=0\n",
    }
    kept: list[str] = []

    def keep(text: str) -> str:
        kept.append(text)
        return "/t/ranks"

    def words(line: str, flavour: str = "openmpi") -> str:
        argv = shlex.split(line)
        made = rewrite("mpirun", argv, AFTER, read=files.__getitem__, flavour=lambda: flavour, keep=keep)
        return " ".join(made)

    assert words("-n 2 --rankfile ranks ./app -rf ranks") == "-n 2 --rankfile /t/ranks ./app -rf ranks"
    assert words("-rf ranks -n 2 ./app : -n 1 ./b") == "--rankfile /t/ranks -n 2 ./app : -n 1 ./b"
    assert kept == ["rank 0=n01 slot=0\nrank 1=n04 slot=0-1\n# rank 2\n"] * 2
    assert words("-n 2 --rankfile same ./app") == "-n 2 --rankfile same ./app"
    assert words("-n 2 ./app -rf ranks", "hydra") == "-n 2 ./app -rf ranks"


def test_mpirun_elsewhere_gets_the_host_file() -> None:
    environ = {"WHESL_NODELIST": "a,b", "WHESL_HOSTFILE": "/t/hosts"}
    assert mpi("-n 2 ./app", environ, "openmpi") == "--hostfile /t/hosts -n 2 ./app"
    assert mpi("-n 2 ./app : -n 1 ./b", environ, "hydra") == "-f /t/hosts -n 2 ./app : -n 1 ./b"


def test_mpirun_on_virtual_nodes_is_left_alone() -> None:
    assert mpi("--host n02 ./app", {**AFTER, "WHESL_LOCAL": "x"}, "openmpi") == "--host n02 ./app"


@pytest.mark.parametrize("option", ["extra-node-info", "sockets-per-node", "ntasks-per-gpu", "extra"])
def test_an_argument_in_a_word_of_its_own_is_no_command(option: str) -> None:
    assert parse_srun([f"--{option}", "2", "./app"]).rest == ("./app",)


FORMS = (
    "-N 2 -N2 -w n02 --nodelist=n02 --nodes -n 4 -n -lN -x n01 --export=NONE -r 1 -- ./app : -K --mpi pmix -"
)
WORDS = st.lists(st.one_of(st.sampled_from(FORMS.split()), st.text(max_size=8)), max_size=8)


def test_components_of_a_call_have_nodes_of_their_own() -> None:
    spare = {**NO_SPARES, "WHESL_NODELIST": "n01,n02", "WHESL_HIDDEN_NODES": "n03"}
    spare |= {"SLURM_NNODES": "2", "SLURM_JOB_NUM_NODES": "2"}
    made = srun("-N1 ./a : -N1 ./b : -N1 ./c", spare)
    chosen = [word for word in made.split() if word.startswith("--nodelist")]
    assert chosen[:2] == ["--nodelist=n01", "--nodelist=n02"] and len(chosen) == 3
    assert "n03" not in made


def components(words: list[str]) -> list[list[str]]:
    """Return what is between the words ``:``."""
    ends = [place for place, word in enumerate(words) if word == ":"]
    return [
        words[first:last] for first, last in zip([0, *(end + 1 for end in ends)], [*ends, None], strict=True)
    ]


@given(WORDS, st.sampled_from([AFTER, FIRST, NO_SPARES]))
def test_no_words_are_lost(words: list[str], environ: dict[str, str]) -> None:
    """The command and its arguments stay, whatever stands before them, and nothing is raised."""
    result = components(rewrite("srun", words, environ, read=nothing))
    given = components(words)
    assert len(result) == len(given)
    for made, before in zip(result, given, strict=True):
        rest = list(parse_srun(before).rest)
        assert made[len(made) - len(rest) :] == rest
    rewrite("mpirun", words, environ, read=nothing)
    rewrite("mpirun", words, environ, read=nothing, flavour=lambda: "hydra")


def test_ten_thousand_nodes_fit_into_a_variable_and_an_argument() -> None:
    """Their names with commas were longer than execve(2) takes: no attempt could be started."""
    names = tuple(f"frontier{number:05}" for number in range(10_000))
    ranks = {name: number for number, name in enumerate(names)}
    kept = runner_start.told(
        task="w/t", workflow="w", restarts=0, token="t", active=names, swapped="{}", lost=names, hosts="h",
        reconfigure="r",
    )  # fmt: skip
    job = {"SLURM_JOB_NODELIST": "frontier[00000-09999],spare", "SLURM_JOB_ID": "7"}
    told = {**job, **kept, **for_nodes(("spare",), job), RANKS: told_ranks(ranks)}
    assert max(map(len, told.values())) < 1000
    found = Nodes(told)
    assert (found.active, found.hidden, ranks_of(told[RANKS])) == (names, names, ranks)
    assert subprocess.run(["env"], env=told, stdout=subprocess.DEVNULL, check=False).returncode == 0


def test_many_tasks_in_an_order_are_left_to_srun_while_all_nodes_are_there() -> None:
    """A node for each of 40,000 tasks was one argument, too long for execve(2)."""
    environ = {**NO_SPARES, "WHESL_RESTART_COUNT": "0", "SLURM_HOSTFILE": "/hosts"}
    assert srun("-n40000 ./app", environ, read=lambda _: "n03\nn01\n" * 20_000) == "-n40000 ./app"
