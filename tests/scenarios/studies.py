"""Studies and rules for the scenarios, made of the demo's programs."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAMS = Path(__file__).resolve().parents[2] / "demo" / "programs"
HEADER = """\
description:
  name: {name}
  description: A scenario.
env:
  variables:
    PYTHON: {python}
    PROGRAMS: {programs}
    SCRATCH: {scratch}
batch:
  type: slurm
  host: local
  bank: none
  queue: main
study:
"""
STEP = """\
  - name: {name}
    description: {name} of a scenario
    run:
      cmd: |
{command}
      nodes: {nodes}
      procs: {procs}
      walltime: "00:05:00"
{extra}"""
# stage of the program: steps whose output it reads
OAI = {
    "preprocess": (),
    "segmentation": ("preprocess",),
    "register_image_to_atlas": ("preprocess",),
    "extract_surface_mesh": ("segmentation",),
    "warp_mesh": ("extract_surface_mesh", "register_image_to_atlas"),
}
DECLARE = """\
DECLARE ENTITY SCHEDULER, WMS, JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL, WORKFLOW_LEVEL
DECLARE RESOURCE NODE[ADD, REMOVE, REPLACE]
DECLARE RESOURCE FILESYSTEM[REPLACE]
DECLARE RESOURCE JOB[ADD, REMOVE, REPLACE]
"""


def step(name: str, command: str, *, depends: tuple[str, ...] = (), nodes: int = 1, procs: int = 1) -> str:
    """A step of a study; ``command`` may have several lines."""
    indented = "\n".join("        " + line for line in command.strip().splitlines())
    extra = f"      depends: [{', '.join(depends)}]\n" if depends else ""
    if nodes > 1:
        extra += "      exclusive: true\n"
    return STEP.format(name=name, command=indented, nodes=nodes, procs=procs, extra=extra)


def write(path: Path, scratch: Path, steps: list[str], parameters: str = "") -> Path:
    """Write a study and return its path."""
    header = HEADER.format(name=path.stem, python=sys.executable, programs=PROGRAMS, scratch=scratch)
    path.write_text(header + "\n".join(steps) + parameters)
    return path


def oai(
    path: Path, place: str, scratch: Path, *, images: int = 2, scale: float = 0.01, seconds: float = 0.4
) -> Path:
    """Write the OAI study. ``place``: where a stage's data go, with $(STAGE) and Maestro's tokens."""
    steps = []
    for stage, inputs in OAI.items():
        reads = " ".join(f"--input {place.replace('$(STAGE)', i)}" for i in inputs)
        command = (
            f"$(PYTHON) $(PROGRAMS)/stage.py {stage} --image $(IMAGE) --scale {scale} --seconds {seconds}"
            f" {reads} --out {place.replace('$(STAGE)', stage)}"
        )
        steps.append(step(stage, command, depends=inputs))
    values = ", ".join(str(image) for image in range(1, images + 1))
    parameters = f"\nglobal.parameters:\n  IMAGE:\n    values: [{values}]\n    label: IMAGE.%%\n"
    return write(path, scratch, steps, parameters)


def oai_files(root: Path, images: int, scale: float) -> dict[str, bytes]:
    """Return what the OAI study writes, by a name below ``stage/image``: its programs alone, in order."""
    for image in map(str, range(1, images + 1)):
        for stage, inputs in OAI.items():
            reads = [f"--input={root / name / image}" for name in inputs]
            command = [sys.executable, str(PROGRAMS / "stage.py"), stage, "--image", image, *reads]
            command += ["--scale", str(scale), "--seconds", "0", "--out", str(root / stage / image)]
            subprocess.run(command, stdout=subprocess.DEVNULL, check=True, timeout=120)
    return stage_outputs(root)


@functools.cache
def solved(cycles: int) -> dict[str, object]:
    """Return the solver's result: of one rank, without a cluster."""
    command = [sys.executable, str(PROGRAMS / "solver.py"), "--cycles", str(cycles), "--pace", "0"]
    with tempfile.TemporaryDirectory() as place:
        subprocess.run(command, cwd=place, stdout=subprocess.DEVNULL, check=True, timeout=120)
        return dict(json.loads(Path(place, "result.json").read_text()))


def rules(path: Path, text: str) -> Path:
    """Write a specification with the declarations that all scenarios share."""
    path.write_text(DECLARE + text)
    return path


def stage_outputs(*roots: Path) -> dict[str, bytes]:
    """The stages' data files by relative name; the first root that has one wins."""
    found: dict[str, bytes] = {}
    for root in roots:
        for path in sorted(root.rglob("*.dat")):
            found.setdefault(str(path.relative_to(root)), path.read_bytes())
    return found
