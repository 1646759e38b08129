"""Graphs of Makeflow and Cylc: read as their own programs do, wrapped, given back byte for byte."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import need_slurm
from tests.environments import MANAGERS, environment
from tests.equipment.slurmbed import SlurmBed
from tests.managers.desk import RECIPES, slurm_commands
from tests.managers.table import by_name
from whesl.managers.workflow import manager, recognise
from whesl.managers.workflow.cylc import flow
from whesl.managers.workflow.makeflow.manager import Makeflow
from whesl.managers.workflow.port import FluxifyOptions
from whesl.managers.workflow.snakemake import manager as snakemake
from whesl.model.errors import UsageError

WHESL = Path(sys.executable).parent / "whesl"
OPTIONS = FluxifyOptions(program=("whesl",), workflow="w", spec="/s.json", home="/h")
FLOW = """\
[scheduling]
    cycling mode = integer
    initial cycle point = 1
    final cycle point = 2
    [[graph]]
        P1 = make => use
        +P1/P1 = use[-P1] => make
[runtime]
    [[make]]
        script = sh "/p/make.sh" it's # as ever
        execution time limit = PT1M
    [[use]]
        script = '''
            echo "$(cat made)"
            script = 1
        '''
        [[[environment]]]
            X = "script = 2"
"""
REFERENCE = """\
edge "1/make" "1/use"
edge "1/use" "2/make"
edge "2/make" "2/use"
graph
node "1/make" "make\\n1"
node "1/use" "use\\n1"
node "2/make" "make\\n2"
node "2/use" "use\\n2"
stop
"""
RULES = """\
DECLARE ENTITY JOB
DECLARE EXCEPTION_TYPE WORKFLOW_LEVEL
DECLARE RESOURCE FILESYSTEM[REPLACE]
DECLARE EXCEPTION FULL WORKFLOW_LEVEL JOB [make] LIMIT 1
EXCEPTION DETECTION FULL LOG "No space left on device" output
EXCEPTION RECOVERY STEP FULL JOB FILESYSTEM.REPLACE %s
"""
# The first task fails while the second one runs, which ends when it has heard of it. The third one writes
# into the file system that the first one has left.
MAKE = """\
if [ "$WHESL_RESTART_COUNT" = 0 ]; then
  for i in $(seq 600); do [ ! -e /p/me/begun ] || break; sleep 0.1; done
  echo No space left on device; exit 1
fi
echo 7 > "$1"
"""
WATCH = """\
touch /p/me/begun
for i in $(seq 600); do ! grep -q large "$WHESL_RECONFIGURE" || break; sleep 0.1; done
cp "$WHESL_RECONFIGURE" /p/me/watched
"""
CYLC = """\
[scheduling]
    cycling mode = integer
    initial cycle point = 1
    final cycle point = 1
    [[graph]]
        R1 = '''
            make:start => watch
            make => use
        '''
[runtime]
    [[root]]
        platform = cluster
    [[make]]
        script = sh /p/me/make.sh /p/me/small/made.txt
    [[watch]]
        script = sh /p/me/watch.sh
    [[use]]
        script = '''
            cat <<EOF | xargs cat > /p/me/small/used.txt
            /p/me/small/made.txt
            EOF
        '''
"""
SNAKEFILE = """\
rule all:
    input: "/p/me/small/used.txt", "watched"

rule make:
    output: "/p/me/small/{case}.txt"
    shell: "sh /p/me/make.sh {output}"

rule watch:
    output: "watched"
    shell: "sh /p/me/watch.sh && cp /p/me/watched {output}"

rule check:
    input: "/p/me/small/made.txt"
    output: touch("/p/me/study/checked")
    run: print("as ever")

rule use:
    input: rules.check.output, "/p/me/small/made.txt"
    output: "/p/me/small/used.txt"
    shell: "cat /p/me/small/made.txt > {output}"
"""
# Snakemake's arguments for a small cluster, with quick looks at its jobs.
ON_SLURM = (
    *("--executor", "slurm", "--jobs", "3"),
    *("--slurm-init-seconds-before-status-checks", "1", "--seconds-between-status-checks", "1"),
    *("--slurm-no-account", "--slurm-status-command", "squeue"),
    *("--default-resources", "mem_mb=100", "runtime=10"),
)
# Each is written in a way of its own, and Cylc makes the text of some.
TEMPLATES = """\
#!Jinja2
[scheduling]
    [[graph]]
        R1 = made & looped & here & quoted & hash & more
