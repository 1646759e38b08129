"""Fluxified studies and scripts: what changes, what does not, and the way back."""

from __future__ import annotations

import shutil
import stat
import subprocess
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from whesl.model.errors import UsageError
from whesl.workflows import manager, recognise, script_wrapping
from whesl.workflows.port import FluxifyOptions

OPTIONS = FluxifyOptions(
    program=("/opt/whesl/bin/whesl",), workflow="w", spec="/home/u/rules.esl", home="/home/u/h"
)
MAESTRO = manager("maestro")
BATCH = manager("batch")

STUDY = """\
# A study with everything that an editor could spoil.
description:
    name:   "spaces kept"   # and comments
    description: >
        folded

env:
  variables: {A: 1, 'B': "two"}
batch: {type: slurm, host: h, bank: b, queue: q}

study:
  - name: literal    # a comment
    description: "d "
    run:
        cmd: |  # behind the bar
            echo hi
              more

            last $(LAUNCHER) ./x --n $(SIZE)

        restart: |+
            echo again


        nodes: 2
  - {name: flow, description: d, run: {cmd: "echo $(A)\\nb", nodes: 1, procs: 2}}
  - name: plain
    description: d
    run:
      cmd: echo foo
        bar   # note
      restart: >-
        folded
        text

      depends: [literal]
  - name: quoted
    description: d
    run:
      cmd: 'q ''u'' $(LAUNCHER)[1n, 2p]'
      nodes: $(NODES)
  - name: indented
    description: d
    run:
      cmd: |2-

          indented first
        less
      # a comment behind a block
global.parameters:
    SIZE: {values: [1, 2], label: SIZE.%%}
"""


def fluxify(text: str, options: FluxifyOptions = OPTIONS, path: str = "/s/study.yaml") -> str:
    return MAESTRO.fluxify(text, Path(path), options).text


@pytest.mark.parametrize("text", [STUDY, STUDY.rstrip("\n"), STUDY.replace("\n", "\r\n")])
def test_there_and_back(text: str) -> None:
    wrapped = fluxify(text)
    assert wrapped != text
    assert fluxify(wrapped) == wrapped
    assert MAESTRO.undo(wrapped, Path("s")) == text


def test_only_lines_are_added_around_blocks() -> None:
    wrapped = fluxify(STUDY).splitlines()
    kept = [line for line in STUDY.splitlines() if "cmd: '" not in line and "{name: flow" not in line]
    ordered = iter(wrapped)
    for line in kept[: kept.index("      cmd: echo foo")]:
        assert line in ordered, line


def test_what_a_step_runs() -> None:
    study = yaml.safe_load(fluxify(STUDY, replace(OPTIONS, spares={"literal": 2, "quoted": 1})))
    by_name = {step["name"]: step["run"] for step in study["study"]}
    said = script_wrapping.read_wrapped(by_name["literal"]["cmd"])
    assert said is not None
    assert (said.workflow, said.step, said.nodes, said.spares, said.home) == (
        "w",
        "literal",
        2,
        2,
        "/home/u/h",
    )
    assert "--instance '$(SIZE.label)'" in by_name["literal"]["cmd"]
    assert "--nodes '$(NODES)'" in by_name["quoted"]["cmd"]
    assert "--instance '$(SIZE.label)'" in by_name["plain"]["cmd"], "inherited through depends"
    assert "--instance" not in by_name["flow"]["cmd"]
    assert by_name["quoted"]["cmd"].count("$(LAUNCHER)") == 1, "Maestro adds up every launcher token"


def test_spares_without_nodes_are_left_out_and_said() -> None:
    text = "description: {name: x}\nstudy:\n- name: a\n  description: d\n  run: {cmd: x, procs: 4}\n"
    result = MAESTRO.fluxify(text, Path("s"), replace(OPTIONS, spares={"a": 1}))
    assert "--spares" not in result.text
    assert "step 'a'" in result.notices[0]


def test_new_options_replace_the_old_wrapping() -> None:
    other = replace(OPTIONS, workflow="other")
    assert fluxify(fluxify(STUDY), other) == fluxify(STUDY, other)


def test_edits_inside_a_wrapped_block_survive_undo() -> None:
    wrapped = fluxify(STUDY).replace("echo hi", "echo changed")
    assert MAESTRO.undo(wrapped, Path("s")) == STUDY.replace("echo hi", "echo changed")
    wrapped = fluxify(STUDY).replace("echo foo bar\n", "echo foo baz\n")
    assert "echo foo baz" in MAESTRO.undo(wrapped, Path("s"))


