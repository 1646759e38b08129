"""``make demo``: a real Maestro study with real faults, recovered in place, and compared with a run without.

It needs no root and no cluster: the embedded resource manager queues and runs the jobs on virtual nodes
of this machine. Everything is written below ``demo/output``.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

from ruamel.yaml import YAML

from demo.faults import after_checkpoint, kill_node, stop_rank
from demo.storage import enter_namespace, make_small, without_blanks

HERE = Path(__file__).resolve().parent
OUTPUT = without_blanks(HERE / "output")
SMALL, LARGE = OUTPUT / "small", OUTPUT / "large"
SMALL_BYTES = 4_000_000  # room for preprocess and segmentation of two images, not for their registration
NODES = 8
BIN = Path(sys.executable).parent
WHESL = str(BIN / "whesl")


def say(text: str) -> None:
    """Print a line of the demo's own."""
    print(f"demo: {text}", flush=True)


def write_study(path: Path, scratch: Path) -> None:
    """Write the study with this machine's interpreter and places."""
    yaml = YAML()
    study = yaml.load((HERE / "study.yaml").read_text())
    study["env"]["variables"].update(
        PYTHON=sys.executable, PROGRAMS=str(HERE / "programs"), SCRATCH=str(scratch)
    )
    with path.open("w") as file:
        yaml.dump(study, file)


def cluster(directory: Path, environment: dict[str, str], *options: str) -> dict[str, str]:
    """Start an embedded cluster and return the environment in which its commands are found."""
    environment = {**environment, "WHESL_LOCAL": str(directory)}
    command = [WHESL, "local", "start", "--nodes", str(NODES), "--cpus", "2", *options]
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    return {**environment, "PATH": f"{directory / 'bin'}:{environment['PATH']}"}


def outputs(study: Path, *roots: Path) -> dict[str, str]:
    """Return the digest of each result by name: the stages' files (first root that has it) and the plates."""
    found: dict[str, str] = {}
    for root in roots:
        for path in sorted(root.rglob("*.dat")):
            found.setdefault(str(path.relative_to(root)), hashlib.sha256(path.read_bytes()).hexdigest())
    for path in sorted(study.glob("simulate/*/result.json")):
        found[str(path.relative_to(study))] = json.loads(path.read_text())["sha256"]
    return found


def reference(environment: dict[str, str]) -> tuple[dict[str, str], float]:
    """Run the study with Maestro alone and without faults; return its outputs and seconds."""
    study, scratch = OUTPUT / "reference", LARGE / "reference"
    write_study(OUTPUT / "reference.yaml", scratch)
    inside = cluster(OUTPUT / "cluster-reference", environment)
    begin = time.monotonic()
    try:
        subprocess.run(
            [
                str(BIN / "maestro"),
                "run",
                "-y",
                "-fg",
                "-s",
                "1",
                "-o",
                str(study),
                str(OUTPUT / "reference.yaml"),
            ],
            env=inside,
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        return outputs(study, scratch), time.monotonic() - begin
    finally:
        subprocess.run([WHESL, "local", "stop"], env=inside, check=False, stdout=subprocess.DEVNULL)


def protected(environment: dict[str, str]) -> tuple[int, dict[str, str], float]:
    """Run the study under WHESL while the faults happen; return exit status, outputs and seconds."""
    study = OUTPUT / "study"
    write_study(OUTPUT / "study.yaml", SMALL)
    rules = (
        (HERE / "rules.esl")
        .read_text()
        .replace("@SMALL@", str(SMALL))
        .replace("@LARGE@", str(LARGE / "moved"))
    )
    (OUTPUT / "rules.esl").write_text(rules)
    inside = cluster(OUTPUT / "cluster", environment)
    os.environ.update(inside)
    begin = time.monotonic()
    try:
        after_checkpoint(study, "PLATE.40", lambda workspace: kill_node(workspace, WHESL, say))
        after_checkpoint(study, "PLATE.48", lambda workspace: stop_rank(workspace, say))
        command = [WHESL, "run", str(OUTPUT / "study.yaml"), "-e", str(OUTPUT / "rules.esl")]
        status = subprocess.run(
            [*command, "--rjms", "local", "--out", str(study), "-y"], env=inside, check=False
        ).returncode
        return status, outputs(study, LARGE / "moved", SMALL), time.monotonic() - begin
    finally:
        subprocess.run([WHESL, "coordinator", "stop"], env=inside, check=False, stdout=subprocess.DEVNULL)
        subprocess.run([WHESL, "local", "stop"], env=inside, check=False, stdout=subprocess.DEVNULL)


def main() -> int:
    """Run the demo; the exit status is 0 when every output equals that of the run without faults."""
    enter_namespace(OUTPUT)
    # Behind a link where the demo stands below a name with a blank.
    real = OUTPUT.resolve()
    if real.exists():
        shutil.rmtree(real)
    real.mkdir()
    (LARGE / "moved").mkdir(parents=True)
    home = OUTPUT / "home"
    home.mkdir(mode=0o700)
    environment = {**os.environ, "WHESL_HOME": str(home), "PATH": f"{BIN}:{os.environ['PATH']}"}
    environment.setdefault("USER", "demo")
    if make_small(SMALL, SMALL_BYTES):
        megabytes = SMALL_BYTES // 1_000_000
        say(f"the scratch file system is a real one of {megabytes} MB (tmpfs in a namespace of its own)")
    else:
        say("no usable mount namespace here: no small file system, so the disk-full fault is left out")
    say("first the study without faults, by Maestro alone, for its outputs")
    expected, plain = reference(environment)
    say(f"{len(expected)} outputs in {plain:.0f} s; now the same study under WHESL, with faults")
    status, got, seconds = protected(environment)
    wrong = sorted(name for name in expected if got.get(name) != expected[name])
    say(f"the study took {seconds:.0f} s with its faults, {plain:.0f} s without")
    if wrong or status:
        say(f"FAILED: exit status {status}; outputs that differ: {', '.join(wrong) or 'none'}")
        return 1
    say(f"all {len(expected)} outputs equal those of the run without faults")
    say(f"look further: WHESL_HOME={shlex.quote(str(home))} {shlex.quote(WHESL)} report | events | status")
    return 0


if __name__ == "__main__":
    sys.exit(main())
