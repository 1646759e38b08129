"""Reproduction of the findings on failures in "The importance of complete data sets ..."."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from whesl.lab.reproductions.grid.reproduce import COLUMNS, SEEDS, SOURCE, mean_of, metacentrum_data, row_of
from whesl.lab.reproductions.registry import Finding, Inputs, Report, experiment
from whesl.lab.results.report_tables import Table
from whesl.lab.simulators.grid import failure_records, generated_failures, simulation


@experiment(
    "grid-first-fit", SOURCE, "Figures 3 and 4's finding: first fit on equal clusters gets jobs killed"
)
def first_fit(given: Inputs) -> Report:
    """Run FCFS and FCFS-LB with equal speeds and ten times MetaCentrum's failures, in place of Grid'5000."""
    _, machines, jobs, outages = metacentrum_data(given, equal_speeds=True)
    work = jobs[False]
    begin, finish = float(work.submit[0]), float(work.submit[-1])
    afc = 10.0 * generated_failures.rate(machines, outages, begin, finish)
    law = generated_failures.Law(afc, duration_scale=600.0)  # Grid'5000: "usually very short"
    down = generated_failures.generated(machines, begin, finish, law, seed=0)
    first, plain = simulation.simulate(machines, work, down, "fcfs", 0)
    basic = simulation.simulate(machines, work, failure_records.NONE, "fcfs", 0)[1]
    seeds = range(2 if given.quick else SEEDS)
    with given.progress.stage("grid, first fit", 2 * len(seeds)) as advance:
        balanced = mean_of(
            lambda seed: simulation.simulate(machines, work, down, "fcfs-lb", seed)[1], list(seeds), advance
        )
        calm = mean_of(
            lambda seed: simulation.simulate(machines, work, failure_records.NONE, "fcfs-lb", seed)[1],
            list(seeds),
            advance,
        )
    killed = first.state == 1
    large = int(machines.preference[0])
    share = float((first.cluster[killed] == large).mean())
    used = float((work.cpus * work.time)[first.cluster == large].sum() / (work.cpus * work.time).sum())
    length = float(work.time.mean())
    rows = [
        ["BASIC", "fcfs", 1, basic.slowdown, basic.response, basic.wait, 0, 0, 0.0, None],
        row_of("BASIC", "fcfs-lb", calm),
        [
            "EXT-FAIL",
            "fcfs",
            1,
            plain.slowdown,
            plain.response,
            plain.wait,
            plain.killed,
            plain.cancelled,
            0.0,
            None,
        ],
        row_of("EXT-FAIL", "fcfs-lb", balanced),
    ]
    stead = (
        f"MetaCentrum with equal speeds and {afc:.5f} failures a machine and hour, generated, for Grid'5000"
    )
    findings = [
        Finding(
            "first fit",
            "section 6.2, Figure 4",
            "a drawn cluster gets fewer jobs killed than the first one that fits",
            "much better",
            f"{balanced.killed:,.0f} against {plain.killed:,}",
            balanced.killed < 0.9 * plain.killed,
            f"{100 * (balanced.killed / plain.killed - 1):+.0f} %",
            stead
            + "; utilisation is 37 % here and 17 % there, and the largest cluster has 19 % of the processors",
        ),
        Finding(
            "largest cluster",
            "section 6.2",
            "most killed jobs are killed on the largest cluster",
            "95.3 %",
            f"{100 * share:.1f} %, with {100 * used:.0f} % of the work",
            share > 0.5,
            f"{100 * (share - 0.953):+.0f} points",
            stead,
        ),
        Finding(
            "long jobs die",
            "section 6.2",
            "killed jobs are longer than the mean job",
            "60,690 s against 2,608 s",
            f"{plain.killed_length:,.0f} s against {length:,.0f} s",
            plain.killed_length > length,
            why=stead,
        ),
        Finding(
            "response falls",
            "section 6.2",
            "the mean response falls under failures, since long jobs die",
            "falls",
            f"{plain.response:,.0f} s against {basic.response:,.0f} s",
            plain.response < basic.response,
            why=stead,
        ),
        Finding(
            "FCFS-LB, slowdown",
            "section 6.2, Figure 4",
            "FCFS-LB has a slightly smaller slowdown in BASIC and EXT-FAIL",
            "slightly",
            f"BASIC {calm.slowdown:.1f} against {basic.slowdown:.1f}, EXT-FAIL {balanced.slowdown:.1f} "
            f"against {plain.slowdown:.1f}",
            calm.slowdown < basic.slowdown and balanced.slowdown < plain.slowdown,
            why=stead,
        ),
    ]
    table = Table("first-fit", "FCFS and FCFS-LB on MetaCentrum with equal speeds", COLUMNS, rows)
    values = {"fcfs": plain._asdict(), "fcfs-lb": balanced._asdict() | {"seconds": None}, "largest": share}
    return Report(findings, [table], (), values)


@experiment("grid-generator", SOURCE, "Figure 1 and equation (1): the failure generator")
def failure_generator(given: Inputs) -> Report:
    """Generate failures at the rates of MetaCentrum and LANL, and compare the result with these rates."""
    from whesl.lab.readers import failures

    _, machines, jobs, outages = metacentrum_data(replace(given, quick=True))
    del jobs
    begin, finish = float(outages.start[0]), float(outages.start[-1])
    lanl = failures.read(given.trace("lanl/LA-UR-05-7318-failure-data-1996-2005.csv.xz"), system="18").history
    rates = {
        "MetaCentrum": generated_failures.rate(machines, outages, begin, finish),
        "LANL system 18": len(lanl) / (lanl.nodes * (lanl.finish - lanl.begin) / 3600.0),
    }
    rows: list[list[Any]] = []
    exact, linear = True, 0.0
    for name, afc in rates.items():
        made = generated_failures.generated(machines, begin, finish, generated_failures.Law(afc), seed=0)
        wanted = afc * len(machines.cpus) * (finish - begin) / 3600.0
        many = generated_failures.generated(
            machines, begin, finish, generated_failures.Law(100 * afc, duration_scale=1.0), seed=0
        )
        home = np.searchsorted(machines.first, many.machine, side="right") - 1
        share = np.bincount(home, minlength=len(machines.first) - 1) / len(home)
        linear = max(linear, float(np.abs(share - np.diff(machines.first) / len(machines.cpus)).max()))
        exact = exact and abs(len(made.start) - wanted) <= 0.03 * wanted + 1
        rows.append([name, afc, 24 * afc, wanted, len(made.start)])
    findings = [
        Finding(
            "F = N D AFC",
            "equation (1)",
            "the number of failures is machines times hours times AFC",
            "F",
            "; ".join(f"{row[0]}: {row[3]:.0f} wanted, {row[4]} made" for row in rows),
            exact,
            why="outages of one machine that overlap become one",
        ),
        Finding(
            "clusters",
            "section 4.1",
            "clusters fail in proportion to their machines",
            "linear",
            f"largest difference {100 * linear:.1f} points with 100 times the failures",
            linear < 0.03,
        ),
        Finding(
            "rates",
            "Figure 1, top middle",
            "MetaCentrum's machines fail more often than LANL's",
            "larger",
            ", ".join(f"{name} {24 * afc:.4f} a machine and day" for name, afc in rates.items()),
            rates["MetaCentrum"] > rates["LANL system 18"],
        ),
    ]
    columns = ("source", "AFC, per machine and hour", "per machine and day", "failures wanted", "made")
    return Report(
        findings,
        [Table("generator", "Generated failures", columns, rows)],
        (),
        rates,
    )
