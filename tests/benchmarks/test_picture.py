"""The picture of the peers shows what was measured."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from tools.peers_picture import costs, draw, makespans, spoken, table

FIGURES: list[dict[str, object]] = [
    {"name": "none, Maestro, wait 0 min", "value": 30.0},
    {"name": "crash, Maestro, wait 0 min", "value": 42.0},
    {"name": "none, WHESL, wait 0 min", "value": 32.0},
    {"name": "crash, WHESL, wait 0 min", "value": 36.5},
    {"name": "hang, Slurm, wait 0 min", "value": 90.0},
    {"name": "crash: makespan saved against Maestro, wait 0 min", "value": 13.1},
]


def test_a_fault_costs_what_it_adds_to_the_same_ones_run_without() -> None:
    # Slurm has no run without a fault here, so nobody knows what the hang added.
    assert costs(makespans(FIGURES)) == {(0, "crash", "Maestro"): 12.0, (0, "crash", "WHESL"): 4.5}


def test_bars_are_in_proportion() -> None:
    root = ElementTree.fromstring(draw(costs(makespans(FIGURES))))
    widths = {
        bar.get("class"): float(bar.get("width", "0"))
        for bar in root.iter("{http://www.w3.org/2000/svg}rect")
        if bar.get("class") != "ground"
    }
    assert abs(widths["WHESL"] / widths["Maestro"] - 4.5 / 12.0) < 0.01


def test_times_are_said_as_people_do() -> None:
    assert (spoken(4.6), spoken(119.4), spoken(605.0)) == ("5 s", "119 s", "10 min 5 s")
    # Not 1 min 60 s, and nothing takes minus no time.
    assert (spoken(119.7), spoken(-0.2)) == ("2 min 0 s", "0 s")


def test_the_table_says_how_often_each_was_queued() -> None:
    waited: list[dict[str, object]] = [
        {"name": f"hang, Slurm, wait {wait} min", "value": 90.0 + 4 * 60 * wait} for wait in (0, 1, 10)
    ]
    row = next(line for line in table(makespans(waited)).splitlines() if "Slurm" in line)
    assert "| 90 s / 5 min 30 s / 41 min 30 s (4) |" in row
    assert "did not end" in row
