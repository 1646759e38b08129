"""The rooms of the house: who may import whom, and what stays small."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

pytestmark = pytest.mark.xdist_group("architecture")  # one process parses all modules, once
ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "whesl"
# Room: the rooms it may import. The table of docs/architecture.md, which a test below compares.
ALLOWED: dict[str, set[str]] = {
    "checkpoints": {"files", "managers/resource", "model", "runtime/locking", "runtime/wire"},
    "api": {
        "checkpoints",
        "client",
        "cloud",
        "lab/execution",
        "lab/readers",
        "lab/replay",
        "lab/results",
        "lab/simulators",
        "language",
        "managers/resource",
        "managers/workflow",
        "model",
        "placement/policies",
        "prediction/failures",
        "report",
        "runtime/detect",
        "runtime/diagnose",
        "runtime/wire",
    },
    "client": {
        "files",
        "managers/resource",
        "model",
        "report",
        "runtime/coordinator",
        "runtime/coordinator/core",
        "runtime/diagnose",
        "runtime/isolator",
        "runtime/locking",
        "runtime/wire",
    },
    "cloud": {
        "cloud/core",
        "files",
        "managers/resource",
        "managers/resource/embedded",
        "managers/resource/embedded/scheduler",
        "managers/workflow",
        "model",
        "report",
        "runtime/journal",
        "runtime/locking",
    },
    "cloud/core": {"model", "prediction"},
    "doctor": {
        "language",
        "managers/resource",
        "managers/resource/embedded",
        "managers/workflow",
        "model",
        "runtime/coordinator",
        "runtime/detect",
        "runtime/locking",
        "runtime/operations",
        "runtime/wire",
    },
    "files": {"model"},
    "lab/campaigns": {"files", "lab/execution", "lab/results", "model"},
    "lab/execution": {"model"},
    "lab/native": {"files", "prediction/failures"},
    "lab/predictor_evaluation": {
        "files",
        "lab/execution",
        "lab/results",
        "model",
        "prediction/failures",
        "prediction/free_nodes",
    },
    "lab/readers": {
        "files",
        "lab/native",
        "managers/resource",
        "managers/workflow",
        "model",
        "prediction/failures",
        "prediction/free_nodes",
    },
    "lab/replay": {
        "lab/execution",
        "lab/predictor_evaluation",
        "lab/readers",
        "lab/results",
        "lab/simulators",
        "model",
        "placement/policies",
        "prediction/failures",
    },
    "lab/reproductions": {
        "files",
        "lab/execution",
        "lab/predictor_evaluation",
        "lab/readers",
        "lab/results",
        "lab/simulators",
        "model",
        "placement/policies",
        "prediction/failures",
    },
    "lab/results": {"files", "report"},
    "lab/simulators": {
        "cloud",
        "cloud/core",
        "files",
        "lab/execution",
        "lab/native",
        "lab/predictor_evaluation",
        "lab/readers",
        "lab/results",
        "model",
        "placement/policies",
        "prediction",
        "prediction/failures",
    },
    "language": {"files", "model"},
    "managers/resource": {"files", "model"},
    "managers/resource/embedded": {
        "files",
        "managers/resource",
        "managers/resource/embedded/scheduler",
        "model",
        "runtime/locking",
    },
    "managers/resource/embedded/scheduler": {"model"},
    "managers/resource/flux": {"files", "managers/resource", "model"},
    "managers/workflow": {
        "files",
        "language",
        "managers/resource",
        "managers/resource/embedded",
        "model",
        "runtime/locking",
    },
    "model": set(),
    "placement/policies": {"model", "prediction", "prediction/failures"},
    "placement/site": {
        "files",
        "lab/predictor_evaluation",
        "lab/readers",
        "lab/results",
        "managers/resource",
        "managers/resource/embedded",
        "model",
        "placement/policies",
        "prediction/failures",
        "runtime/journal",
        "runtime/locking",
    },
    "prediction": {"files"},
    "prediction/failures": {"files", "model", "prediction"},
    "prediction/free_nodes": {"model", "prediction", "prediction/failures"},
    "prediction/log_chains": {"files", "language", "model", "prediction/failures", "runtime/detect"},
    "report": {"files", "model", "runtime/journal", "runtime/operations"},
    "runtime/coordinator": {
        "files",
        "language",
        "managers/resource",
        "managers/workflow",
        "model",
        "runtime/coordinator/core",
        "runtime/journal",
        "runtime/locking",
        "runtime/operations",
        "runtime/wire",
    },
    "runtime/coordinator/core": {
        "files",
        "language",
        "managers/resource",
        "model",
        "runtime/detect",
        "runtime/journal",
        "runtime/operations",
        "runtime/wire",
    },
    "runtime/detect": {"files", "language", "model"},
    "runtime/diagnose": {"files", "language", "model", "runtime/detect"},
    "runtime/functions": {
        "files",
        "language",
        "managers/resource",
        "model",
        "runtime/detect",
        "runtime/isolator",
        "runtime/journal",
        "runtime/locking",
        "runtime/wire",
    },
    "runtime/isolator": {
        "checkpoints",
        "files",
        "language",
        "managers/resource",
        "managers/resource/flux",
        "model",
        "placement/site",
        "report",
        "runtime/detect",
        "runtime/diagnose",
        "runtime/isolator/core",
        "runtime/journal",
        "runtime/locking",
        "runtime/node_agent",
        "runtime/operations",
        "runtime/wire",
    },
    "runtime/isolator/core": {
        "language",
        "managers/resource",
        "model",
        "runtime/detect",
        "runtime/journal",
        "runtime/operations",
        "runtime/wire",
    },
    "runtime/journal": {"files", "language", "model", "runtime/locking"},
    "runtime/locking": {"files", "model"},
    "runtime/node_agent": {
        "files",
        "managers/resource",
        "model",
        "runtime/detect",
        "runtime/locking",
        "runtime/wire",
    },
    "runtime/node_health": {"managers/resource", "model", "runtime/wire"},
    "runtime/operations": {"files", "language", "model", "runtime/detect", "runtime/journal"},
    "runtime/rule_learning": {"model", "runtime/diagnose"},
    "runtime/wire": {"files", "model", "runtime/journal"},
}
EVERYTHING = {"cli", "cli/lab", "testing"}


def room_of(path: str) -> str | None:
    """Return the room that a module or folder below the package lies in; None for none.

    Rooms can lie in rooms: the innermost one counts.

    Args:
        path: from the package on, with slashes.
    """
    parts = path.split("/")
    candidates = ("/".join(parts[:count]) for count in range(len(parts), 0, -1))
    return next((room for room in candidates if room in ALLOWED.keys() | EVERYTHING), None)


def modules(room: str) -> list[Path]:
    """Return a room's own modules, without those of rooms in it and without what is generated."""
    return [path for path in _all_modules() if _room(path) == room]


