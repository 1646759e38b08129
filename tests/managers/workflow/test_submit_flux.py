"""The flux in front: what it puts into a jobspec, what it reads of calls, one job per submission."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.managers.workflow.wrapped import wrapped
from whesl.managers.resource.granted_spares_and_requeue import GRANTED_SPARES
from whesl.managers.resource.port import JobRecord
from whesl.managers.workflow import script_wrapping
from whesl.managers.workflow.submission import flux_command, flux_directives, jobspec
from whesl.managers.workflow.submission.flux_bindings import OUTER
from whesl.managers.workflow.submission.install import install
from whesl.model.errors import UsageError
from whesl.model.states import JobState

HEADER = """\
#!/bin/bash
#MAESTRO-INFO (flux version) 0.88.0
#
#flux: -N 2
#flux: --job-name="run_SIZE.10"
#flux: --urgency=20
"""


def script(spares: int = 1, task: str = "run") -> str:
    call = script_wrapping.TaskCall(
        program=("/opt/whesl",), workflow="w", step=task, spec="/r", nodes="2", spares=spares
    )
    return wrapped(call, HEADER + "\nflux run -N2 -n4 x\n")


def spec(
    command: list[str] | None = None, *, nodes: Any = 2, text: str = "", **system: Any
) -> dict[str, Any]:
    """A jobspec as flux batch makes it, or with a command as flux submit does."""
    slot = {"type": "slot", "count": 1, "with": [{"type": "core", "count": 1}], "label": "task"}
    resources = [{"type": "node", "count": nodes, "exclusive": True, "with": [slot]}] if nodes else [slot]
    given = {"duration": 0, "cwd": "/w", "environment": {"PATH": "/usr/bin"}, **system}
    if text:
        given["files"] = {"script": {"mode": 33216, "data": text, "encoding": "utf-8"}}
    words = command or ["flux", "broker", "{{tmpdir}}/script"]
    return {
        "resources": resources,
        "tasks": [{"command": words, "slot": "task", "count": {"per_slot": 1}}],
        "attributes": {"system": given},
        "version": 1,
    }


def test_a_wrapped_script_is_found_wherever_it_is(tmp_path: Path) -> None:
    found = jobspec.wrapped_script(spec(text=script()))
    assert found is not None
    assert (found[0].task, found[0].spares) == ("w/run", 1)
    # Maestro's adapter names the file; a relative name is seen from the job's directory.
    (tmp_path / "run.flux.sh").write_text(script())
    for word in (str(tmp_path / "run.flux.sh"), "run.flux.sh"):
        found = jobspec.wrapped_script(spec(["flux", "broker", word], cwd=str(tmp_path)))
        assert found is not None
        assert found[0].task == "w/run"
    assert jobspec.wrapped_script(spec(text="#!/bin/sh\ntrue\n")) is None
    assert jobspec.wrapped_script(spec(["true"])) is None
    assert jobspec.wrapped_script({}) is None
    assert jobspec.wrapped_script({"tasks": "x", "attributes": 3}) is None


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["tasks", "command", "attributes", "system", "files", "script", "data", "cwd"]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    )
)
def test_any_other_document_is_nobodys(document: Any) -> None:
    if isinstance(document, dict):
        assert jobspec.wrapped_script(document, read=lambda _: "") is None


def rewritten(given: dict[str, Any], spares: int = 1, **options: Any) -> jobspec.Rewritten:
    said = script_wrapping.read_wrapped(script(spares))
    assert said is not None
    before = json.dumps(given)
    result = jobspec.rewrite(given, said, "w/run#1", **options)
    assert json.dumps(given) == before, "the manager's own jobspec was changed"
    return result


def test_token_spares_and_what_outlives_a_lost_node() -> None:
    result = rewritten(spec(text=script()))
    new = result.jobspec
    assert new["attributes"]["user"]["whesl"]["token"] == "w/run#1"
    assert new["resources"][0]["count"] == 3
    assert result.spares == 1
    assert new["tasks"][0]["command"] == ["flux", "broker", "-Stbon.topo=kary:0", "{{tmpdir}}/script"]
    assert new["attributes"]["system"]["shell"]["options"]["exit-timeout"] == "none"


def test_what_the_user_chose_stays() -> None:
    own = ["flux", "broker", "--setattr=tbon.topo=binomial", "s"]
    new = rewritten(spec(own, shell={"options": {"exit-timeout": "30s"}}), spares=0).jobspec
    assert new["tasks"][0]["command"] == own
    assert new["attributes"]["system"]["shell"]["options"]["exit-timeout"] == "30s"
    assert new["resources"][0]["count"] == 2
    # A flat tree over thousands of nodes would be too much for the first.
    assert rewritten(spec(nodes=4000, text=script())).jobspec["tasks"][0]["command"][2] == "{{tmpdir}}/script"


@pytest.mark.parametrize(
    ("nodes", "grown"), [(1, 2), ({"min": 2, "max": 4, "operator": "+", "operand": 1}, None)]
)
def test_counts_and_ranges_of_nodes(nodes: Any, grown: int | None) -> None:
    count = rewritten(spec(nodes=nodes, text=script())).jobspec["resources"][0]["count"]
    assert count == (grown or {"min": 3, "max": 5, "operator": "+", "operand": 1})


@pytest.mark.parametrize("given", [spec(nodes=0, text=script()), spec(["run.sh"])])
def test_no_spare_without_a_number_of_nodes_or_an_instance(given: dict[str, Any]) -> None:
    result = rewritten(given)
    assert result.spares == 0
    assert "w/run has no spare node" in result.notices[0]
    assert result.jobspec["resources"] == given["resources"]


def test_bad_nodes_are_added_to_the_callers_constraints() -> None:
    away = {"not": [{"hostlist": ["n03,n05"]}]}
    system = rewritten(spec(text=script()), avoid=("n03", "n05")).jobspec["attributes"]["system"]
    assert system["constraints"] == away
    own = {"properties": ["fast"]}
    system = rewritten(spec(text=script(), constraints=own), avoid=("n03", "n05")).jobspec["attributes"][
        "system"
    ]
    assert system["constraints"] == {"and": [own, away]}


def test_the_job_does_not_see_our_commands() -> None:
    variables = {"PATH": "/h/bin:/usr/bin", "PYTHONPATH": "/h/python", "OTHER": "/h/bin"}
    system = rewritten(spec(text=script(), environment=variables), hidden=("/h/bin", "/h/python")).jobspec
    inside = {"PATH": "/usr/bin", "OTHER": "/h/bin", GRANTED_SPARES: "1 w/run"}
    assert system["attributes"]["system"]["environment"] == inside


def test_directives() -> None:
    text = """\