def test_the_directory_of_the_study_stays_known(tmp_path: Path) -> None:
    text = STUDY.replace("echo hi", "ls $(SPECROOT)/data")
    path = tmp_path / "study.yaml"
    there = replace(OPTIONS, out=str(tmp_path / "elsewhere"))
    assert f"ls {tmp_path}/data" in fluxify(text, there, str(path))
    here = replace(OPTIONS, out=str(tmp_path))
    assert "ls $(SPECROOT)/data" in fluxify(text, here, str(path))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("cmd: 'q ''u'' $(LAUNCHER)[1n, 2p]'", "cmd: *shared", "without YAML aliases"),
        ("batch: {type: slurm,", "batch: {shell: /bin/tcsh, type: slurm,", "tcsh"),
        ("label: SIZE.%%", 'label: "it\'s %%"', "label"),
    ],
)
def test_what_cannot_be_wrapped_is_refused(old: str, new: str, message: str) -> None:
    text = STUDY.replace(old, new).replace("  variables: {A: 1,", "  variables: {C: &shared echo, A: 1,")
    with pytest.raises(UsageError, match=message):
        fluxify(text)


def test_a_damaged_wrapping_is_not_taken_out() -> None:
    with pytest.raises(UsageError, match="were changed"):
        MAESTRO.undo(fluxify(STUDY).replace("#WHESL end", "#"), Path("s"))


LINES = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=12)
BODY = st.lists(
    st.one_of(
        LINES, st.sampled_from(["WHESL_TASK", " WHESL_TASK", "#WHESL end", "<<'X'", "", "\ttab", "a: b # c"])
    ),
    min_size=1,
    max_size=5,
).map("\n".join)


@pytest.mark.costly
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    bodies=st.lists(BODY.filter(lambda body: bool(body.strip())), min_size=1, max_size=3),
    style=st.sampled_from(["|", ">", '"', "'", None]),
    width=st.sampled_from([20, 1000]),
    crlf=st.booleans(),
    final=st.booleans(),
)
def test_any_commands_there_and_back(
    bodies: list[str], style: str | None, width: int, crlf: bool, final: bool
) -> None:
    class Text(str):
        pass

    class Dumper(yaml.SafeDumper):  # type: ignore[misc]  # PyYAML ships no types
        pass

    Dumper.add_representer(
        Text, lambda d, text: d.represent_scalar("tag:yaml.org,2002:str", str(text), style=style)
    )
    document = {
        "description": {"name": "x", "description": "d"},
        "study": [
            {"name": f"s{index}", "description": "d", "run": {"cmd": Text(body), "nodes": 1}}
            for index, body in enumerate(bodies)
        ],
    }
    text = yaml.dump(document, Dumper=Dumper, sort_keys=False, width=width, allow_unicode=True)
    text = text if final else text.rstrip("\n")
    text = text.replace("\n", "\r\n") if crlf else text
    if any(script_wrapping.is_wrapped(step["run"]["cmd"]) for step in yaml.safe_load(text)["study"]):
        return
    wrapped = fluxify(text)
    for before, after in zip(yaml.safe_load(text)["study"], yaml.safe_load(wrapped)["study"], strict=True):
        inner, _ = script_wrapping.unwrap(after["run"]["cmd"])
        assert inner.rstrip("\n") == before["run"]["cmd"].rstrip("\n")
    assert fluxify(wrapped) == wrapped
    assert MAESTRO.undo(wrapped, Path("s")) == text


# The wrapped text as shells run it ---------------------------------------------------------------------

SHELLS = [shell for shell in ("sh", "bash", "dash", "ksh", "zsh") if shutil.which(shell)]


