"""The statuses with which scripts end, held against bash."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from whesl.doctor.job_script import statuses

# Each has a program in it, and each may stand in each other one.
AROUND = (
    "{}",
    "(\n{}\n)",
    "{{\n{}\n}} | cat",
    "set -o pipefail\n{{\n{}\n}} | cat",
    "set -e\n{}\ntrue",
    "set -e\n{}\nset +e\nfalse\ntrue",
    "if {{\n{}\n}}; then true; else exit 5; fi",
    "if ! {{\n{}\n}}; then exit 6; elif true; then exit 7; fi",
    "{{\n{}\n}} || exit 3",
    "{{\n{}\n}} && exit 4",
    "{{\n{}\n}} || true",
    "! {{\n{}\n}}",
    "f() {{\n{}\nreturn 8\n}}\nf",
    "for i in 1 2; do\n{}\ndone",
    "for i in 1 2 3; do\n{} && break\nsleep 0\ndone",
    "n=0\nwhile [ $n -lt 2 ]; do\nn=$((n + 1))\n{}\ndone",
    "{}\nrc=$?\ntrue\nexit $rc",
    "{}\nrc=$?\nif [ $rc -ne 0 ]; then exit 9; fi",
    "{}\n[ $? -eq 0 ] || exit 10",
    "x=$({})",
    "g() {{ local x=$({}); }}\ng",
    "trap 'exit 11' EXIT\n{}",
    "h() {{ rc=$?; true; exit $rc; }}\ntrap h EXIT\n{}",
    "trap 'exit 12' ERR\n{}\ntrue",
    "{{\n{}\n}} &\nwait $!",
    "{{\n{}\n}} &\nwait",
    "case a in a)\n{}\n;; esac",
    "fails=0\n{{\n{}\n}} || fails=$((fails + 1))\nexit $fails",
    "exec 3>&1\n{}\ntrue",
)


@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.variant)])
@pytest.mark.parametrize("outer", AROUND)
def test_bash_ends_in_one_of_the_statuses(tmp_path: Path, outer: str, step: int) -> None:
    program = tmp_path / "a"
    program.write_text("#!/bin/sh\nexit 77\n")
    program.chmod(0o755)
    inside = AROUND[AROUND.index(outer) % step :: step]
    scripts = [f"#!/bin/bash\n{outer.format(inner.format('./a'))}\n" for inner in inside if inner != outer]
    for number, script in enumerate(scripts):
        (tmp_path / f"{number}.sh").write_text(script)
    each = "for n in $(seq 0 $1); do bash $n.sh > /dev/null 2>&1; echo $?; done"
    line = ["bash", "-c", each, "-", str(len(scripts) - 1)]
    done = subprocess.run(
        line, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True
    )
    for script, status in zip(scripts, map(int, done.stdout.split()), strict=True):
        known = statuses.ends(script)
        assert known is None or {statuses.OWN if status == 77 else status, statuses.ANY} & known, (
            script,
            status,
        )


@pytest.mark.parametrize(
    ("body", "known"),
    [
        ("./a\ndate", {0}),
        ("./a | gzip > a.gz", {0}),
        ("./a\nrc=$?\ntar c x\necho $rc", {0}),
        ("while read -r x; do ./a $x; done < list", {statuses.OWN}),
        ("make -j 4 all", {2}),
        ("ls | xargs -n 1 ./a", {123}),
        ("find . -exec ./a {} +", {0}),
        ("./a || { echo bad; exit 4; }", {4}),
        ("date", None),
    ],
)
def test_what_is_known_is_as_narrow_as_that(body: str, known: set[int | str] | None) -> None:
    assert statuses.ends(f"#!/bin/bash\n{body}\n") == known


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("./a\n[ -s errors.txt ] && cat errors.txt", True),
        ("./a\nif [ -s errors.txt ]; then cat errors.txt; fi", False),
        ("./a\ngrep ERROR a.log", True),
        ("./a\ngrep 'JOB DONE' a.log", False),
    ],
)
def test_sound_runs_that_end_with_another_status(body: str, told: bool) -> None:
    assert (statuses.TESTED in statuses.sound_ends(f"#!/bin/bash\n{body}\n")) == told
