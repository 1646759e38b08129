"""Write docs/slurm-versions.md: which tests ran on which release of Slurm, and how they ended.

python tools/slurm_versions.py [RESULTS]

RESULTS has a folder for each release, as ``build/slurm/26.05.3``, in which ``make test-slurm`` leaves the
JUnit file of each run. Of each test the newest result counts. docs/results/slurm-versions.csv keeps it, with
a row for each test and a column for each release. A test that no run had counts as not run.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import io
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "slurm-versions.md"
KEPT = ROOT / "docs" / "results" / "slurm-versions.csv"


class Outcome(Enum):
    """How a test ended; the value is the page's word for it."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    NOT_RUN = "not run"


@dataclass(frozen=True)
class Result:
    """How a test ended in one run, and why it failed or was skipped."""

    test: str
    outcome: Outcome
    begun: datetime.datetime
    reason: str = ""


_WORDS = {"failure": Outcome.FAILED, "error": Outcome.FAILED, "skipped": Outcome.SKIPPED}


def results(text: str) -> Iterator[Result]:
    """Read a JUnit file as pytest writes it. Raises ET.ParseError, and ValueError without a time."""
    for suite in ET.fromstring(text).iter("testsuite"):  # noqa: S314 - it is written by the tests themselves
        begun = datetime.datetime.fromisoformat(suite.get("timestamp", ""))
        for case in suite.iter("testcase"):
            # pytest-xdist adds a test's group to its name.
            name = re.sub(r"@[\w/.-]+$", "", case.get("name", ""))
            ended = next((child for child in case if child.tag in _WORDS), None)
            outcome = Outcome.PASSED if ended is None else _WORDS[ended.tag]
            # The first line alone says nothing where a test's own message begins with a line break.
            reason = "" if ended is None else " ".join(ended.get("message", "").split())
            yield Result(f"{case.get('classname')}.{name}", outcome, begun, reason)


def newest(found: Collection[Result]) -> dict[str, Result]:
    """Return the newest result of each test. Of one run (set-up, end) a failure counts."""
    kept: dict[str, Result] = {}
    for result in sorted(found, key=lambda each: (each.begun, each.outcome is Outcome.FAILED)):
        kept[result.test] = result
    return kept


def kept(text: str) -> dict[str, list[Result]]:
    """Return the results of each release that ``to_keep`` wrote. Raises ValueError for anything else."""
    found: dict[str, list[Result]] = {}
    for cells in csv.DictReader(io.StringIO(text)):
        test = cells.pop("test")
        for release, cell in cells.items():
            begun, outcome, reason = [*cell.split(" | ", 2), "", ""][:3]
            if begun:
                ended = Result(test, Outcome(outcome), datetime.datetime.fromisoformat(begun), reason)
                found.setdefault(release, []).append(ended)
    return found


def to_keep(tests: Sequence[str], releases: Mapping[str, Mapping[str, Result]]) -> str:
    """Return the newest results as CSV, without those of tests that are no more."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(("test", *releases))
    for test in sorted(tests):
        found = [ended.get(test) for ended in releases.values()]
        rows.writerow((test, *(_cell(result) if result else "" for result in found)))
    return text.getvalue()


def _cell(result: Result) -> str:
    parts = (result.begun.isoformat(timespec="seconds"), result.outcome.value, _plain(result.reason))
    return " | ".join(part for part in parts if part)


def junit_name(node: str) -> str:
    """Return the name in JUnit files of a test that pytest lists (``tests/a/test_b.py::C::test[x]``)."""
    module, _, name = node.partition("::")
    *classes, function = re.split(r"::(?![^\[]*\])", name)
    return ".".join([module.removesuffix(".py").replace("/", "."), *classes, function])


def suite(test: str) -> str:
    """Return the folder of a test, as ``tests/placement/site``."""
    return "/".join(test.split(".")[:2])


def row(tests: Sequence[str], ended: Mapping[str, Result]) -> str:
    """Return a cell of the table: how many of these tests ended how."""
    counted = Counter(ended[test].outcome if test in ended else Outcome.NOT_RUN for test in tests)
    return ", ".join(f"{counted[outcome]} {outcome.value}" for outcome in Outcome if counted[outcome])


TEXT = """# Releases of Slurm