[runtime]
    [[made]]
        script = {{ "echo 'made'" }}
    [[looped]]
        script = '''
            {% for k in range(2) %}
            echo 'k {{ k }}'
            {% endfor %}
            {# a remark #}
        '''
    [[here]]
        script = '''
            cat <<EOF
              it's "a" $(line)
            EOF
            echo on \\
              and on
        '''
    [[quoted]]
        script = "echo 'a' # no comment" # a comment
    [[hash]]
        script = echo a#b
%include "more.cylc"
"""


def rule(command: str, outputs: list[str], *inputs: str, **more: str) -> dict[str, object]:
    return {"command": command, "outputs": outputs, "inputs": list(inputs), **more}


def test_makeflows_rules_wait_for_those_that_write_what_they_read(tmp_path: Path) -> None:
    file = tmp_path / "study.json"
    rules = [
        rule("a > 'x y'", ["x y.dat", "log"]),
        rule("b", ["1.out"], "x y.dat", "given", category="run"),
        rule("b", ["2.out"], "log", "x y.dat", category="run"),
        rule("c", ["end"], "1.out", "2.out"),
    ]
    file.write_text(json.dumps({"rules": rules}))
    found = recognise(str(file)).read([str(file)])
    parents = {task.name: [parent.partition("/")[2] for parent in task.parents] for task in found.tasks}
    assert parents == {
        "x-y": [],
        "run_1.out": ["x-y"],
        "run_2.out": ["x-y"],
        "end": ["run_1.out", "run_2.out"],
    }


def test_tasks_of_makeflow_have_names_of_their_own(tmp_path: Path) -> None:
    file = tmp_path / "study.json"
    rules = [
        rule("a", ["1"], category="run"),
        rule("b", ["x y"], category="run"),
        rule("c", ["x-y"], category="run"),
    ]
    file.write_text(json.dumps({"rules": [*rules, rule("d", ["run_1"])]}))
    names = [task.name for task in Makeflow().read([str(file)]).tasks]
    assert names == ["run_1-1", "run_x-y-2", "run_x-y-3", "run_1_4"]
    file.write_text(json.dumps({"rules": [rule("a", []), rule("b", [])]}))
    assert [task.name for task in Makeflow().read([str(file)]).tasks] == ["rule_rule-1", "rule_rule-2"]


def test_all_that_makeflow_would_refuse_is_told_at_once(tmp_path: Path) -> None:
    file = tmp_path / "study.json"
    file.write_text(json.dumps({"rules": [rule("a", ["x"]), rule("b", ["x"]), {"outputs": ["y"]}]}))
    with pytest.raises(UsageError) as caught:
        Makeflow().read([str(file)])
    assert "rules 1 and 2 both write x" in str(caught.value)
    assert "rule 3 (y) has no 'command'" in str(caught.value)


@given(st.lists(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0")), min_size=1))
def test_any_command_of_makeflow_comes_back_as_it_was(commands: list[str]) -> None:
    made = Makeflow()
    text = json.dumps({"rules": [rule(command, [f"{i}"]) for i, command in enumerate(commands)]}, indent=3)
    path = Path("study.json")
    wrapped = made.fluxify(text, path, OPTIONS).text
    for one, command in zip(json.loads(wrapped)["rules"], commands, strict=True):
        assert shlex.split(one["command"])[-3:] == ["/bin/sh", "-c", command]
    assert made.fluxify(wrapped, path, OPTIONS).text == wrapped
    assert made.undo(wrapped, path) == text


def job(rule: str, *wildcards: str, shell: str = "/bin/bash", parents: tuple[int, ...] = ()) -> snakemake.Job:
    return snakemake.Job(
        rule=rule, wildcards=wildcards, shell=shell, command="", checkpoint=False, parents=parents
    )


def test_snakemakes_expression_names_the_shell_that_was_written_for_the_job() -> None:
    for one in (job("make"), job("make", "it's", "a/b"), job("make", "")):
        expression = snakemake._expression("/home/it's/shells", one, "bash")
        assert eval(expression, {"wildcards": list(one.wildcards)}) == f"/home/it's/shells/{one.name}/bash"


def test_snakemakes_jobs_wait_for_the_nearest_ones_with_a_shell() -> None:
    jobs = [job("a"), job("b"), job("run", shell="", parents=(0, 1)), job("c", parents=(2, 1))]
    assert sorted(snakemake._parents(jobs, 3)) == [0, 1]


def test_cylcs_graph_is_the_one_that_it_prints() -> None:
    assert flow.graph(REFERENCE) == {
        ("make", "1"): (),
        ("use", "1"): (("make", "1"),),
        ("make", "2"): (("use", "1"),),
        ("use", "2"): (("make", "2"),),
    }


def test_scripts_of_cylc_are_wrapped_and_nothing_else() -> None:
    path = Path("flow.cylc")
    wrapped = manager("cylc").fluxify(FLOW, path, OPTIONS).text
    assert wrapped.count("whesl exec") == 2
    assert '\n            echo "$(cat made)"\n' in wrapped
    assert '--step "$CYLC_TASK_NAME" --instance "$CYLC_TASK_CYCLE_POINT"' in wrapped
    assert 'X = "script = 2"\n' in wrapped
    assert manager("cylc").fluxify(wrapped, path, OPTIONS).text == wrapped
    assert manager("cylc").undo(wrapped, path) == FLOW


@given(
    st.lists(
        st.sampled_from(
            [
                "[runtime]\n",
                "[[a]]\n",
                "script = x\n",
                "script = '''\n",
                "'''\n",
                '"""\n',
                "  script=\\\n",
                'y = """a\n',
                "# script = z\n",
                "a \x0c b \u2028 {{ c }}\n",
                'script = "b" # c\n',
                "end",
            ]
        )
    )
)
def test_any_flow_comes_back_as_it_was(lines: list[str]) -> None:
    text = "[scheduling]\n" + "".join(lines)
    try:
        wrapped = flow.wrap(text, "whesl exec --", "flow.cylc")
    except UsageError:
        return
    assert flow.unwrap(wrapped, "flow.cylc") == text


