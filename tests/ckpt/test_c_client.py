"""The C client: the same page as the Python one, one host, and real Slurm with a node that dies in time."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.waiting import until, written
from whesl.ckpt import manifest, page

if TYPE_CHECKING:
    from collections.abc import Callable

    from whesl.testing.slurmbed import SlurmBed

CLIENT = Path(__file__).resolve().parents[2] / "clients" / "c"
COMPILER = shutil.which("cc") or shutil.which("gcc")
pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C compiler is on PATH")
FLAGS = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O2", f"-I{CLIENT / 'include'}"]


def compiled(place: Path, *sources: Path | str, options: tuple[str, ...] = ()) -> Path:
    program = place / "program"
    command = [str(COMPILER), *FLAGS, *options, *map(str, sources), "-o", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return program


def test_both_languages_see_the_same_page(tmp_path: Path) -> None:
    names = {
        "offsetof(struct page_header, heartbeat) / 8": page.HEARTBEAT,
        "offsetof(struct page_header, candidate) / 8": page.CANDIDATE,
        "offsetof(struct page_header, agreed) / 8": page.AGREED,
        "offsetof(struct page_header, target) / 8": page.TARGET,
        "offsetof(struct page_header, epoch) / 8": page.EPOCH,
        "offsetof(struct page_header, granted) / 8": page.GRANTED,
        "offsetof(struct page_header, released) / 8": page.RELEASED,
        "offsetof(struct page_header, directory)": 128,
        "sizeof(struct page_header)": page.HEADER,
        "offsetof(struct page_slot, count) / 8": page.COUNT,
        "offsetof(struct page_slot, state) / 8": page.STATE,
        "offsetof(struct page_slot, epoch) / 8": page.SLOT_EPOCH,
        "offsetof(struct page_slot, target) / 8": page.SLOT_TARGET,
        "offsetof(struct page_slot, rank) / 8": page.RANK,
        "offsetof(struct page_slot, pid) / 8": page.PID,
        "offsetof(struct page_slot, bytes) / 8": page.BYTES,
        "offsetof(struct page_slot, checksum) / 8": page.CHECKSUM,
        "offsetof(struct page_slot, verified) / 8": page.VERIFIED,
        "offsetof(struct page_slot, ranks) / 8": page.RANKS,
        "offsetof(struct page_slot, text)": page.TEXT,
        "sizeof(struct page_slot)": page.SLOT,
        "SLOT_COMMITTED": page.SlotState.COMMITTED,
        "SLOT_CLAIMED": page.SlotState.CLAIMED,
        "WHESL_CKPT_MAGIC": page.MAGIC,
    }
    source = tmp_path / "layout.c"
    prints = "\n".join(f'printf("%llu\\n", (unsigned long long)({name}));' for name in names)
    include = f'#include <stddef.h>\n#include <stdio.h>\n#include "{CLIENT}/src/page.h"\n'
    source.write_text(f"{include}int main(void) {{\n{prints}\n}}\n")
    told = subprocess.run([compiled(tmp_path, source)], capture_output=True, text=True, check=True)
    assert dict(zip(names, map(int, told.stdout.split()), strict=True)) == names


def test_the_header_is_cpp_as_well(tmp_path: Path) -> None:
    cpp = shutil.which("c++")
    if cpp is None:
        pytest.skip("no C++ compiler is on PATH")
    source = tmp_path / "use.cpp"
    source.write_text("#include <whesl_ckpt.h>\nint step(whesl_ckpt *c) { return whesl_ckpt_poll(c); }\n")
    command = [cpp, "-std=c++11", "-Wall", "-Werror", f"-I{CLIENT / 'include'}", "-c", str(source), "-o"]
    subprocess.run([*command, str(tmp_path / "use.o")], check=True)


SCRIPT = """\
cd {place}
export WHESL_HOME={place}/home WHESL_CKPT_PATIENCE=30
{python} -m whesl ckpt run --name job --dir {place}/checkpoints -- \\
  srun --overlap {options} --ntasks={ranks} --ntasks-per-node=2 {program} 0 {ranks} {steps} 5 100000
echo "status $?"
"""


@pytest.mark.slurm
@pytest.mark.slow
@pytest.mark.timeout(240)
def test_on_slurm_the_node_that_is_about_to_die_writes_first(
    slurm_bed: Callable[..., SlurmBed], tmp_path: Path
) -> None:
    bed = slurm_bed(nodes=4)
    program = compiled(tmp_path, CLIENT / "src" / "whesl_ckpt.c", CLIENT / "examples" / "counter.c")
    place = tmp_path / "run"
    (place / "home").mkdir(parents=True)
    (place / "home").chmod(0o700)
    values = {"place": place, "python": sys.executable, "program": program, "ranks": 8}
    script = SCRIPT.format(**values, steps=100000, options="")
    first = bed.submit(script, "-N4", "-n8", "--no-requeue", "-o", str(place / "first"))

    def say(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "whesl", "ckpt", arguments[0], "--name", "job", *arguments[1:]]
        environment = {**bed.environment, "WHESL_HOME": str(place / "home")}
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=60, check=False
        )

    def ranks() -> bool:
        answer = say("status", "--json")
        nodes = json.loads(answer.stdout)["nodes"] if answer.returncode == 0 else {}
        return sorted(node["ranks"] for node in nodes.values()) == [2, 2, 2, 2]

    until(ranks, "eight ranks on four nodes", 90)
    victim = sorted(json.loads(say("status", "--json").stdout)["nodes"])[2]
    assert say("predict", victim, "--lead", "20").returncode == 0
    ended = ("is complete", "was given up")
    until(lambda: any(end in (place / "first").read_text() for end in ended), "the end of a checkpoint", 90)
    assert manifest.whole(place / "checkpoints"), (place / "first").read_text()
    found = manifest.whole(place / "checkpoints")[0]
    times = {part.rank: (place / "checkpoints" / "1" / part.name).stat().st_mtime_ns for part in found.parts}
    assert {rank for rank, _ in sorted(times.items(), key=lambda item: item[1])[:2]} == {4, 5}
    bed.kill_node(victim)
    bed.wait_job(first, "COMPLETED", "FAILED", "CANCELLED", "NODE_FAIL", timeout=120)

    script = SCRIPT.format(**values, steps=found.step + 50, options="").replace("--ntasks-per-node=2", "")
    options = ("-N3", "-n8", "--overcommit", f"--exclude={victim}")
    again = bed.submit(script, *options, "-o", str(place / "again"))
    bed.wait_job(again, "COMPLETED", "FAILED", timeout=120)
    text = written(place / "again")
    assert text.count(f"restored step {found.step}") == 8, text
    ends = {int(rank): int(total) for rank, total in re.findall(r"rank (\d) ends at \d+ (\d+)", text)}
    steps = found.step + 50
    assert ends == {rank: steps * (steps + 1) // 2 * (rank + 1) for rank in range(8)}, text
