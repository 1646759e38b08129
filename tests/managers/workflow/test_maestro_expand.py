"""Tasks of a study, compared with the graph that Maestro itself stages."""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.alike import examples
from whesl.managers.workflow import read
from whesl.managers.workflow.maestro import study as studies
from whesl.managers.workflow.maestro.expand import Expansion, expand
from whesl.model.errors import UsageError

# Maestro ships no type information.
core = pytest.importorskip("maestrowf.datastructures.core")
environments = pytest.importorskip("maestrowf.datastructures.environment")
specification = pytest.importorskip("maestrowf.specification")


def staged(path: Path, root: Path, hashed: bool = False) -> dict[str, tuple[str, frozenset[str]]]:
    """Name: (workspace, parents), by Maestro's own code, in the order of ``maestro run``."""
    logging.disable(logging.CRITICAL)
    try:
        spec = specification.YAMLSpecification.load_specification(str(path))
        environment = spec.get_study_environment()
        steps = spec.get_study_steps()
        environment.remove("OUTPUT_PATH")
        environment.add(environments.Variable("OUTPUT_PATH", str(root)))
        environment.add(environments.Variable("SPECROOT", str(path.parent)))
        study = core.Study(
            spec.name,
            spec.description,
            studyenv=environment,
            parameters=spec.get_parameters(),
            steps=steps,
            out_path=str(root),
        )
        study.setup_workspace()
        study.configure_study(hash_ws=hashed)
        study.environment._is_set_up = True  # nothing is fetched in a test
        _, graph = study.stage()
    finally:
        logging.disable(logging.NOTSET)
    return {
        name: (record.workspace.value, frozenset(graph._dependencies[name]) - {"_source"})
        for name, record in graph.values.items()
        if record is not None
    }


def ours(expansion: Expansion) -> dict[str, tuple[str, frozenset[str]]]:
    return {task.name: (task.workspace, frozenset(task.parents)) for task in expansion.tasks}


def write(directory: Path, document: dict[str, Any]) -> Path:
    path = directory / "study.yaml"
    path.write_text(yaml.safe_dump(document, sort_keys=False))
    return path


def step(name: str, cmd: str = "true", **run: Any) -> dict[str, Any]:
    return {"name": name, "description": f"do {name}", "run": {"cmd": cmd, **run}}


def document(*steps: dict[str, Any], **parameters: tuple[list[Any], str]) -> dict[str, Any]:
    return {
        "description": {"name": "a study", "description": "d"},
        "study": list(steps),
        **(
            {"global.parameters": {k: {"values": v, "label": label} for k, (v, label) in parameters.items()}}
            if parameters
            else {}
        ),
    }


PARAMETERS: dict[str, tuple[list[Any], str]] = {
    "SIZE": ([10, 10, 20, 20], "SIZE.%%"),
    "ITER": ([1, 2, 1, 2], "ITER.%%"),
    "NAME": (["a/b", "c d", "e:f", "g"], "NAME.%%"),
}
STUDIES = {
    "linear": document(step("a"), step("b", depends=["a"]), step("c", "$(b.workspace)", depends=["a", "b"])),
    "parameters": document(
        step("make", "x $(SIZE)"),
        step("run", "y $(ITER) in $(make.workspace)", depends=["make"], nodes=2, procs=4),
        step("odd", "z $(NAME.label)"),
    )
    | {"global.parameters": {k: {"values": v, "label": lb} for k, (v, lb) in PARAMETERS.items()}},
    "funnel": document(
        step("make", "x $(SIZE) $(ITER)"),
        step("post", "cat $(make.workspace)/*", depends=["make_*"]),
        step("both", "cat $(make.workspace) $(SIZE)", depends=["make_*"]),
        step("end", "true", depends=["post", "both_*"]),
    )
    | {"global.parameters": {k: {"values": v, "label": lb} for k, (v, lb) in PARAMETERS.items()}},
    "inherited without a token": document(
        step("a", "$(SIZE)"),
        step("b", "true", depends=["a"]),
        step("c", "ls $(a.workspace)", depends=["b"]),
        SIZE=PARAMETERS["SIZE"],
    ),
    "numbers as PyYAML prints them": document(
        step("a", "$(V)"), V=([1e3, 1.10, True, None, 0x10, 1.0], "%%V.%%")
    ),
    "used in name and restart": document(
        step("a", "true", restart="go on $(ITER)"),
        step("b", "true", walltime="$(SIZE)"),
        SIZE=PARAMETERS["SIZE"],
        ITER=PARAMETERS["ITER"],
    ),
}


@pytest.mark.parametrize("hashed", [False, True])
@pytest.mark.parametrize("name", STUDIES)
def test_the_same_tasks_as_maestro(name: str, hashed: bool, tmp_path: Path) -> None:
    path = write(tmp_path, STUDIES[name])
    root = tmp_path / "out"
    assert ours(expand(studies.load(path), str(root), hashed=hashed)) == staged(path, root, hashed)