#!/bin/sh
# flux: -N4 --job-name="a b" # note
# flux: --conf=\'\'\'
# flux: --urgency=9
# flux: \'\'\'
# flux: --flags=debug
# flux: # --cwd=/no
# flux: --cwd /w --flags waitable
# flux: -N 5 '
true
"""
    assert flux_directives.parse(text) == {
        "nodes": "4", "job-name": "a b", "flags": "debug,waitable", "chdir": "/w",
    }  # fmt: skip
    assert flux_directives.present(text)
    assert not flux_directives.present("#!/bin/sh\n#SBATCH -N2\necho flux: -N2\n")


@given(st.text(max_size=200))
def test_any_text_has_directives_or_none(text: str) -> None:
    flux_directives.parse(text)
    flux_directives.parse(f"#flux: {text}")


def test_urgency_and_flags_are_no_part_of_a_jobspec() -> None:
    assert flux_command.options_outside([], script()) == ("20", ())
    assert flux_command.options_outside(["--urgency", "hold", "--flags=debug"], script()) == ("0", ("debug",))


# The command ---------------------------------------------------------------------------------------------

FAKE = """\
#!/bin/sh
# Answers as flux does: dry runs with a jobspec, submissions with an id.
echo "$*" >> "$FAKE/calls"
case "$*" in
*--dry-run*) cat "$FAKE/jobspec" ;;
job-validator*)
  cat > /dev/null
  [ -e "$FAKE/small" ] || exit 0
  rm "$FAKE/small"
  echo '{"errnum": 75, "errstr": "too many nodes"}'
  exit 1 ;;