class Desk:
    """A user's directory, with a file system that is full and one that is not, and a cluster."""

    def __init__(self, place: Path, bed: SlurmBed) -> None:
        self.place, self.bed = place, bed
        for name in ("home", "study", "small", "large"):
            (place / name).mkdir(mode=0o700)
        paths = {"filesystem": str(place / "large"), "defaultpath": str(place / "small")}
        (place / "rules.esl").write_text(RULES % json.dumps(paths))
        for name, text in (("make.sh", MAKE), ("watch.sh", WATCH)):
            (place / name).write_text(text.replace("/p/me", str(place)))
        self.environment = {
            **os.environ,
            **bed.environment,
            "WHESL_HOME": str(place / "home"),
            "HOME": str(place),
        }

    def use_cylc(self) -> None:
        """Put Cylc on PATH, with a platform for the cluster."""
        path = f"{self.environment['PATH']}:{environment(*by_name('Cylc').packages)}"
        # Login shells begin with another PATH, and Cylc drops variables of Slurm.
        (self.place / ".profile").write_text(
            f"PATH={path}\nexport SLURM_CONF={self.environment['SLURM_CONF']}\n"
        )
        self.environment |= {"PATH": path, "CYLC_CONF_PATH": str(self.place)}
        shutil.copyfile(RECIPES / "cylc" / "global.cylc", self.place / "global.cylc")

    def use_snakemake(self) -> None:
        """Put Snakemake on PATH, and commands that know the cluster."""
        if sys.version_info < (3, 11):
            pytest.skip("Snakemake 9 needs Python 3.11")
        slurm_commands(self.place / "bin", self.bed, "srun", "squeue", "scontrol", "sinfo")
        self.environment["PATH"] = f"{self.place / 'bin'}:{self.environment['PATH']}:{environment(*MANAGERS)}"

    def call(self, name: str, text: str, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a workflow of the file ``name``; what WHESL and the manager said stands in ``stderr``."""
        file = self.place / "study" / name
        file.write_text(text.replace("/p/me", str(self.place)))
        call: tuple[str | Path, ...] = (
            WHESL,
            "run",
            file,
            "-e",
            "../rules.esl",
            "--rjms",
            "slurm",
            "--poll",
            "0.5",
            *words,
        )
        done = subprocess.run(
            call,
            cwd=self.place / "study",
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=280,
            check=False,
        )
        logs = "".join(log.read_text() for log in (self.place / "home").glob("workflows/*/manager.log"))
        done.stderr = done.stdout + done.stderr + logs
        return done

    def report(self) -> dict[str, list[dict[str, object]]]:
        """Return what the report says of all tasks."""
        call = (WHESL, "report", "--json")
        said = subprocess.run(call, env=self.environment, capture_output=True, text=True, check=True)
        found: dict[str, list[dict[str, object]]] = json.loads(said.stdout)
        return found

    def jobs(self) -> list[dict[str, str]]:
        """Return the jobs that Slurm has had."""
        lines = self.bed.run("scontrol", "show", "jobs", "--oneliner").stdout.splitlines()
        return [dict(re.findall(r"(\w+)=(\S*)", line)) for line in lines]

    def run(self, name: str, text: str, *words: str, jobs_in_all: int = 3) -> None:
        """Run a workflow whose first task loses its file system while another runs; check all tasks."""
        done = self.call(name, text, *words)
        assert done.returncode == 0, done.stderr
        report = self.report()
        assert [task["attempts"] for task in sorted(report["tasks"], key=itemgetter("step"))] == [2, 1, 1]
        assert {task["state"] for task in report["tasks"]} == {"completed"}
        assert [row["outcome"] for row in report["exceptions"]] == ["recovered"]
        assert "large" in (self.place / "watched").read_text()
        assert (self.place / "large" / "used.txt").read_text().split() == ["7"]
        assert len(self.jobs()) == jobs_in_all


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    need_slurm()
    with SlurmBed(2) as bed:
        found = Desk(tmp_path, bed)
        yield found
        subprocess.run((WHESL, "coordinator", "stop"), env=found.environment, check=False)


@pytest.mark.slow
@pytest.mark.slurm
@pytest.mark.variant
def test_tasks_of_makeflow_are_told_of_another_path(desk: Desk) -> None:
    if not shutil.which("makeflow"):
        pytest.skip("Makeflow is not installed: apt install coop-computing-tools")
    rules = [
        rule("sh /p/me/make.sh /p/me/small/made.txt && echo > make", ["make"]),
        rule("sh /p/me/watch.sh && echo > watch", ["watch"]),
        rule("cat /p/me/small/made.txt > /p/me/small/used.txt && echo > use", ["use"], "make"),
    ]
    (desk.place / "rules.esl").open("a").write("DECLARE COUPLED JOB [make, watch]\n")
    desk.run("flow.json", json.dumps({"rules": rules}), "--", "-T", "slurm")


@pytest.mark.slow
@pytest.mark.slurm
@pytest.mark.variant
def test_tasks_of_cylc_are_told_of_another_path(desk: Desk) -> None:
    desk.use_cylc()
    desk.run("flow.cylc", CYLC)


@pytest.mark.slow
@pytest.mark.slurm
@pytest.mark.variant
def test_tasks_of_snakemake_are_told_of_another_path(desk: Desk) -> None:
    desk.use_snakemake()
    (desk.place / "rules.esl").open("a").write("DECLARE COUPLED JOB [make, watch]\n")
    own = ("--set-resources", "use:mem_mb=50")
    desk.run("Snakefile", SNAKEFILE, "--", *ON_SLURM, *own, jobs_in_all=4)


@pytest.mark.slow
@pytest.mark.variant
def test_scripts_of_cylc_that_no_text_shows_are_named(tmp_path: Path) -> None:
    installed = environment(*by_name("Cylc").packages)

    def runtime(text: str) -> str:
        (tmp_path / "flow.cylc").write_text(text)
        call = (installed / "cylc", "config", "-i", "[runtime]", tmp_path)
        return subprocess.run(call, capture_output=True, text=True, check=True).stdout

    (tmp_path / "more.cylc").write_text("    [[more]]\n        script = true\n")
    assert flow.unprotected(
        runtime(TEMPLATES), runtime(flow.wrap(TEMPLATES, "whesl exec --", "flow.cylc"))
    ) == ["more"]