def test_the_environment_is_put_in_first(tmp_path: Path) -> None:
    """A parameter may hide in a variable, and a variable in a label."""
    content = document(step("a", "$(ARGS)"), step("b", "$(WHERE)"), N=([1, 2], "N.%%"))
    content["env"] = {
        "variables": {"FIRST": 1, "ARGS": "-n $(N)", "OUTPUT_PATH": "./out"},
        "labels": {"WHERE": "$(OUTPUT_PATH)/x/$(FIRST)"},
    }
    path = write(tmp_path, content)
    expansion = expand(studies.load(path), str(tmp_path / "out"))
    assert ours(expansion) == staged(path, tmp_path / "out")
    assert expansion.parameters == {"a": ("N",), "b": ()}


NAMES = ["alpha", "beta", "gamma", "delta", "eps"]
KEYS = ["P", "Q", "RR"]


@st.composite
def generated(draw: st.DrawFn) -> dict[str, Any]:
    count = draw(st.integers(1, 5))
    length = draw(st.integers(1, 4))
    keys = draw(st.lists(st.sampled_from(KEYS), unique=True, max_size=3))
    value = st.one_of(
        st.integers(-3, 3), st.floats(-2, 2), st.text("ab /%.(", min_size=1, max_size=3), st.booleans()
    )
    steps = []
    for index in range(count):
        earlier = NAMES[:index]
        depends = draw(st.lists(st.sampled_from(earlier), unique=True)) if earlier else []
        funnel = [name + "_*" if draw(st.booleans()) else name for name in depends]
        tokens = draw(
            st.lists(
                st.sampled_from([f"$({k}{e})" for k in [*keys, "Z"] for e in ("", ".label")]), max_size=3
            )
        )
        spaces = [f"$({name}.workspace)" for name in depends if draw(st.booleans())]
        run: dict[str, Any] = {"depends": funnel} if funnel else {}
        if draw(st.booleans()):
            run["nodes"] = 2
        steps.append(step(NAMES[index], "run " + " ".join([*tokens, *spaces]), **run))
    parameters = {
        key: (
            draw(st.lists(value, min_size=length, max_size=length)),
            draw(st.sampled_from([f"{key}.%%", "%%", f"{key}_x"])),
        )
        for key in keys
    }
    return document(*steps, **parameters)


@settings(max_examples=examples(120), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(generated())
@pytest.mark.costly
def test_generated_studies_expand_as_maestro_does(content: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as name:
        path = write(Path(name), content)
        root = Path(name, "out")
        found = ours(expand(studies.load(path), str(root)))
        expected = staged(path, root)
        assert {task: value[0] for task, value in found.items()} == {t: v[0] for t, v in expected.items()}
        # Two combinations with one label: Maestro keeps the dependencies of the last, we those of both.
        assert all(expected[task][1] <= parents for task, (_, parents) in found.items())


def test_ids_and_dependents(tmp_path: Path) -> None:
    path = write(tmp_path, STUDIES["funnel"])
    workflow = read(path)
    assert workflow.id == "a_study"
    assert workflow.tasks[0].id.startswith("a_study/make_")
    made = next(task for task in workflow.tasks if task.step == "make")
    assert made.name == f"make_{made.instance}"
    assert {f"a_study/{name}" for name in ("post", "end")} <= set(workflow.dependents(made.id))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "not YAML"),
        ("description: {name: x}\nstudy: 3\n", "list of at least one step"),
        ("description: {name: x}\nstudy: [{name: a, description: d, run: {}}]\n", "no command"),
        (
            "description: {name: x}\nstudy: [{name: a, description: d, run: {cmd: x, depends: [b]}}]\n",
            "does not exist",
        ),
        (
            "description: {name: x}\nstudy: [{name: a, description: d, run: {cmd: '$(b.workspace)'}},"
            "{name: b, description: d, run: {cmd: x, depends: [a]}}]\n",
            "does not come before",
        ),
        ("description: [\n" + "[" * 5000, "nested too deeply"),
    ],
)
def test_what_maestro_would_refuse(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(text)
    with pytest.raises(UsageError, match=message):
        expand(studies.load(path), str(tmp_path))


def test_a_workspace_of_a_step_that_is_no_ancestor_is_refused_by_both(tmp_path: Path) -> None:
    path = write(tmp_path, document(step("a"), step("c", "ls $(a.workspace)")))
    with pytest.raises(Exception, match="used before"):
        staged(path, tmp_path / "out")
    with pytest.raises(UsageError, match="does not come before"):
        expand(studies.load(path), str(tmp_path / "out"))


def test_where_a_run_goes(tmp_path: Path) -> None:
    found = studies.parse(
        "description: {name: my study, description: d}\nenv: {variables: {OUTPUT_PATH: /data/out}}\n"
        "study: [{name: a, description: d, run: {cmd: x}}]\n",
        "s.yaml",
    )
    assert found.output_root(now=0.0).startswith("/data/out/my_study_19")
    assert found.output_root("/there/x") == "/there/x"