"job submit"*) cat >> "$FAKE/submitted"; echo >> "$FAKE/submitted"; echo "fABC$(wc -l < "$FAKE/submitted")" ;;
*) echo "real: $*" ;;
esac
"""


class Nobody:
    """A scheduler that has never heard of a token, or knows one job."""

    def __init__(self, known: JobRecord | None = None) -> None:
        self.known = known

    def find(self, token: str) -> JobRecord | None:
        return self.known

    def jobs(self, ids: Sequence[str]) -> dict[str, JobRecord]:
        return {}


class Front:
    """A front with a fake flux behind it."""

    def __init__(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.place = place
        (place / "real").mkdir()
        (place / "real" / "flux").write_text(FAKE)
        (place / "real" / "flux").chmod(0o755)
        self.script = place / "run.sh"
        self.script.write_text(script())
        (place / "jobspec").write_text(json.dumps(spec(text=script())))
        monkeypatch.setenv("FAKE", str(place))
        monkeypatch.setenv("WHESL_HOME", str(place / "home"))
        monkeypatch.setenv("PATH", f"{place / 'w' / 'bin'}:{place / 'real'}:{os.environ['PATH']}")
        self.scheduler = Nobody()
        monkeypatch.setattr("whesl.managers.resource.scheduler", lambda name: self.scheduler)
        install(place / "w" / "bin", "flux")

    def main(self, *words: str) -> int:
        return flux_command.main(str(self.place / "w" / "bin"), str(self.place / "real" / "flux"), words)

    def submitted(self) -> list[dict[str, Any]]:
        path = self.place / "submitted"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def calls(self) -> list[str]:
        return (self.place / "calls").read_text().splitlines()


@pytest.fixture
def front(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Front:
    return Front(tmp_path, monkeypatch)


def test_batch_is_submitted_once(front: Front, capsys: pytest.CaptureFixture[str]) -> None:
    assert front.main("batch", "-N", "2", str(front.script), "--urgency=1") == 0
    assert capsys.readouterr().out == "fABC1\n"
    assert f"batch --dry-run -N 2 {front.script} --urgency=1" in front.calls()
    assert "job submit --urgency=20" in front.calls(), "a script's own argument was taken for Flux's"
    (job,) = front.submitted()
    assert job["resources"][0]["count"] == 3
    front.scheduler.known = JobRecord(id="fABC1", state=JobState.RUNNING)
    assert front.main("batch", "-N", "2", str(front.script)) == 0
    assert capsys.readouterr().out == "fABC1\n"
    assert len(front.submitted()) == 1
    front.scheduler.known = JobRecord(id="fABC1", state=JobState.FAILED)
    assert front.main("batch", "-N", "2", str(front.script)) == 0
    tokens = [job["attributes"]["user"]["whesl"]["token"] for job in front.submitted()]
    assert tokens == ["w/run#1", "w/run#2"]


def test_without_spares_where_there_is_no_room(front: Front, capsys: pytest.CaptureFixture[str]) -> None:
    (front.place / "small").touch()
    assert front.main("batch", str(front.script)) == 0
    assert "w/run has no spare node: too many nodes" in capsys.readouterr().err
    assert [job["resources"][0]["count"] for job in front.submitted()] == [2]


def test_all_else_is_the_real_ones(front: Front) -> None:
    command = str(front.place / "w" / "bin" / "flux")
    plain = front.place / "plain.sh"
    plain.write_text("#!/bin/sh\n")
    for words in (["jobs", "-a"], ["batch", str(plain)], ["run", "hostname"], ["batch", "--wrap", "x"], []):
        done = subprocess.run([command, *words], capture_output=True, text=True, check=False, timeout=60)
        assert done.stdout.strip() == f"real: {' '.join(words)}".strip(), done.stderr
    assert not front.submitted()


def test_a_refusal_is_told_and_nothing_is_submitted(front: Front, capsys: pytest.CaptureFixture[str]) -> None:
    (front.place / "real" / "flux").write_text(
        "#!/bin/sh\necho 'flux-batch: ERROR: no such queue' >&2; exit 1\n"
    )
    assert front.main("batch", str(front.script)) == 1
    assert "no such queue" in capsys.readouterr().err


def test_bindings_that_do_not_import_are_told_in_a_line(
    front: Front, capsys: pytest.CaptureFixture[str]
) -> None:
    (front.place / "real" / "flux").write_text(
        "#!/bin/sh\nprintf 'Traceback (most recent call last):\\n  File \"x.py\"\\n' >&2\n"
        "echo \"ModuleNotFoundError: No module named '_cffi_backend'\" >&2; exit 1\n"
    )
    assert front.main("batch", str(front.script)) == 1
    told = capsys.readouterr().err
    assert "Flux's bindings do not import: ModuleNotFoundError: No module named '_cffi_backend'" in told
    assert "Traceback" not in told


def test_a_manager_without_flux_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no flux on PATH"):
        install(tmp_path / "bin", "flux", {"PATH": str(tmp_path)})


def test_the_bindings_in_front(front: Front) -> None:
    """Stand-in bindings behind them: a wrapped jobspec goes through the command, any other does not."""
    real = front.place / "lib" / "flux"
    (real / "job").mkdir(parents=True)
    (real / "__init__.py").write_text("class Flux: pass\n")
    (real / "job" / "__init__.py").write_text(
        "import json\n"
        "class JobID(str): pass\n"
        "class Spec:\n"
        "    def __init__(self, data): self.data = data\n"
        "    def dumps(self): return json.dumps(self.data)\n"
        "    tasks = property(lambda self: self.data['tasks'])\n"
        "    cwd = property(lambda self: self.data['attributes']['system']['cwd'])\n"
        "def submit(handle, jobspec, urgency=16, waitable=False, debug=False, pre_signed=False):\n"
        "    return JobID('real')\n"
    )
    command = front.place / "w" / "bin" / "flux"
    command.write_text(f'#!/bin/sh\necho "$*" > {front.place}/asked; cat > {front.place}/given; echo fXYZ\n')
    program = (
        "import flux, flux.job, json, os, sys\n"
        "assert os.environ.get('PYTHONPATH') == '/own', os.environ\n"
        "assert flux.__file__.startswith(sys.argv[1]), flux.__file__\n"
        "handle = flux.Flux()\n"
        "for text in sys.argv[2:]:\n"
        "    print(flux.job.submit(handle, flux.job.Spec(json.loads(text)), waitable=True, urgency=31))\n"
    )
    path = f"{front.place / 'w' / 'python'}:{front.place / 'lib'}"
    named = spec(["flux", "broker", str(front.script)])
    texts = [json.dumps(given) for given in (named, spec(["true"]), spec(text=script()))]
    done = subprocess.run(
        [sys.executable, "-c", program, str(front.place / "lib"), *texts],
        env={"PYTHONPATH": path, OUTER: "/own", "PATH": os.environ["PATH"]},
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.stdout.split() == ["fXYZ", "real", "fXYZ"], done.stderr
    assert (front.place / "asked").read_text() == "job submit --urgency=31 --flags=waitable\n"
    command.write_text("#!/bin/sh\necho 'flux: ERROR: said no' >&2; exit 1\n")
    done = subprocess.run(
        [sys.executable, "-c", program, str(front.place / "lib"), texts[0]],
        env={"PYTHONPATH": path, OUTER: "/own", "PATH": os.environ["PATH"]},
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert "OSError: flux: ERROR: said no" in done.stderr