@cache
def _all_modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def _room(path: Path) -> str | None:
    return room_of(path.parent.relative_to(PACKAGE).as_posix())


@dataclass
class Parsed:
    """What is looked at of a module: its imports, and lines that it may not have."""

    imports: list[ast.Import | ast.ImportFrom] = field(default_factory=list)
    managers: list[int] = field(default_factory=list)
    unsafe: list[int] = field(default_factory=list)


@cache
def parsed(path: Path) -> Parsed:
    tree, found = ast.parse(path.read_text()), Parsed()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.imports.append(node)
        elif isinstance(node, ast.Compare) and _compares_managers(node):
            found.managers.append(node.lineno)
        elif isinstance(node, ast.Call) and _is_unsafe(node):
            found.unsafe.append(node.lineno)
    return found


def _compares_managers(node: ast.Compare) -> bool:
    """Whether a resource manager's name is compared with a literal."""
    sides = [node.left, *node.comparators]
    named = [getattr(side, "attr", getattr(side, "id", "")) for side in sides]
    literal = any(isinstance(side, ast.Constant | ast.Tuple | ast.Set) for side in sides)
    return literal and any(name.strip("_").endswith("rjms") for name in named)


def _is_unsafe(node: ast.Call) -> bool:
    """Whether text is run: by eval or exec, or by a shell."""
    if isinstance(node.func, ast.Name) and node.func.id in {"eval", "exec"}:
        return True
    shells = [keyword.value for keyword in node.keywords if keyword.arg == "shell"]
    return any(isinstance(shell, ast.Constant) and shell.value for shell in shells)


