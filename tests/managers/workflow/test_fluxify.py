"""Fluxified studies and scripts: what changes, what does not, and the way back."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.alike import examples
from whesl.managers.workflow import manager, recognise, script_wrapping
from whesl.managers.workflow.maestro import command_wrapping
from whesl.managers.workflow.port import Fluxified, FluxifyOptions, text_of
from whesl.model.errors import UsageError

PLACE = tempfile.TemporaryDirectory(prefix="w")
OPTIONS = FluxifyOptions(
    program=("/opt/whesl/bin/whesl",),
    workflow="w",
    spec="/home/u/rules.esl",
    home="/home/u/h",
    place=PLACE.name,
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
    return written(MAESTRO.fluxify(text, Path(path), options))


def written(made: Fluxified) -> str:
    """Return a wrapped text; the programs that it names stand where they have to."""
    for program in made.programs:
        program.write()
    return made.text


@pytest.mark.parametrize("text", [STUDY, STUDY.rstrip("\n"), STUDY.replace("\n", "\r\n")])
def test_there_and_back(text: str) -> None:
    wrapped = fluxify(text)
    assert wrapped != text
    assert fluxify(wrapped) == wrapped
    assert MAESTRO.undo(wrapped, Path("s")) == text


def test_only_lines_are_added_around_blocks() -> None:
    wrapped = fluxify(STUDY).splitlines()
    changed = ("cmd: '", "{name: flow", "batch: {")
    kept = [line for line in STUDY.splitlines() if not any(text in line for text in changed)]
    ordered = iter(wrapped)
    for line in kept[: kept.index("      cmd: echo foo")]:
        assert line in ordered, line


def test_what_a_step_runs() -> None:
    study = yaml.safe_load(fluxify(STUDY, replace(OPTIONS, spares={"literal": 2, "quoted": 1})))
    by_name = {step["name"]: step["run"] for step in study["study"]}
    said = script_wrapping.read_wrapped(f"#!{study['batch']['shell']}\n\n{by_name['literal']['cmd']}")
    assert said is not None
    assert (said.workflow, said.step, said.nodes, said.spares, said.home) == (
        "w",
        "literal",
        2,
        2,
        "/home/u/h",
    )
    assert "--instance\t$(SIZE.label)" in by_name["literal"]["cmd"]
    assert "--nodes\t$(NODES)" in by_name["quoted"]["cmd"]
    assert "--instance\t$(SIZE.label)" in by_name["plain"]["cmd"], "inherited through depends"
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
        ("label: SIZE.%%", 'label: "a\\t%%"', "label"),
        ("batch: {type: slurm,", "batch: {shell: bash, type: slurm,", "whole path"),
    ],
)
def test_what_cannot_be_wrapped_is_refused(old: str, new: str, message: str) -> None:
    text = STUDY.replace(old, new).replace("  variables: {A: 1,", "  variables: {C: &shared echo, A: 1,")
    with pytest.raises(UsageError, match=message):
        fluxify(text)


def test_a_damaged_wrapping_is_not_taken_out() -> None:
    with pytest.raises(UsageError, match="was changed"):
        MAESTRO.undo(fluxify(STUDY).replace('#WHESL was: "', "#WHESL was: "), Path("s"))


SHELLS = [
    ("batch: {type: slurm, host: h, bank: b, queue: q}\n", ""),
    ("batch: {type: slurm, host: h, bank: b, queue: q}", "batch: {}"),
    ("batch: {type: slurm, host: h, bank: b, queue: q}", "batch: {shell: /bin/zsh -l, type: slurm}"),
    ("batch: {type: slurm, host: h, bank: b, queue: q}", "batch:\n    type: slurm # a\n    host: h"),
    ("batch: {type: slurm, host: h, bank: b, queue: q}", "batch:\n  host: h\n  shell:   '/bin/csh'  # why"),
]


@pytest.mark.costly
@pytest.mark.parametrize(("old", "new"), SHELLS)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("final", [True, False])
def test_the_shell_of_a_study_there_and_back(old: str, new: str, newline: str, final: bool) -> None:
    assert old in STUDY
    text = STUDY.replace(old, new)
    text = (text if final else text.rstrip("\n")).replace("\n", newline)
    wrapped = fluxify(text)
    shell = yaml.safe_load(wrapped)["batch"]["shell"]
    assert script_wrapping.is_wrapped(f"#!{shell}")
    own = str((yaml.safe_load(text).get("batch") or {}).get("shell") or "/bin/bash")
    program, _, argument = shell.partition(" ")
    assert (Path(program).name, argument) == (Path(own.split()[0]).name, own.partition(" ")[2])
    assert f" -- {own.split()[0]} " in Path(program).read_text()
    assert fluxify(wrapped) == wrapped
    assert MAESTRO.undo(wrapped, Path("s")) == text


LINES = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=12)
BODY = st.lists(
    st.one_of(LINES, st.sampled_from(["#WHESL", " #WHESL was", "<<'X'", "", "\ttab", "a: b # c"])),
    min_size=1,
    max_size=5,
).map("\n".join)


@pytest.mark.costly
@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
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
    wrapped = fluxify(text)
    for before, after in zip(yaml.safe_load(text)["study"], yaml.safe_load(wrapped)["study"], strict=True):
        inner, _ = command_wrapping.plain_command(after["run"]["cmd"])
        assert inner.rstrip("\n") == before["run"]["cmd"].rstrip("\n")
    assert fluxify(wrapped) == wrapped
    assert MAESTRO.undo(wrapped, Path("s")) == text


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
    wrapped = written(BATCH.fluxify(text, Path("job.sh"), OPTIONS))
    assert BATCH.fluxify(wrapped, Path("job.sh"), OPTIONS).text == wrapped
    assert BATCH.undo(wrapped, Path("job.sh")) == text
    assert wrapped.split("\n")[1:] == text.split("\n")[1:], "line by line"
    first, plain = wrapped.split("\n")[0], text.split("\n")[0]
    program = first.removeprefix("#!").split()[0]
    assert first.split()[1:] == plain.split()[1:], "the interpreter's own argument"
    assert program.rsplit("/", 1)[1] == plain.split()[0].rsplit("/", 1)[1], "Perl looks for its name there"
    assert '--instance "${SLURM_ARRAY_TASK_ID:-$PBS_ARRAY_INDEX}"' in Path(program).read_text()


@pytest.mark.parametrize("variable", [False, True])
def test_an_array_of_the_call_has_a_task_for_each_element(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: bool
) -> None:
    """Both elements of ``whesl run job.sh -- --array=0-1`` were one task, and the second one was refused."""
    (tmp_path / "job.sh").write_text("#!/bin/bash\n#SBATCH --chdir=there --nodes=2\n")
    arguments: tuple[str, ...] = ("--nodes=3", "--array=0-1", "--job-name=other")
    if variable:
        monkeypatch.setenv("SBATCH_ARRAY_INX", "0-1")
        arguments = ("-N", "3")
    source = str(tmp_path / "job.sh")
    tasks = BATCH.read([source], arguments=arguments).tasks
    assert [(task.id, task.instance, task.nodes) for task in tasks] == [
        ("job/job_0", "0", 3),
        ("job/job_1", "1", 3),
    ]
    assert {Path(task.workspace).name for task in tasks} == {"there"}
    wrapped = BATCH.fluxify(text_of(Path(source)), Path(source), replace(OPTIONS, arguments=arguments))
    assert '--instance "${SLURM_ARRAY_TASK_ID:-$PBS_ARRAY_INDEX}"' in wrapped.programs[0].text


def test_bytes_that_are_no_text_stay(tmp_path: Path) -> None:
    path = tmp_path / "job.sh"
    path.write_bytes(b"#! /bin/bash\t-u \n# caf\xe9 \x85 \x0c\r\necho \xff\x00")
    text = text_of(path)
    wrapped = written(BATCH.fluxify(text, path, OPTIONS))
    assert wrapped != text
    assert os.fsencode(BATCH.undo(wrapped, path)) == path.read_bytes()


PROBE = """#!{shell}
cd
echo "$0 $# $2"
cat
missing-program
exit 3
"""
EXECUTED = ("/bin/sh", "/bin/bash", "/bin/bash -u", "/usr/bin/env bash", "/bin/zsh")


@pytest.mark.parametrize("shell", [shell for shell in EXECUTED if Path(shell.split()[0]).exists()])
def test_what_the_kernel_starts_is_the_same_as_without(shell: str, tmp_path: Path) -> None:
    """The program in the first line is told what an interpreter is: here one that does nothing else."""
    script = tmp_path / "job.sh"
    ended = []
    for wrapped in (False, True):
        text = PROBE.format(shell=shell)
        if wrapped:
            (tmp_path / "whesl").write_text(
                '#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done; shift\nexec "$@"\n'
            )
            (tmp_path / "whesl").chmod(0o700)
            options = replace(OPTIONS, program=(str(tmp_path / "whesl"),))
            text = written(BATCH.fluxify(text, script, options))
        script.write_text(text)
        script.chmod(0o700)
        done = subprocess.run(
            [str(script), "a", "b c"], input="in\n", capture_output=True, text=True, check=False
        )
        ended.append((done.returncode, done.stdout, done.stderr))
    assert ended[0] == ended[1]
    assert ended[0][0] == 3 and "b c" in ended[0][1] and "missing-program" in ended[0][2]


def test_a_place_with_a_long_name_has_another_one_in_the_home_directory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOME", "/home/u")
    for place in ("/w/" + "long" * 30, "/w/with a blank"):
        made = BATCH.fluxify(JOB, Path("job.sh"), replace(OPTIONS, place=place))
        assert made.text.startswith("#!/home/u/.whesl/@whesl/")
        assert len(made.text.split("\n")[0]) <= script_wrapping.LONGEST_LINE
    monkeypatch.setenv("HOME", "/home/" + "u" * 120)
    with pytest.raises(UsageError, match="127 bytes of a script's first line"):
        BATCH.fluxify(JOB, Path("job.sh"), replace(OPTIONS, place="/w/" + "long" * 30))


def test_a_wrapped_script_without_its_program_is_told(tmp_path: Path) -> None:
    made = BATCH.fluxify(JOB, Path("job.sh"), replace(OPTIONS, place=str(tmp_path)))
    with pytest.raises(UsageError, match="is gone, or not as WHESL made it"):
        BATCH.undo(made.text, Path("job.sh"))
    with pytest.raises(UsageError, match="is gone, or not as WHESL made it"):
        script_wrapping.read_wrapped(made.text)


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


@pytest.mark.parametrize(
    ("line", "kept"),
    [("", True), ("#SBATCH --no-kill", False), ("#SBATCH -k", False), ("#SBATCH --no-kill=off", True)],
)
def test_what_its_user_has_outlive_lost_nodes_is_not_kept_by_rules(line: str, kept: bool) -> None:
    """The loss of a node that no rule covers ended such a task with status 1, and the plain job went on."""
    options = replace(OPTIONS, keeps=frozenset({"job"}))
    made = BATCH.fluxify(f"#!/bin/bash\n{line}\nsrun x\n", Path("job.sh"), options)
    (program,) = made.programs
    assert ("WHESL_KEEPS_NODES=1" in program.text) is kept


def test_a_wrapped_task_is_told_the_heartbeat_limit_of_the_run() -> None:
    call = script_wrapping.TaskCall(
        program=("whesl",), workflow="w", step="s", spec="x", heartbeat_limit=12.5
    )
    made = script_wrapping.program_for(call, "#!/bin/sh", "job.sh", PLACE.name)
    assert " --heartbeat-limit 12.5 -- /bin/sh" in made.text


def test_an_output_directory_that_is_not_there_is_told_before_submission(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").mkdir()
    options = replace(OPTIONS, submitted=True)
    for header, said in (
        ("-o 'outputs/c-%j.output' #File", True),
        ("--error=/no/such/place/x", True),
        ("-o there/x-%j", False),
        ("-o %x/y", False),
        ("--chdir=there --output=x/y", True),
        ("-J x", False),
    ):
        made = BATCH.fluxify(f"#!/bin/sh\n#SBATCH {header}\ntrue\n", Path("job.sh"), options)
        assert bool(made.notices) is said, header
        assert all("which does not exist" in notice for notice in made.notices)
