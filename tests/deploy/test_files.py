"""What a site installs: units, module file, dashboard, Spack package, recipes; each read by what reads it."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import in_ci
from tests.equipment.install_slurm import SlurmBedError, install

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
LMOD = Path("/usr/share/lmod/lmod/init/bash")
MODULES = Path("/usr/share/modules/init/bash")


def run(*command: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, env={**os.environ, **more}, capture_output=True, text=True, timeout=60, check=False
    )


def moved_lmod(place: Path) -> Path:
    """Debian's lmod unpacked elsewhere, since a machine has either it or Environment Modules."""
    need("lmod")
    place.mkdir()
    fetch = "apt-get download -q lmod"
    done = run(
        "sh", "-c", f"cd {place} && ({fetch} || (apt-get update -q && {fetch})) && dpkg -x lmod_*.deb ."
    )
    if done.returncode:
        (pytest.fail if in_ci() else pytest.skip)(done.stderr)
    for path in (one for one in place.rglob("*") if one.is_file() and not one.is_symlink()):
        text = path.read_bytes()
        if b"/usr/share/lmod" in text and b"\0" not in text:
            path.write_bytes(text.replace(b"/usr/share/lmod", f"{place}/usr/share/lmod".encode()))
    return place / "usr/share/lmod/lmod/init/bash"


def need(packages: str) -> None:
    """Skip the test where these packages cannot be installed; fail in CI."""
    try:
        install((packages,))
    except SlurmBedError as error:
        (pytest.fail if in_ci() else pytest.skip)(str(error))


@pytest.mark.parametrize("kind", ["system", "user"])
def test_systemd_takes_the_units(kind: str, tmp_path: Path) -> None:
    """Their programs are there where WHESL is installed: this environment's stands for it."""
    need("systemd")
    whesl = Path(sys.executable).with_name("whesl")
    units = []
    for unit in sorted((DEPLOY / "systemd" / kind).iterdir()):
        copy = tmp_path / unit.name
        copy.write_text(unit.read_text().replace("/opt/whesl/bin/whesl", str(whesl)))
        units.append(str(copy))
    option = ["--user"] if kind == "user" else []
    done = run("systemd-analyze", *option, "verify", "--man=no", *units, XDG_RUNTIME_DIR=str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")


def test_the_units_call_what_there_is() -> None:
    """Each option of a unit's command line is one of that command."""
    for unit in sorted(DEPLOY.glob("systemd/*/*.service")):
        (line,) = re.findall(r"^ExecStart=/opt/whesl/bin/whesl (.*)$", unit.read_text(), re.MULTILINE)
        words = line.split()
        command = [word for word in words[:2] if not word.startswith("-")]
        shown = run(sys.executable, "-m", "whesl", *command, "--help")
        assert shown.returncode == 0, f"{unit.name}: {shown.stderr}"
        for option in (word for word in words if word.startswith("--")):
            assert option in shown.stdout, f"{unit.name}: {option}"


@pytest.mark.costly
@pytest.mark.parametrize("system", ["Lmod", "Environment Modules"])
def test_the_module_file_loads_and_unloads(system: str, tmp_path: Path) -> None:
    if system == "Lmod":
        init = LMOD if LMOD.exists() else moved_lmod(tmp_path / "lmod")
    else:
        init = Path(os.environ.get("WHESL_TEST_MODULES_INIT", MODULES))
        if init == MODULES and not LMOD.exists():
            need("modules")
        if not init.exists():
            pytest.skip(f"{init} is not installed")
    root = tmp_path / "whesl"
    (root / "bin").mkdir(parents=True)
    (root / "bin" / "whesl").symlink_to(Path(sys.executable).with_name("whesl"))
    (root / "bin" / "python3").symlink_to(sys.executable)  # hid that of the user's own modules
    (root / "commands").mkdir()
    (root / "commands" / "whesl").symlink_to("../bin/whesl")
    place = tmp_path / "modulefiles" / "whesl"
    place.mkdir(parents=True)
    text = (DEPLOY / "modulefiles" / "whesl").read_text()
    (place / "1.0").write_text(text.replace("set root /opt/whesl", f"set root {root}"))
    script = (
        f"source {init}; module --version 2>&1; module use {place.parent}; module load whesl/1.0 || exit 1; "
        "command -v python3; command -v whesl; whesl --version; echo $MANPATH; module unload whesl; "
        "echo $PATH"
    )
    done = run("bash", "-c", script)
    assert done.returncode == 0, done.stderr
    assert ("based on Lua" in done.stdout) == (system == "Lmod"), done.stdout
    python, found, version, manuals, after = done.stdout.splitlines()[-5:]
    assert not python.startswith(str(root))
    assert found == f"{root}/commands/whesl"
    assert version.startswith("whesl")
    assert f"{root}/share/man" in manuals.split(":")
    assert str(root) not in after


def installer() -> str:
    """The installer that ``make.sh`` writes beside its wheels."""
    text = (DEPLOY / "wheelhouse" / "make.sh").read_text()
    return text.partition("<<'END'\n")[2].partition("\nEND\n")[0]


@pytest.mark.skipif(os.getuid() != 0, reason="for root, who installs for others")
def test_a_python_that_others_cannot_reach_is_refused(tmp_path: Path) -> None:
    """With a Python below /root nobody else could call what was installed."""
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    shutil.copy(Path(sys.executable).resolve(), closed / "python3")
    (tmp_path / "install.sh").write_text(installer())
    (tmp_path / "requirements.txt").write_text("no-such-package\n")
    python = str(closed / "python3")
    # The copy needs the library of the one that it is of.
    home = {"PYTHONHOME": sys.base_prefix}
    words = ("sh", str(tmp_path / "install.sh"), str(tmp_path / "target"))
    refused = run(*words, PYTHON=python, **home)
    assert refused.returncode == 1
    assert "other users cannot reach" in refused.stderr and str(closed) in refused.stderr
    assert "PYTHON=/usr/bin/python3" in refused.stderr
    assert not (tmp_path / "target").exists()
    # It goes on to what cannot be made.
    alone = run(*words[:2], "/dev/null/target", PYTHON=python, ROOT_ALONE="1", **home)
    assert "other users" not in alone.stderr and "/dev/null" in alone.stderr


def served() -> set[str]:
    """The names of all metrics that the product serves, as Prometheus stores them."""
    names: set[str] = set()
    for path in (
        ROOT / "whesl" / "runtime" / "coordinator" / "metrics.py",
        ROOT / "whesl" / "placement" / "site" / "slurm" / "placement_metrics.py",
    ):
        for node in ast.walk(ast.parse(path.read_text())):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args):
                continue
            first = node.args[0]
            if not (isinstance(first, ast.Constant) and isinstance(first.value, str)):
                continue
            if node.func.id == "GaugeMetricFamily":
                names.add(first.value)
            elif node.func.id == "CounterMetricFamily":
                names.add(f"{first.value}_total")
            elif node.func.id == "HistogramMetricFamily":
                names |= {f"{first.value}_{part}" for part in ("bucket", "sum", "count")}
    return names


