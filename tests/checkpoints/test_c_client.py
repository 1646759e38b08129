"""The C client: the same page as the Python one, and a header for both languages."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from whesl.checkpoints import rank_shared_memory

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
        "offsetof(struct page_header, heartbeat) / 8": rank_shared_memory.HEARTBEAT,
        "offsetof(struct page_header, candidate) / 8": rank_shared_memory.CANDIDATE,
        "offsetof(struct page_header, agreed) / 8": rank_shared_memory.AGREED,
        "offsetof(struct page_header, target) / 8": rank_shared_memory.TARGET,
        "offsetof(struct page_header, epoch) / 8": rank_shared_memory.EPOCH,
        "offsetof(struct page_header, granted) / 8": rank_shared_memory.GRANTED,
        "offsetof(struct page_header, released) / 8": rank_shared_memory.RELEASED,
        "offsetof(struct page_header, directory)": 128,
        "sizeof(struct page_header)": rank_shared_memory.HEADER,
        "offsetof(struct page_slot, count) / 8": rank_shared_memory.COUNT,
        "offsetof(struct page_slot, state) / 8": rank_shared_memory.STATE,
        "offsetof(struct page_slot, epoch) / 8": rank_shared_memory.SLOT_EPOCH,
        "offsetof(struct page_slot, target) / 8": rank_shared_memory.SLOT_TARGET,
        "offsetof(struct page_slot, rank) / 8": rank_shared_memory.RANK,
        "offsetof(struct page_slot, pid) / 8": rank_shared_memory.PID,
        "offsetof(struct page_slot, bytes) / 8": rank_shared_memory.BYTES,
        "offsetof(struct page_slot, checksum) / 8": rank_shared_memory.CHECKSUM,
        "offsetof(struct page_slot, verified) / 8": rank_shared_memory.VERIFIED,
        "offsetof(struct page_slot, ranks) / 8": rank_shared_memory.RANKS,
        "offsetof(struct page_slot, durable) / 8": rank_shared_memory.DURABLE,
        "offsetof(struct page_slot, text)": rank_shared_memory.TEXT,
        "sizeof(struct page_slot)": rank_shared_memory.SLOT,
        "SLOT_COMMITTED": rank_shared_memory.SlotState.COMMITTED,
        "SLOT_CLAIMED": rank_shared_memory.SlotState.CLAIMED,
        "WHESL_CKPT_MAGIC": rank_shared_memory.MAGIC,
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