def fake_whesl(directory: Path, statuses: list[int]) -> Path:
    """A program in the place of whesl: keeps its standard input, ends with one status after the other."""
    program = directory / "whesl"
    cases = "\n".join(f"{number}) exit {status};;" for number, status in enumerate(statuses, start=1))
    program.write_text(
        f"#!/bin/sh\ncat > '{directory}/script'\nfor a; do echo \"$a\"; done > '{directory}/arguments'\n"
        f"echo x >> '{directory}/calls'\ncase $(wc -l < '{directory}/calls' | tr -d ' ') in\n{cases}\nesac\n"
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("statuses", "status", "calls"),
    [([0], 0, 1), ([3], 3, 1), ([137, 0], 0, 2), ([137, 137, 5], 5, 3), ([137] * 9, 137, 5)],
)
@pytest.mark.parametrize("flags", [[], ["-e"], ["-eu"]])
def test_the_loop(
    shell: str, statuses: list[int], status: int, calls: int, flags: list[str], tmp_path: Path
) -> None:
    body = "echo \"$HOME\" `date` $(date) \\\n'quoted'\n\tWHESL_TASK\nWHESL_TASK\n"
    call = script_wrapping.TaskCall(
        program=(str(fake_whesl(tmp_path, statuses)),),
        workflow="w",
        step="a step",
        spec="/x y",
        instance="N.1",
    )
    script = tmp_path / "job.sh"
    script.write_text(script_wrapping.wrap(call, body, interpreter="/bin/bash"))
    done = subprocess.run([shell, *flags, str(script)], cwd=tmp_path, stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == status
    assert (tmp_path / "calls").read_text().count("x") == calls
    assert (tmp_path / "script").read_text() == "#!/bin/bash\n" + body
    words = (tmp_path / "arguments").read_text().splitlines()
    assert words[words.index("--step") + 1] == "a step"
    assert words[words.index("--workspace") + 1] == str(tmp_path)


# Batch scripts -----------------------------------------------------------------------------------------

JOB = """\
#!/bin/bash -l
#SBATCH --nodes=4 -n 16
#SBATCH --job-name="my job"   # a comment
# more

#SBATCH --array=1-3%2
module load x
#SBATCH --ignored=1
srun ./app "$SLURM_ARRAY_TASK_ID"
"""


@pytest.mark.parametrize("text", [JOB, JOB.rstrip("\n"), JOB.replace("/bin/bash -l", "/usr/bin/env python3")])
def test_scripts_there_and_back(text: str) -> None:
    wrapped = BATCH.fluxify(text, Path("job.sh"), OPTIONS).text
    assert BATCH.fluxify(wrapped, Path("job.sh"), OPTIONS).text == wrapped
    assert BATCH.undo(wrapped, Path("job.sh")) == text
    assert wrapped.splitlines()[1:6] == text.splitlines()[1:6]
    assert '--instance "$SLURM_ARRAY_TASK_ID"' in wrapped
    assert script_wrapping.is_shell(wrapped.splitlines()[0])


def test_a_chain_of_scripts(tmp_path: Path) -> None:
    (tmp_path / "first.sh").write_text(JOB)
    (tmp_path / "second.sh").write_text("#!/bin/sh\n#SBATCH -N2\ntrue\n")
    workflow = BATCH.read([str(tmp_path / "first.sh"), f"{tmp_path}/second.sh:after=first"], workflow="w")
    assert [task.id for task in workflow.tasks] == ["w/my_job_1", "w/my_job_2", "w/my_job_3", "w/second"]
    assert workflow.tasks[3].parents == ("w/my_job_1", "w/my_job_2", "w/my_job_3")
    assert [task.nodes for task in workflow.tasks] == [4, 4, 4, 2]
    with pytest.raises(UsageError, match="no script before it"):
        BATCH.read([f"{tmp_path}/second.sh:after=first"])
    with pytest.raises(UsageError, match="not understood"):
        BATCH.read([f"{tmp_path}/second.sh:before=first"])


def test_kinds_by_content(tmp_path: Path) -> None:
    for name, text, kind in (("a", STUDY, "maestro"), ("b", JOB, "batch")):
        (tmp_path / name).write_text(text)
        assert recognise(str(tmp_path / name)).name == kind
    (tmp_path / "c").write_text("hello")
    with pytest.raises(UsageError, match="no workflow") as told:
        recognise(str(tmp_path / "c"))
    assert "whesl exec before each task's command" in str(told.value.hint), "what other managers' users do"
    with pytest.raises(UsageError, match="no workflow manager 'nextflow'"):
        manager("nextflow")


def test_a_wrapped_task_is_told_the_heartbeat_limit_of_the_run() -> None:
    call = script_wrapping.TaskCall(
        program=("whesl",), workflow="w", step="s", spec="x", heartbeat_limit=12.5
    )
    assert "--heartbeat-limit 12.5 --script -" in script_wrapping.wrap(call, "true\n", interpreter="/bin/sh")