def test_every_metric_of_the_dashboard_is_served() -> None:
    board = json.loads((DEPLOY / "grafana" / "whesl.json").read_text())
    asked: set[str] = set()
    for panel in board["panels"]:
        for target in panel["targets"]:
            asked |= set(re.findall(r"\bwhesl_\w+", target["expr"]))
    assert len(asked) > 15
    assert asked <= served()
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])


def test_spack_s_package_needs_what_the_project_needs() -> None:
    """Parsed, not built: names and lowest versions of the libraries are those of pyproject.toml.

    Packages that Spack has not, or not so new, are beside it.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    packages = DEPLOY / "spack" / "spack_repo" / "whesl" / "packages"
    package = ast.parse((packages / "whesl" / "package.py").read_text())
    said = {
        str(node.args[0].value)
        for node in ast.walk(package)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "depends_on"
        if isinstance(node.args[0], ast.Constant)
    }
    named = [re.fullmatch(r"py-([\w-]+)@([\d.]+):?", one) for one in said if one.startswith("py-")]
    found = {match[1]: match[2] for match in named if match}
    assert len(found) == len(named)
    for path in (one for one in packages.glob("py_*/package.py")):
        (version,) = re.findall(r'version\(\s*"([\d.]+)", sha256="\w{64}"', path.read_text())
        assert _numbers(version) >= _numbers(found[path.parent.name[3:].replace("_", "-")]), path
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *extras["predict"], *extras["metrics"]]
    for requirement in wanted:
        match = re.match(r"([\w.-]+?)(?:\[.*\])?[>=]=([\d.]+)", requirement)
        assert match, requirement
        name = {"xgboost-cpu": "xgboost"}.get(match[1], match[1].lower().replace(".", "-"))
        if name == "hyperscan":
            continue  # Spack has no package of it; google-re2 stands in for it
        assert _numbers(found[name]) == _numbers(match[2]), requirement


def _numbers(version: str) -> list[int]:
    parts = [int(part) for part in version.strip(".").split(".")]
    while parts and parts[-1] == 0:
        parts.pop()
    return parts


def test_scripts_are_shell_that_sh_can_read() -> None:
    for script in sorted(DEPLOY.rglob("*.sh")):
        assert run("sh", "-n", str(script)).returncode == 0
        assert os.access(script, os.X_OK)
        assert run("sh", str(script)).returncode != 0  # without arguments it says how it is called


def test_the_recipes_name_files_that_there_are() -> None:
    text = (DEPLOY / "containers" / "Containerfile").read_text() + (
        DEPLOY / "containers" / "whesl.def"
    ).read_text()
    for path in re.findall(r"deploy/[\w./-]+", text):
        assert (ROOT / path).exists(), path
