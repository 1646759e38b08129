"""What ``whesl check`` finds by looking at its host, and what ``--strict`` makes of warnings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.language import corpus
from tests.language.corpus import DETECT, RECOVER
from tests.language.test_command import call
from whesl import language
from whesl.cli.launch.run import _register
from whesl.doctor.rules_on_this_host import Surroundings
from whesl.language.path_expansion import expanded
from whesl.language.spec import Spec
from whesl.model.workflow import Task, Workflow
from whesl.runtime.locking.lock_scope import Mount
from whesl.runtime.wire.messages import RegisterWorkflow, Reply

HEADER = corpus.HEADER.replace(' HANDLER "own.handler"', "")
SCRIPT = "#!/bin/sh\n#SBATCH -N 1\ntrue\n"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("DATA", str(tmp_path / "data"))
    monkeypatch.delenv("DATTA", raising=False)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "solver.log").touch()
    return tmp_path


def check(
    place: Path, capsys: pytest.CaptureFixture[str], text: str, *options: str | Path
) -> list[dict[str, Any]]:
    """Return the findings about rules, and see that ``--strict`` counts them."""
    rules = place / "rules.esl"
    rules.write_text(f"{HEADER}{text}\n")
    assert call("check", rules, *options, "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert said["ok"]
    assert call("check", rules, *options, "--json", "--strict") == (1 if said["diagnostics"] else 0)
    assert json.loads(capsys.readouterr().out)["ok"] is not bool(said["diagnostics"])
    found: list[dict[str, Any]] = said["diagnostics"]
    return found


@pytest.mark.parametrize(
    ("path", "code", "said"),
    [
        ("$DATA/solver.log", None, ""),
        ("${DATA}/solver.log", None, ""),
        ("~/data/solver.log", None, ""),
        ("~/data/*.log", None, ""),
        ("~/data/later.out", None, ""),
        ("solver.log", None, ""),
        ("$DATTA/solver.log", "ESL086", "DATTA"),
        ("~/dat/solver.log", "ESL081", "no directory"),
        ("~/dat/*.log", "ESL081", "no directory"),
        ("$DATA/solvr.log", "ESL081", "did you mean solver.log?"),
    ],
)
def test_files(
    place: Path, capsys: pytest.CaptureFixture[str], path: str, code: str | None, said: str
) -> None:
    found = check(place, capsys, f'{DETECT}LOG "oops" file "{path}"')
    assert [each["code"] for each in found] == ([code] if code else [])
    for each in found:
        assert said in f"{each['message']} {each['hint']}"
        assert each["end_column"] - each["column"] == len(path) + 2


def test_relative_files_are_looked_for_in_a_workspace(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rule = f'{DETECT}LOG "oops" file "logs/solver.log"'
    assert check(place, capsys, rule) == []
    (found,) = check(place, capsys, rule, "--workspace", place / "data")
    assert found["code"] == "ESL081"
    (place / "data" / "logs").mkdir()
    assert check(place, capsys, rule, "--workspace", place / "data") == []


def test_file_systems(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(place, capsys, f'{DETECT}DISK "$DATA" ABOVE 90%') == []
    (found,) = check(place, capsys, f'{DETECT}DISK "$DATA/none" ABOVE 90%')
    assert found["code"] == "ESL081"
    step = f'{DETECT}EXIT CODE 1\n{RECOVER}JOB FILESYSTEM.REPLACE {{"filesystem": "%s", "defaultpath": "/a"}}'
    assert check(place, capsys, step % "$DATA/new") == []
    assert [each["code"] for each in check(place, capsys, step % "$DATA/no/new")] == ["ESL081"]
    assert [each["code"] for each in check(place, capsys, step % "$DATTA/new")] == ["ESL086"]


def test_a_quota_where_there_are_none(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind, options, codes in (
        ("tmpfs", {"rw"}, ["ESL081"]),
        ("tmpfs", {"rw", "usrquota"}, []),
        ("ext4", {"rw"}, []),
    ):
        here = Mount("/", kind, frozenset(options))
        monkeypatch.setattr("whesl.doctor.rules_on_this_host.mount_of", lambda _, here=here: here)
        found = check(place, capsys, f'{DETECT}QUOTA "$DATA" ABOVE 90%')
        assert [each["code"] for each in found] == codes


def test_scripts_that_share_a_directory_share_a_file(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("run", "post"):
        (place / f"{name}.sh").write_text(SCRIPT)
    declared = "DECLARE EXCEPTION ALL JOB_LEVEL JOB [*] ELSE FAIL\n"
    rule = f'{declared}{DETECT}EXIT CODE 1\nEXCEPTION DETECTION ALL LOG "oops" file "run.log"'
    assert check(place, capsys, rule, "--workflow", place / "run.sh") == []
    spec = language.parse(f"{HEADER}{rule}\n", "t.esl").spec
    assert spec is not None
    tasks = (Task(id="w/a", step="a", workspace="/w"), Task(id="w/b", step="b", workspace="/w"))
    both = Workflow(id="w", name="w", wms="batch", root="/w", tasks=tasks)
    (found,) = Surroundings(spec, place / "t.esl", {}, both, None, None, {}).findings()
    assert (found.code, "a and b run in one directory" in found.message) == ("ESL082", True)


@pytest.mark.parametrize("traced", ["set -x", "set -eux", "set -o xtrace", ""])
def test_a_pattern_in_a_traced_command(place: Path, capsys: pytest.CaptureFixture[str], traced: str) -> None:
    """The restarted script printed it again, before anything ran, and was ended for it."""
    (place / "run.sh").write_text(f"#!/bin/bash\n#SBATCH -N 1\n{traced}\nsrun ./app --on-error=retry\n")
    options = ("--workflow", place / "run.sh")
    rule = f'{DETECT}LOG "on-error=retry" output\n{RECOVER}JOB JOB.REPLACE'
    found = check(place, capsys, rule, *options)
    assert [each["code"] for each in found] == (["ESL083"] if traced else [])
    assert check(place, capsys, rule.replace("retry", "none"), *options) == []
    # What is read from a file is not what the shell prints.
    assert check(place, capsys, rule.replace("output", 'file "app.log"'), *options) == []


@pytest.mark.parametrize(("stream", "code"), [("stdout", "ESL096"), ("stderr", None), ("output", None)])
def test_streams_with_files_of_their_own(
    place: Path, capsys: pytest.CaptureFixture[str], stream: str, code: str | None
) -> None:
    header = "#!/bin/bash\n#SBATCH -o o\n#SBATCH -e e\n"
    (place / "run.sh").write_text(f"{header}if ! python a.py; then echo bad >&2; exit 1; fi\n")
    for text in ("Traceback (most recent", "bad"):
        rule = f'{DETECT}LOG "{text}" {stream}\n{RECOVER}JOB JOB.REPLACE'
        found = check(place, capsys, rule, "--workflow", place / "run.sh")
        assert [each["code"] for each in found] == ([code] if code else [])


def test_elements_of_an_array_have_files_of_their_own(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "run.sh").write_text("#!/bin/sh\n#SBATCH -a 1-2\nsrun ./a\n")
    rule = f'{DETECT}LOG "FATAL" file "a%s.log"\n{RECOVER}JOB JOB.REPLACE'
    assert check(place, capsys, rule % "_$SLURM_ARRAY_TASK_ID", "--workflow", place / "run.sh") == []
    (found,) = check(place, capsys, rule % "", "--workflow", place / "run.sh")
    assert found["code"] == "ESL082"
    everywhere = (
        f"DECLARE EXCEPTION ALL JOB_LEVEL JOB [*] ELSE FAIL\n{DETECT}EXIT CODE 1\n{RECOVER}JOB JOB.REPLACE\n"
        + ('EXCEPTION DETECTION ALL LOG "FATAL" file "$HOME/a.log"')
    )
    told = [each["code"] for each in check(place, capsys, everywhere, "--workflow", place / "run.sh")]
    (place / "run.sh").write_text("#!/bin/sh\n#SBATCH -N 2\nsrun ./a\n")
    alone = check(place, capsys, everywhere, "--workflow", place / "run.sh")
    assert ("ESL082" in told, alone) == (True, [])


def test_several_scripts_are_one_workflow(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The last --workflow alone counted, so that the jobs of the others were unknown."""
    scripts = [str(place / "run.sh"), f"{place}/post.sh:after=run"]
    for name in ("run", "post"):
        (place / f"{name}.sh").write_text(SCRIPT)
    rule = f"DECLARE EXCEPTION OWN JOB_LEVEL JOB [%s] ELSE FAIL\n{DETECT}EXIT CODE 1\n"
    rule += "EXCEPTION DETECTION OWN EXIT CODE 1"
    for options in (["--workflow", scripts[0], "--workflow", scripts[1]], scripts):
        check(place, capsys, rule % "post", *options)
    (place / "rules.esl").write_text(f"{HEADER}{rule % 'other'}\n")
    assert call("check", place / "rules.esl", *scripts) == 1
    assert "has no job other" in "".join(capsys.readouterr())
    assert call("check", *scripts) == 2
    assert "no rules are given" in capsys.readouterr().err


