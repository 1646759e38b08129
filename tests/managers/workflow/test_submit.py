"""The sbatch in front: what it adds to a call, and that each submission happens once."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.managers.workflow.wrapped import program_text, wrapped
from whesl.managers.resource.granted_spares_and_requeue import NO, NOTHING, YES
from whesl.managers.workflow import script_wrapping
from whesl.managers.workflow.prepare import run_environment
from whesl.managers.workflow.submission.install import install
from whesl.managers.workflow.submission.sbatch_options import asked_of, parse_call, parse_header
from whesl.managers.workflow.submission.sbatch_rewriting import rewrite

HEADER = """\
#!/bin/bash
#SBATCH --nodes={nodes}
#SBATCH --partition=main
#SBATCH --job-name="run_SIZE.10"
#SBATCH --output="run_SIZE.10.out"
#SBATCH --comment "what Maestro says"
{more}
"""


def script(spares: int = 1, nodes: str = "2", more: str = "", task: str = "run", keeps: bool = True) -> str:
    header = dict(parse_header(HEADER.format(nodes=nodes, more=more)))
    call = script_wrapping.TaskCall(
        program=("/opt/whesl",),
        workflow="w",
        step=task,
        instance="SIZE.10",
        spec="/r",
        nodes=nodes,
        spares=spares,
        keeps=keeps,
        tasks=header.get("ntasks") or "",
        gpus=header.get("gpus") or "",
    )
    return wrapped(call, HEADER.format(nodes=nodes, more=more) + "\nsrun x\n")


def rewritten(text: str, *arguments: str, comment: str = "whesl:w/run#1") -> list[str]:
    said = script_wrapping.read_wrapped(text)
    assert said is not None
    return list(rewrite(parse_call([*arguments, "run.slurm.sh"]), text, said, comment).words)


@pytest.mark.parametrize(
    ("words", "options", "script_name", "rest"),
    [
        (["-D", "/w", "a.sh"], [("chdir", "/w")], "a.sh", []),
        (
            ["--reservation", "r", "-D", "/w", "a.sh", "-N2"],
            [("reservation", "r"), ("chdir", "/w")],
            "a.sh",
            ["-N2"],
        ),
        (
            ["-N4", "-n", "8", "--exclusive", "a.sh"],
            [("nodes", "4"), ("ntasks", "8"), ("exclusive", None)],
            "a.sh",
            [],
        ),
        (
            ["-Hn8", "--parsable", "a.sh", "x"],
            [("hold", None), ("ntasks", "8"), ("parsable", None)],
            "a.sh",
            ["x"],
        ),
        (["--no-kill=off", "--", "a.sh"], [("no-kill", "off")], "a.sh", []),
        (["--wrap", "true"], [("wrap", "true")], "", []),
        (["-N"], [("nodes", None)], "", []),
        ([], [], "", []),
    ],
)
def test_command_lines(
    words: list[str], options: list[tuple[str, str | None]], script_name: str, rest: list[str]
) -> None:
    call = parse_call(words)
    assert (list(call.options), call.script, list(call.arguments)) == (options, script_name, rest)


@given(st.lists(st.text(max_size=8), max_size=6))
def test_no_word_of_the_caller_is_lost(words: list[str]) -> None:
    call = parse_call(words)
    given = [word for number, component in enumerate(call.words) for word in (*[":"][:number], *component)]
    together = [*given, *([call.script] if call.script else []), *call.arguments]
    assert [word for word in words if word not in ("", "--")] == [w for w in together if w not in ("", "--")]


def test_headers_end_at_the_first_command() -> None:
    text = (
        '#!/bin/sh\n# x\n\n#SBATCH -N 3 --comment="a b" # note\n#SBATCHX -n9\n#SBATCH "\ntrue\n#SBATCH -N9\n'
    )
    assert parse_header(text) == (("nodes", "3"), ("comment", "a b"))


def test_flags_and_comment() -> None:
    words = rewritten(script(spares=0), "-D", "/w")
    assert words[:2] == ["-D", "/w"]
    assert words[-1] == "run.slurm.sh"
    assert {"--no-kill", "--requeue", "--comment=whesl:w/run#1"} <= set(words)
    assert not any(word.startswith("--nodes") for word in words)
    assert dict(asked_of(parse_call(["a"]), script(), {}))["comment"] == "what Maestro says"
    assert dict(asked_of(parse_call(["--comment=mine", "a"]), script(), {}))["comment"] == "mine"


@pytest.mark.parametrize(
    ("header", "environment", "arguments", "appended"),
    [
        ("", {}, [], True),  # slurm-%j.out
        ("#SBATCH -o step.%j.out -e step.%j.err", {}, [], True),
        ("#SBATCH -o out-%06A.%a", {}, [], True),
        ("#SBATCH -o new", {}, [], True),
        ("#SBATCH -o old", {}, [], False),
        ("#SBATCH -o %x.out", {}, [], False),
        ("#SBATCH -o step.%j.out", {}, ["-e", "old"], False),
        ("#SBATCH -o old", {}, ["-D", "/else"], True),
        ("#SBATCH --open-mode=truncate", {}, [], False),
        ("", {"SBATCH_OPEN_MODE": "truncate"}, [], False),
        # The file of a variable was taken for the default's: what an earlier job had written was kept in it.
        ("", {"SBATCH_OUTPUT": "old"}, [], False),
        ("#SBATCH -e old", {"SBATCH_ERROR": "new"}, [], True),
        ("", {"SBATCH_OUTPUT": "old"}, ["-o", "new"], True),
        ("", {}, ["--no-requeue"], False),
    ],
)
def test_the_output_of_a_first_run_is_kept_where_nothing_older_is_in_its_files(
    header: str, environment: dict[str, str], arguments: list[str], appended: bool
) -> None:
    text = script(more=header)
    said = script_wrapping.read_wrapped(text)
    assert said is not None
    call = parse_call([*arguments, "a.sh"])
    result = rewrite(call, text, said, "c", environment, exists=lambda name: name == "old")
    assert ("--open-mode=append" in result.words) is appended


@pytest.mark.parametrize(
    ("header", "environment", "arguments", "said_last"),
    [
        ("", {}, [], NOTHING),
        ("", {"SBATCH_NO_REQUEUE": "1"}, [], NO),
        ("", {"SBATCH_REQUEUE": "1"}, [], YES),
        ("", {"SBATCH_REQUEUE": "1", "SBATCH_NO_REQUEUE": "1"}, [], YES),
        ("", {}, ["--requeue"], YES),
        ("#SBATCH --no-requeue", {}, [], NO),
        ("#SBATCH --no-requeue\n#SBATCH --requeue", {}, [], YES),
        ("#SBATCH --requeue", {"SBATCH_NO_REQUEUE": ""}, [], NO),
        ("#SBATCH --requeue", {}, ["--no-requeue"], NO),
        ("#SBATCH --no-requeue", {"SBATCH_REQUEUE": "1"}, ["--requeue", "--no-requeue"], NO),
    ],
)
def test_a_lost_start_is_slurm_s_where_the_user_has_said_nothing(
    header: str, environment: dict[str, str], arguments: list[str], said_last: str
) -> None:
    text = script(more=header)
    said = script_wrapping.read_wrapped(text)
    assert said is not None
    result = rewrite(parse_call([*arguments, "a.sh"]), text, said, "c", environment)
    assert result.requeue == said_last
    added = [word for word in result.words[len(arguments) :] if "requeue" in word]
    assert added == (["--requeue"] if said_last == NOTHING else []), "what the user has said stays"


def test_who_only_observes_asks_slurm_for_nothing() -> None:
    call = script_wrapping.TaskCall(program=("w",), workflow="w", step="s", spec="/r", observe=True)
    text = wrapped(call, "#!/bin/sh\nx\n")
    said = script_wrapping.read_wrapped(text)
    assert said is not None
    result = rewrite(parse_call(["a.sh"]), text, said, "c")
    assert not result.requeue
    assert result.words == ("--comment=c", "a.sh")


def test_a_job_is_kept_from_ending_with_a_node_only_where_a_rule_acts_on_that() -> None:
    assert "--no-kill" in rewritten(script(keeps=True))
    assert "--no-kill" not in rewritten(script(keeps=False))


HETEROGENEOUS = [
    ("#SBATCH hetjob\n#SBATCH -N1 -n1", ["-N1"], "-N1 + --nodes=2 : -N1 + --nodes=2 --ntasks=2"),
    ("#SBATCH packjob\n#SBATCH -N2 -n4", [], "+ --nodes=2 : + --nodes=3 --ntasks=6"),
    (
        "",
        ["-N1", "-n1", ":", "-N2", "-n2"],
        "-N1 -n1 + --nodes=2 --ntasks=2 : -N2 -n2 + --nodes=3 --ntasks=3",
    ),
    ("#SBATCH hetjob\n#SBATCH -N2 -n3", [], "no multiple"),
    ("#SBATCH hetjob\n#SBATCH -N1 --gpus=4", [], "has --gpus"),
    ("#SBATCH hetjob\n#SBATCH -n4", [], "does not say how many nodes"),
]


@pytest.mark.parametrize(("more", "arguments", "expected"), HETEROGENEOUS)
def test_each_component_of_a_heterogeneous_job_gets_the_spares(
    more: str, arguments: list[str], expected: str
) -> None:
    text = script(1, "1", more)
    said = script_wrapping.read_wrapped(text)
    assert said is not None
    result = rewrite(parse_call([*arguments, "a.sh", "word"]), text, said, "c")
    words = " ".join(result.words).replace("--comment=c --no-kill --requeue", "+")
    if result.spares:
        assert words == f"{expected} a.sh word"
    else:
        assert words == "+ a.sh word" and expected in result.notices[0]


@pytest.mark.parametrize(
    ("nodes", "more", "arguments", "spares", "expected"),
    [
        ("2", "", [], 1, ["--nodes=3"]),
        ("2", "#SBATCH --ntasks=8", [], 1, ["--nodes=3", "--ntasks=12"]),
        ("2", "#SBATCH --ntasks=5", [], 2, ["--nodes=4", "--ntasks=12"]),
        ("2", "#SBATCH --ntasks-per-node=4", [], 1, ["--nodes=3"]),
        ("2-4", "", [], 1, ["--nodes=3-5"]),
        ("2", "", ["-N", "6"], 2, ["--nodes=8"]),
        ("2", "#SBATCH -G a100:4", [], 1, ["--nodes=3", "--gpus=a100:6"]),
    ],
)
def test_spares(nodes: str, more: str, arguments: list[str], spares: int, expected: list[str]) -> None:
    words = rewritten(script(spares, nodes, more), *arguments)
    added = [word for word in words if word.startswith(("--nodes", "--ntasks", "--gpus"))]
    assert added == expected
    assert words.index(expected[0]) > (words.index("6") if arguments else -1), "the last option wins"


@pytest.mark.parametrize(
    ("header", "spares"), [("#SBATCH -n4", 0), ("#SBATCH -n1", 1), ("", 1), ("#SBATCH -N2k", 0)]
)
def test_spares_need_a_number_of_nodes(header: str, spares: int) -> None:
    tasks = dict(parse_header(f"{header}\n")).get("ntasks") or ""
    call = script_wrapping.TaskCall(program=("w",), workflow="w", step="s", spec="/r", spares=1, tasks=tasks)
    text = wrapped(call, f"#!/bin/sh\n{header}\nx\n")
    said = script_wrapping.read_wrapped(text)
    assert said is not None
    result = rewrite(parse_call(["a.sh"]), text, said, "c")
    assert result.spares == spares
    assert bool(result.notices) == (spares == 0)


def test_numbers_that_the_script_would_not_see_corrected_are_not_scaled() -> None:
    text = script(1, "2", "#SBATCH --ntasks=8")
    said = script_wrapping.read_wrapped(text)
    assert said is not None
    assert (said.tasks, said.gpus) == ("8", "")
    assert "export WHESL_KEEPS_NODES=1 SLURM_NTASKS=8 SLURM_NPROCS=8\n" in program_text(text)
    result = rewrite(parse_call(["-n", "16", "a.sh"]), text, said, "c")
    assert result.spares == 0
    assert "not those of the script" in result.notices[0]


# The program itself ------------------------------------------------------------------------------------


def test_it_stands_on_no_file_of_the_home() -> None:
    """One call that failed there was a submission that failed, and with it all of a workflow."""
    assert Path("/home/w/bin") not in install(Path("/home/w/bin")).parents
    environment = run_environment({}, install(Path("/home/w/bin")), Path("/home"), "slurm")
    assert shutil.which("sbatch", path=environment["PATH"]) == str(install(Path("/home/w/bin")) / "sbatch")


def test_what_is_not_ours_goes_to_the_real_one(tmp_path: Path) -> None:
    real, front = tmp_path / "real", tmp_path / "a front"
    real.mkdir()
    (real / "sbatch").write_text(
        f"#!{sys.executable}\nimport json, os, sys\nprint(json.dumps([sys.argv[1:], os.environ['PATH']]))\n"
    )
    (real / "sbatch").chmod(0o755)
    front.symlink_to(install(front))
    environment = {**os.environ, "PATH": f"{front}:{real}:/usr/bin:/bin", "WHESL_HOME": str(tmp_path / "h")}
    environment["WHESL_PYTHON"] = sys.executable
    # A workspace may hold anything, also files with the names of modules.
    (tmp_path / "json.py").write_text("raise SystemExit(9)")
    plain = tmp_path / "plain.sh"
    plain.write_text("#!/bin/sh\ntrue\n")
    done = subprocess.run(
        ["sbatch", "-N2", str(plain), "a b"],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    words, path = json.loads(done.stdout)
    assert words == ["-N2", str(plain), "a b"]
    assert str(front) not in path


def test_nodes_to_avoid_are_added_to_those_of_the_call() -> None:
    text = script(0, "2", "#SBATCH --exclude=n07")
    said = script_wrapping.read_wrapped(text)
    assert said is not None
    words = rewrite(parse_call(["run.sh"]), text, said, "c", avoid=("n02", "n03")).words
    assert "--exclude=n07,n02,n03" in words
    assert not any(
        word.startswith("--exclude") for word in rewrite(parse_call(["run.sh"]), text, said, "c").words
    )