Written by `tools/slurm_versions.py` from the results of `make test-slurm` ([how to run
it](testing.md#any-slurm)); it is not edited by hand. 22.05.8 is Debian's, on which all tests run with each
change. The others were built from Slurm's own tags. What is not named here, or "not run", was not tried.

{table}

What Slurm itself does otherwise from a release on is one table, which the product reads when it runs
(`managers/resource/slurm/releases.py`):

{abilities}

## What WHESL makes of more that Slurm offers

| Slurm's | in WHESL |
| --- | --- |
| reasons of nodes | from `sinfo`, on every release: a node's state comes with its reason |
| `--json` of `squeue`, `sinfo`, `scontrol` | not used: named fields (`-O`) hold the same on every \
release. On 26.05.3 with 20 jobs `squeue --json` printed 178,499 bytes in 16.9 ms of a processor, \
the fields 2,155 bytes in 2.9 ms |
| pyslurm | looks at one or two running jobs, where it was built for the release: PyPI's 25.11.2, built with \
`SLURM_INCLUDE_DIR` and `SLURM_LIB_DIR` of a 25.11.7, says there what `squeue` says. Three measurements on a \
busy machine: 14 to 16 ms a look at one job, `squeue` 29 to 36 ms; at two jobs 16 to 42 and 20 to 39 ms |
| a step's control group | a process's path (`/proc/PID/cgroup`, versions 1 and 2) names its step: \
[fencing](design/fencing.md#whose-process-it-is). `scontrol listpids` tells no more than this path \
and the descent |
| options of SPANK plugins, and of releases to come | the `srun` in a task asks `srun --help` for an \
option that it does not know; one that is not there either is refused by srun |
| `sackd`, configless login nodes | the commands find their configuration themselves; \
`SLURM_CONF_SERVER` goes with `SLURM_CONF` wherever a cluster is named. Tried with `sackd` on 24.05.8, \
25.11.7 and 26.05.3: `whesl run`, `doctor --compute`, `why` and `placement serve` work; \
`placement install` says that the plugin belongs where slurmctld runs |
| dynamic nodes (`slurmd -Z`) | read by `sinfo` as all others: on 24.05.8 and 26.05.3 one was listed, \
was the spare that took a lost node's place, and was drained. Bursting uses CLOUD nodes, which need no more |
| `slurmrestd` with JWT | not used: placement marks nodes beside slurmctld, by `scontrol` of every \
release. From another host it would need a token of an operator there, and each release drops older \
versions of the interface (26.05.3 has v0.0.42 to v0.0.45; a user's token drains no node) |
| `sbatch --requeue=expedite` | never added: [why](design/jobs.md) |

## What failed or was skipped

{failed}"""


def page(tests: Sequence[str], releases: Mapping[str, Mapping[str, Result]], abilities: Sequence[str]) -> str:
    """Return the page.

    Args:
        tests: all tests on a real Slurm that there are, by their names in JUnit files.
        releases: for each release, the newest result of each test.
        abilities: lines of what differs by release.
    """
    suites: dict[str, list[str]] = {}
    for test in sorted(tests):
        suites.setdefault(suite(test), []).append(test)
    lines = [f"| tests | {' | '.join(releases)} |", f"| --- |{' --- |' * len(releases)}"]
    for name, members in suites.items():
        cells = " | ".join(row(members, ended) for ended in releases.values())
        lines.append(f"| `{name}` ({len(members)}) | {cells} |")
    known = set(tests)
    lines.append(f"| run | {' | '.join(_days(releases[r], known) for r in releases)} |")
    failed: list[str] = []
    for name, ended in releases.items():
        told = [ended[test] for test in sorted(known & ended.keys())]
        lacking = [each for each in told if each.outcome is not Outcome.PASSED]
        failed.append(f"### {name}\n")
        failed += [f"* {each.outcome.value}: `{each.test}`: `{_plain(each.reason)}`" for each in lacking]
        failed.append("" if lacking else "Nothing.\n")
    table = "\n".join(lines)
    return TEXT.format(table=table, abilities="\n".join(abilities), failed="\n".join(failed).rstrip() + "\n")


def _days(ended: Mapping[str, Result], known: Collection[str]) -> str:
    days = sorted({result.begun.date().isoformat() for test, result in ended.items() if test in known})
    return " to ".join(dict.fromkeys((days[0], days[-1]))) if days else "-"


def _plain(reason: str) -> str:
    """Return a reason without paths of this machine, as the inside of a code span."""
    return re.sub(r"/[\w./-]*/(?=[\w.-]+)", "", reason).replace("`", "'")[:200]


def _collected() -> list[str]:
    options = ("--collect-only", "-q", "-m", "slurm", "-p", "no:cacheprovider")
    command = (sys.executable, "-m", "pytest", *options, "tests")
    environment = {key: value for key, value in os.environ.items() if key != "WHESL_SLURM"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    return [junit_name(line) for line in done.stdout.splitlines() if "::" in line]


def _abilities() -> list[str]:
    from whesl.managers.resource.slurm.releases import Ability

    return [f"* from {each.since[0]}.{each.since[1]:02} on, {each.sentence}" for each in Ability]


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("results", type=Path, nargs="?", help="folders of JUnit files")
    results_of = kept(KEPT.read_text()) if KEPT.exists() else {}
    given = parser.parse_args().results
    for file in sorted(given.glob("*/*.xml")) if given else ():
        results_of.setdefault(file.parent.name, []).extend(results(file.read_text()))
    releases = {name: newest(results_of[name]) for name in sorted(results_of)}
    tests = _collected()
    KEPT.write_text(to_keep(tests, releases))
    PAGE.write_text(page(tests, releases, _abilities()))


if __name__ == "__main__":
    main()