def test_a_script_of_other_bytes_is_read(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "run.sh").write_bytes(b"#!/bin/bash\n# \xe9\necho caf\xe9 is open\nsrun ./a > \xe9.log 2>&1\n")
    (found,) = check(place, capsys, f'{DETECT}LOG "is open" output', "--workflow", place / "run.sh")
    assert found["code"] == "ESL083"


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ('NODE.REMOVE {"min_nodes": 3}', "none can be removed"),
        ('NODE.REMOVE {"min_nodes": 2}', ""),
        ('JOB.REPLACE {"nodes": 4}', "not 4"),
        ('JOB.REPLACE {"nodes": 3}', ""),
    ],
)
def test_nodes_that_no_job_has(place: Path, capsys: pytest.CaptureFixture[str], step: str, said: str) -> None:
    (place / "run.sh").write_text(SCRIPT.replace("-N 1", "-N 2"))
    found = check(place, capsys, f"{DETECT}EXIT CODE 1\n{RECOVER}JOB {step}", "--workflow", place / "run.sh")
    assert [each["code"] for each in found] == (["ESL085"] if said else [])
    assert all(said in each["message"] for each in found)


def test_directories_of_results_and_of_new_runs(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for rule in (
        f'{DETECT}OUTPUT "/no-such-root/out/*.nc" MISSING\n{RECOVER}JOB JOB.REPLACE',
        f'{DETECT}EXIT CODE 1\n{RECOVER}JOB JOB.REPLACE {{"workdir": "/no-such-root/run"}}',
        f'{DETECT}EXIT CODE 1\n{RECOVER}JOB FILESYSTEM.REPLACE {{"filesystem": "/no", "defaultpath": "/a"}}',
    ):
        assert [each["code"] for each in check(place, capsys, rule)] == ["ESL081"], rule
    later = f'{DETECT}OUTPUT "$DATA/later/out.nc" MISSING\n{RECOVER}JOB JOB.REPLACE {{"workdir": "$DATA"}}'
    assert check(place, capsys, later) == []


def test_rules_that_end_torchrun_before_it_restarts(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "run.sh").write_text("#!/bin/bash\nsrun torchrun --max-restarts=3 train.py\n")
    options = ("--workflow", place / "run.sh")
    rule = f'{DETECT}LOG "Traceback (most recent" output\n{RECOVER}JOB JOB.REPLACE'
    found = check(place, capsys, rule, *options)
    assert [each["code"] for each in found] == ["ESL089"]
    assert "up to 3 times" in found[0]["message"]
    for line in ("torchrun --max-restarts 0 train.py", "# torchrun --max-restarts 3 train.py"):
        (place / "run.sh").write_text(f"#!/bin/bash\nsrun {line}\n")
        assert check(place, capsys, rule, *options) == []
    for script in (
        "export PET_MAX_RESTARTS=3\nsrun torchrun train.py",
        "R=3\nsrun torchrun --max-restarts $R a.py",
        "R=${R:-3}\ntorchrun --max-restarts=${R} a.py",
    ):
        (place / "run.sh").write_text(f"#!/bin/bash\n{script}\n")
        assert [each["code"] for each in check(place, capsys, rule, *options)] == ["ESL089"], script
    (place / "run.sh").write_text("#!/bin/bash\nsrun torchrun --max-restarts $R train.py\n")
    assert check(place, capsys, rule, *options) == [], "the number is not known"
    (place / "run.sh").write_text("#!/bin/bash\nsrun torchrun --nnodes 2 --max_restarts 1 train.py\n")
    last = f'{DETECT}MATCH "ChildFailedError:$" output\n{RECOVER}JOB JOB.REPLACE'
    assert [each["code"] for each in check(place, capsys, rule, *options)] == ["ESL089"]
    assert check(place, capsys, last, *options) == [], "it has given up by then"


@pytest.mark.parametrize("nodes", ["", "#SBATCH --nodes=4\n"])
def test_nodes_without_a_spare(place: Path, capsys: pytest.CaptureFixture[str], nodes: str) -> None:
    """A job of several nodes without a spare was called correct: its first lost node ended it."""
    (place / "run.sh").write_text(SCRIPT.replace("\n", f"\n{nodes}", 1))
    rule = f"{DETECT}NODE DOWN\n{RECOVER}JOB NODE.REPLACE"
    options = ("--workflow", place / "run.sh", "--spares")
    assert check(place, capsys, rule, *options, "1") == []
    (found,) = check(place, capsys, rule, *options, "0")
    assert (found["code"], "run has no spare" in found["message"]) == ("ESL085", True)


def test_paths_of_a_task_are_those_of_its_environment() -> None:
    text = (
        f'{DETECT}MATCH "of (?P<node>x)" file "$LOGS/a-${{SLURM_JOB_ID}}.log"\n'
        f'{DETECT}DISK "~/b" ABOVE 90%\n{DETECT}LOG "oops" file "$NONE/x"\n'
        f'{RECOVER}JOB FILESYSTEM.REPLACE {{"filesystem": ["$SCRATCH/${{task}}", "~/c"],'
        ' "defaultpath": "${SCRATCH}/$${d}"}\n'
        f'{RECOVER}JOB JOB.ADD {{"command": ["echo", "$SCRATCH"]}}\n'
    )
    spec = language.parse(HEADER + text, "t.esl").spec
    assert spec is not None
    environment = {"LOGS": "/l", "SLURM_JOB_ID": "7", "HOME": "/home/u", "SCRATCH": "/s/${x}"}
    made, undefined = expanded(spec, environment)
    (exception,) = (each for each in made.exceptions if each.name == "E")
    read = [reads.source.path for each in exception.detections if (reads := each.reads()) is not None]
    assert read == ["/l/a-7.log", "$NONE/x"]
    assert [measured[0] for each in exception.detections if (measured := each.measured())] == ["/home/u/b"]
    assert exception.steps[0].arguments == {
        "filesystem": ["/s/$${x}/${task}", "/home/u/c"],
        "defaultpath": "/s/$${x}/$${d}",
    }
    assert exception.steps[1].arguments == {"command": ["echo", "$SCRATCH"]}
    assert [(each.name, each.place) for each in undefined] == [("NONE", "t.esl:11")]


def test_the_coordinator_s_paths_are_those_of_whesl_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = f'{RECOVER}WMS FILESYSTEM.REPLACE {{"filesystem": "~/new", "defaultpath": "$OLD/x"}}'
    spec = language.parse(f"{HEADER}{DETECT}EXIT CODE 1\n{step}\n", "t.esl").spec
    assert spec is not None
    monkeypatch.setenv("HOME", "/home/u")
    monkeypatch.setenv("OLD", "/scratch")
    sent: list[RegisterWorkflow] = []

    def request(home: Path, message: RegisterWorkflow, limit: float) -> Reply:
        sent.append(message)
        return Reply(ok=True)

    monkeypatch.setattr("whesl.cli.launch.run.request", request)
    _register(tmp_path, Workflow(id="w", name="w", wms="batch", root="/w"), spec, "local", False)
    (told,) = msgspec.json.decode(sent[0].spec, type=Spec).exception("E").steps
    assert told.arguments == {"filesystem": "/home/u/new", "defaultpath": "/scratch/x"}