def imports(path: Path) -> set[str]:
    """Return the rooms that a module imports, lazily or not."""
    names = set()
    for node in parsed(path).imports:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    rooms = {room_of(name.partition(".")[2].replace(".", "/")) for name in names if name.startswith("whesl.")}
    return {room for room in rooms if room}


def test_every_module_is_in_a_room() -> None:
    """A wing holds rooms and its own docstring, no code."""
    outside = [path for path in _all_modules() if _room(path) is None]
    wings = [path for path in outside if path.name == "__init__.py" and path.parent != PACKAGE]
    assert not [
        path
        for path in wings
        if any(not isinstance(node, ast.Expr) for node in ast.parse(path.read_text()).body)
    ]
    assert {path.parent for path in outside if path not in wings} == {PACKAGE}


def test_every_room_of_the_table_is_there() -> None:
    assert not [room for room in ALLOWED.keys() | EVERYTHING if not (PACKAGE / room / "__init__.py").exists()]


def test_no_room_imports_itself_by_a_circle() -> None:
    TopologicalSorter(ALLOWED).prepare()  # raises CycleError, which names the circle


@pytest.mark.parametrize("room", sorted(ALLOWED))
def test_imports_point_one_way(room: str) -> None:
    wrong = {
        f"{path.relative_to(ROOT)} imports {other}"
        for path in modules(room)
        for other in imports(path)
        if other != room and other not in ALLOWED[room]
    }
    assert not wrong


def test_the_table_allows_what_is_used_and_no_more() -> None:
    used = {room: set[str]().union(*map(imports, modules(room))) - {room} for room in ALLOWED}
    assert used == ALLOWED


def test_the_page_shows_this_very_table() -> None:
    """Each room of docs/architecture.md with what it may import, and no other."""
    page = (ROOT / "docs" / "architecture.md").read_text()
    shown = re.findall(r"^\| `whesl/([\w/]+)/` \|[^|]*\| ([^|]*) \|", page, re.MULTILINE)
    held = {room: ", ".join(sorted(others)) or "-" for room, others in ALLOWED.items()}
    assert len(shown) == len(dict(shown))
    assert dict(shown) == held | dict.fromkeys(EVERYTHING, "all")


def test_what_a_module_keeps_to_itself_is_imported_by_no_other() -> None:
    private = {
        f"{path.relative_to(ROOT)}:{node.lineno} imports {alias.name}"
        for path in _all_modules()
        for node in parsed(path).imports
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("whesl")
        for alias in node.names
        if re.match("_[^_]", alias.name)
    }
    assert not private


def test_cores_do_not_touch_the_world() -> None:
    """A core, with all below its folder, each state machine and the detectors import no clock, socket or file
    module."""
    banned = {"os", "socket", "subprocess", "time", "zmq", "sqlite3", "pathlib", "threading", "random", "io"}
    for path in {
        *PACKAGE.rglob("state_machine.py"),
        PACKAGE / "runtime/detect/detectors.py",
        *PACKAGE.rglob("core/**/*.py"),
        *modules("managers/resource/embedded/scheduler"),
    }:
        names = set()
        for node in parsed(path).imports:
            if isinstance(node, ast.Import):
                names |= {alias.name.split(".")[0] for alias in node.names}
            elif node.module:
                names.add(node.module.split(".")[0])
        assert not names & banned, f"{path.relative_to(ROOT)} imports {sorted(names & banned)}"


