"""Writes the figures of docs/cloud/evaluation.md: ``python -m benchmarks.cloud_evaluation DIR``.

DIR has the results of ``whesl lab cloud --out``: ``large`` and ``small`` (``--nodes 80``), and with
``--calibration`` ``large-calibration`` and ``small-calibration``. What stands between the page's marks is
replaced; a table without results stays as it is.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

import msgspec

from whesl.lab.reproductions.cloud import observation_checks, probability_calibration
from whesl.lab.reproductions.cloud.observation_checks import Rows
from whesl.lab.reproductions.cloud.verdicts import verdicts
from whesl.lab.reproductions.registry import Finding
from whesl.lab.simulators.cloud.evaluate import ADAPTIVE, OURS, Line, Row

PAGE = Path(__file__).resolve().parent.parent / "docs" / "cloud" / "evaluation.md"
WORDS = {True: "holds", False: "does not", None: "open"}
_SHARE = re.compile(r"the same in (\d+) % of the resamples")
SCALES = {"large": 795, "small": 80}


def rows(folder: Path) -> list[Row]:
    """Return the rows of all finished cases."""
    lines = (folder / "cases.jsonl").read_bytes().splitlines()
    return [row for line in lines for row in msgspec.json.decode(line, type=Line).rows]


def cases(found: Rows, scheduler: str) -> str:
    """Return how many cases there are of each workflow."""
    return ", ".join(f"{len(found.of(name, scheduler))} of {name}" for name in found.names)


def probabilities(place: Path) -> list[str]:
    """Return the table of stated probabilities."""
    lines = [
        "| nodes | | cases | plans say | met the deadline with all tasks | within 2 points |"
        " the dissertation's plan | mean cost against the dissertation's |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for scale, nodes in SCALES.items():
        if not (place / f"{scale}-calibration").exists():
            continue
        found = Rows(rows(place / f"{scale}-calibration"))
        for names in (*([name] for name in found.names), found.names):
            said, met = probability_calibration.stated(found, names)
            said, met = said[said >= 0.9], met[said >= 0.9]
            error = 1.96 * (met.mean() * (1 - met.mean()) / len(met)) ** 0.5
            plain = [row for name in names for row in found.of(name, ADAPTIVE)]
            ours = [row for name in names for row in found.of(name, OURS)]
            whole = sum(row.finished is not None for row in plain) / len(plain)
            cost = sum(row.cost for row in ours) / sum(row.cost for row in plain) - 1
            holds = WORDS[probability_calibration.within(said, met)]
            lines.append(
                f"| {nodes} | {' and '.join(names)} | {len(met)} | {100 * said.mean():.1f} %"
                f" | {100 * met.mean():.1f} % (+- {100 * error:.1f}) | {holds} | {100 * whole:.1f} %"
                f" | {100 * cost:+.1f} % |"
            )
    return lines


def observed(place: Path) -> list[str]:
    """Return the table of the dissertation's observations."""
    each: dict[str, dict[str, Finding]] = {}
    said = []
    for scale, nodes in SCALES.items():
        found = rows(place / scale)
        said.append(f"{nodes} nodes: {cases(Rows(found), ADAPTIVE)}")
        for finding in verdicts(found, observation_checks.findings):
            each.setdefault(finding.name, {})[scale] = finding
    lines = [f"Cases at {'; '.join(said)}.", ""]
    lines += ["| observation | printed | 795 nodes | | 80 nodes | |", "| --- | --- | --- | --- | --- | --- |"]
    for scales in each.values():
        first = next(iter(scales.values()))
        words = [first.statement.removeprefix("Observation "), first.printed]
        for scale in SCALES:
            share = _SHARE.search(scales[scale].difference)
            words += [
                scales[scale].measured,
                WORDS[scales[scale].holds] + (f" ({share[1]})" if share else ""),
            ]
        lines.append(f"| {' | '.join(words)} |")
    return lines


def written(page: str, mark: str, lines: list[str]) -> str:
    """Return a page with other lines between two marks."""
    text = "\n".join(lines)
    pattern = re.compile(rf"(<!-- {mark} -->\n).*?(<!-- end of {mark} -->)", re.DOTALL)
    made, count = pattern.subn(lambda match: f"{match[1]}{text}\n{match[2]}", page)
    if count != 1:
        raise SystemExit(f"{PAGE}: {count} places marked {mark}, one is needed")
    return made


def main() -> int:
    """Write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("place", type=Path, metavar="DIR")
    given = parser.parse_args()
    page = PAGE.read_text(encoding="utf-8")
    if any((given.place / f"{scale}-calibration").exists() for scale in SCALES):
        page = written(page, "probabilities", probabilities(given.place))
    if all((given.place / scale).exists() for scale in SCALES):
        page = written(page, "observations", observed(given.place))
    PAGE.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