def test_resource_managers_are_told_apart_by_their_own_room_alone() -> None:
    """Others ask ``whesl.managers.resource.manager_table``, or for an optional ability of
    ``whesl.managers.resource.port``."""
    own = {"managers/resource", "managers/resource/embedded", "managers/resource/flux", "testing"}
    wrong = []
    for path in PACKAGE.rglob("*.py"):
        if _room(path) in own:
            continue
        wrong += [f"{path.relative_to(ROOT)}:{line}" for line in parsed(path).managers]
    assert not wrong


def test_nothing_unsafe_is_imported() -> None:
    """No eval or exec, no shell string anywhere in the product; no pickle but for functions' calls.

    Those come from files that are looked at first: they belong to this user, as does their directory, and
    nobody else can write to either (``tests/runtime/functions/test_payload.py``).
    """
    pickles = {"pickle", "cloudpickle", "dill", "marshal", "shelve"}
    allowed = {PACKAGE / "runtime" / "functions" / "payload.py"}
    for path in PACKAGE.rglob("*.py"):
        assert not parsed(path).unsafe, path
        for node in parsed(path).imports:
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            assert path in allowed or not pickles & set(names), path


def test_modules_stay_readable() -> None:
    large = {
        str(path.relative_to(ROOT)): lines
        for path in [*PACKAGE.rglob("*.py"), *(ROOT / "tests").rglob("*.py")]
        if (lines := len(path.read_text().splitlines())) > 500
    }
    assert not large


def test_rooms_stay_readable() -> None:
    """Ten thousand lines at most."""
    lines = Counter[str | None]()
    for path in _all_modules():
        lines[_room(path)] += len(path.read_text().splitlines())
    rooms = {room: lines[room] for room in ALLOWED.keys() | EVERYTHING}
    assert not {room: lines for room, lines in rooms.items() if lines > 10_000}


def test_folders_stay_readable() -> None:
    """Twenty modules at most, with the folder's own."""
    counts = Counter(path.parent for path in _all_modules())
    assert not {str(folder.relative_to(ROOT)): count for folder, count in counts.items() if count > 20}


def test_no_file_imports_itself_by_a_circle() -> None:
    """What a function imports, or a type alone, counts as what is imported when the file is loaded."""
    graph = {_name(path): path for path in PACKAGE.rglob("*.py")}
    sorter = TopologicalSorter({name: _imported(path, graph.keys()) for name, path in graph.items()})
    sorter.prepare()  # raises CycleError, which names the circle


def _name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def _imported(path: Path, known: Collection[str]) -> set[str]:
    found = set()
    for node in parsed(path).imports:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif node.module:
            both = ((f"{node.module}.{alias.name}", node.module) for alias in node.names)
            found |= {inner if inner in known else outer for inner, outer in both}
    return {name for name in found if name in known} - {_name(path)}


def test_the_project_speaks_of_itself_alone() -> None:
    """No path of a development machine and no package index in what is published."""
    pattern = re.compile(rf"{re.escape(str(ROOT))}(?![\w-])|{re.escape(str(ROOT.parent))}/shared\b|index-url")
    left_out = {"build", "dist"}  # tests put environments of workflow managers there
    places = [path for path in ROOT.iterdir() if not path.name.startswith(".") and path.name not in left_out]
    kinds = {".py", ".md", ".toml", ".g4", ".esl", ".yaml", ".yml", ".sh", ".json", ""}
    for path in (path for place in places for path in (place, *place.rglob("*"))):
        relative = path.relative_to(ROOT)
        if (
            relative.is_relative_to("demo/output")
            or path == Path(__file__).resolve()
            or path.suffix not in kinds
            or not path.is_file()
        ):
            continue
        text = path.read_text(errors="replace")
        assert not pattern.search(text), f"{relative}: {pattern.search(text)}"
