"""Reproduction of the figures of "The importance of complete data sets for job scheduling simulations"."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from whesl.files.packed_text import text
from whesl.lab.reproductions.registry import Finding, Inputs, Report, experiment
from whesl.lab.results.report_figures import Figure, Series
from whesl.lab.results.report_tables import Table
from whesl.lab.simulators.grid import cluster_eligibility, failure_records, simulation
from whesl.lab.simulators.grid.cluster_files import Cluster, grid, read
from whesl.lab.simulators.grid.event_loop import Grid, Jobs, Outages
from whesl.lab.simulators.grid.simulation import Measures

SOURCE = "The importance of complete data sets for job scheduling simulations"
# UnixStartTime of MetaCentrum's log in seconds since 1970, from the first job's time in another source;
# the log has no header.
EPOCH = 1228910204.0
SCENARIOS = ("BASIC", "EXT-FAIL", "EXT-REQ", "EXT-ALL")
POLICIES = ("fcfs", "easy", "cons", "ls")
SEEDS = 10
STARTS = 2_000  # limit of a local search, in computed starts; `whesl lab grid` has 20,000
COLUMNS = (
    "problem", "policy", "seeds", "slowdown", "response, s", "wait, s", "killed", "cancelled",
    "deviation of slowdown", "CPU s of one run",
)  # fmt: skip


class Mean(NamedTuple):
    """The measures of one policy in one problem, over all seeds.

    Attributes:
        slowdown, response, wait, killed, cancelled: means over the seeds.
        deviation: standard deviation of the slowdown.
        runs: number of seeds.
        seconds: processor time of one run, in seconds.
    """

    slowdown: float
    response: float
    wait: float
    killed: float
    cancelled: float
    deviation: float
    runs: int
    seconds: float


def mean_of(run: Callable[[int], Measures], seeds: Sequence[int], advance: Callable[[float], None]) -> Mean:
    """Return the means of a simulation's measures over some seeds.

    Args:
        run: simulates with a seed and returns the measures.
        seeds: the seeds, at least one.
        advance: called with 1 after each run.
    """
    found = []
    begun = time.process_time()
    for seed in seeds:
        found.append(run(seed))
        advance(1)
    seconds = (time.process_time() - begun) / len(found)
    slowdown, response, wait, killed, cancelled = (
        float(np.mean([getattr(one, name) for one in found])) for name in Mean._fields[:5]
    )
    deviation = float(np.std([one.slowdown for one in found]))
    return Mean(slowdown, response, wait, killed, cancelled, deviation, len(found), seconds)


def _by_policy(
    machines: Grid, work: Jobs, down: Outages, seeds: Sequence[int], advance: Callable[[float], None]
) -> dict[str, Mean]:
    """Return the measures of each policy; the randomized policy ``ls`` runs with each seed."""

    def mean(policy: str) -> Mean:
        def run(seed: int) -> Measures:
            return simulation.simulate(machines, work, down, policy, seed, starts=STARTS)[1]

        return mean_of(run, seeds if policy == "ls" else [0], advance)

    return {policy: mean(policy) for policy in POLICIES}


def row_of(problem: str, policy: str, mean: Mean) -> list[Any]:
    """Return a row of the table of ``COLUMNS``.

    Args:
        problem: name of the problem, such as one of ``SCENARIOS``.
        policy: name of the policy.
        mean: the policy's measures in the problem.
    """
    return [problem, policy, mean.runs, *mean[:6], mean.seconds]


def metacentrum_data(
    given: Inputs, *, equal_speeds: bool = False
) -> tuple[list[Cluster], Grid, dict[bool, Jobs], Outages]:
    """Return the clusters, their machines, the jobs by "with requirements", and the failures.

    Args:
        given: what the experiment is given; ``quick`` takes a small part of the log.
        equal_speeds: whether all clusters have the same speed.
    """
    from whesl.lab.readers import swf

    clusters = read(given.trace("metacentrum/metacentrum-2009.mwf.machines"))
    if equal_speeds:
        clusters = [Cluster(c.name, c.machines, c.cpus, 1.0, c.properties) for c in clusters]
    log = swf.read(given.trace("metacentrum/METACENTRUM-2009-2.swf.xz"))
    rows = simulation.chosen(log)
    rows = rows[: len(rows) // 20] if given.quick else rows
    wanted = {
        False: cluster_eligibility.none(len(rows), len(clusters)),
        True: cluster_eligibility.used(log, rows, clusters),
    }
    jobs = {key: simulation.jobs_of(log, rows, one) for key, one in wanted.items()}
    failures = given.trace("metacentrum/metacentrum-2009.mwf.failures")
    return (
        clusters,
        grid(clusters),
        jobs,
        failure_records.read(failures, clusters, EPOCH, strict=False).outages,
    )


@experiment("grid-metacentrum", SOURCE, "Figure 2: four policies on four problems made of MetaCentrum's log")
def metacentrum(given: Inputs) -> Report:
    """Run FCFS, EASY, CONS and LS with and without failures, and with and without requirements."""
    _, machines, jobs, outages = metacentrum_data(given)
    seeds = range(2 if given.quick else SEEDS)
    found: dict[tuple[str, str], Mean] = {}
    simulation.simulate(
        machines, jobs[False], failure_records.NONE, "fcfs", 0
    )  # compiles the event loop before the timed runs
    with given.progress.stage("grid, MetaCentrum", len(SCENARIOS) * (3 + len(seeds))) as advance:
        for problem in SCENARIOS:
            work = jobs[problem in ("EXT-REQ", "EXT-ALL")]
            down = outages if problem in ("EXT-FAIL", "EXT-ALL") else failure_records.NONE
            means = _by_policy(machines, work, down, seeds, advance)
            found |= {(problem, policy): mean for policy, mean in means.items()}
    rows = [row_of(problem, policy, mean) for (problem, policy), mean in found.items()]
    table = Table("metacentrum", "MetaCentrum (Figure 2)", COLUMNS, rows)
    figures = [
        Figure(
            f"metacentrum-{name}",
            f"MetaCentrum: {about}",
            "problem",
            about,
            [
                Series(policy, SCENARIOS, [getattr(found[p, policy], name) for p in SCENARIOS])
                for policy in POLICIES
            ],
            kind="bars",
            log="y",
        )
        for name, about in (
            ("slowdown", "mean slowdown"),
            ("response", "mean response, s"),
            ("wait", "mean wait, s"),
        )
    ]
    values = {
        problem: {policy: found[problem, policy]._asdict() | {"seconds": None} for policy in POLICIES}
        for problem in SCENARIOS
    }
    return Report(_metacentrum_findings(found), [table], figures, values)


def _metacentrum_findings(found: dict[tuple[str, str], Mean]) -> list[Finding]:
    def value(problem: str, policy: str, name: str) -> float:
        return float(getattr(found[problem, policy], name))

    def spread(problem: str, name: str, policies: Sequence[str] = POLICIES) -> float:
        each = [value(problem, policy, name) for policy in policies]
        return max(each) / min(each) if min(each) else math.inf if max(each) else 1.0

    def pairs(name: str, one: str, other: str, problems: Sequence[str]) -> tuple[int, str]:
        better = sum(value(p, one, name) < value(p, other, name) for p in problems)
        said = ", ".join(
            f"{p} {value(p, one, name):,.1f} against {value(p, other, name):,.1f}" for p in problems
        )
        return better, said

    real, extended = ("BASIC", "EXT-FAIL"), ("EXT-REQ", "EXT-ALL")
    waits = np.array([[value(q, p, "wait") for p in POLICIES[1:]] for q in ("BASIC", "EXT-FAIL", "EXT-REQ")])
    with np.errstate(divide="ignore", invalid="ignore"):  # waits may be 0 in a small part of the log
        by_failures, by_needs = (waits[1:] / waits[0]).mean(axis=1)
    cons, cons_said = pairs("slowdown", "cons", "easy", extended)
    easy, easy_said = pairs("slowdown", "easy", "cons", real)
    response, response_said = pairs("response", "easy", "cons", real)
    improved = sum(
        value(p, "ls", n) < value(p, "cons", n) for p in SCENARIOS for n in ("slowdown", "response", "wait")
    )
    best = [
        (p, n)
        for p in SCENARIOS
        for n in ("slowdown", "response", "wait")
        if value(p, "ls", n) > min(value(p, q, n) for q in POLICIES[:3])
    ]
    killed = {p: [value(p, q, "killed") for q in POLICIES] for p in ("EXT-FAIL", "EXT-ALL")}
    shaking = max(found[p, "ls"].deviation / found[p, "ls"].slowdown for p in SCENARIOS)
    slower = sum(value("EXT-ALL", p, "seconds") > value("BASIC", p, "seconds") for p in POLICIES)
    section = "section 6.1, Figure 2"
    needs = "requirements are the clusters that each (user, queue) used: the log's application field is empty"
    return [
        Finding(
            "BASIC",
            section,
            "in BASIC the policies differ little",
            "not very large",
            f"response x {spread('BASIC', 'response'):.3f}, wait x {spread('BASIC', 'wait'):.2f}, "
            f"slowdown x {spread('BASIC', 'slowdown'):.2f}, "
            f"without LS x {spread('BASIC', 'slowdown', POLICIES[:3]):.2f}",
            spread("BASIC", "response") < 1.1,
            why="by the response; LS halves the slowdown of short jobs even there",
        ),
        Finding(
            "EXT-ALL",
            section,
            "with failures and requirements they differ much, FCFS being worst by far",
            "truncated",
            f"slowdown x {spread('EXT-ALL', 'slowdown'):,.0f}",
            spread("EXT-ALL", "slowdown") > 10
            and value("EXT-ALL", "fcfs", "slowdown")
            == max(value("EXT-ALL", p, "slowdown") for p in POLICIES),
            why=needs,
        ),
        Finding(
            "requirements",
            section,
            "requirements change more than failures do",
            "larger",
            f"waits x {by_needs:.2f} by requirements, x {by_failures:.2f} by failures",
            bool(by_needs > by_failures) if np.isfinite(by_failures) else None,
            why=needs,
        ),
        Finding(
            "CONS, requirements",
            section,
            "CONS has a smaller slowdown than EASY in EXT-REQ and EXT-ALL",
            "smaller",
            cons_said,
            cons == 2,
            why=needs,
        ),
        Finding(
            "CONS, none",
            section,
            "without requirements CONS has no smaller slowdown than EASY",
            "worse or equal",
            easy_said,
            easy == 2,
            why="the log here and in the document differ in jobs without a run time",
        ),
        Finding(
            "EASY's response",
            section,
            "EASY has a smaller response than CONS in BASIC and EXT-FAIL",
            "smaller",
            response_said,
            response == 2,
            why="the difference in BASIC is far below one per cent",
        ),
        Finding(
            "LS and CONS",
            section,
            "LS always improves CONS",
            "in all 12",
            f"in {improved} of 12",
            improved == 12,
        ),
        Finding(
            "LS is best",
            section,
            "LS is best in all but the response in BASIC and EXT-FAIL",
            "2 exceptions",
            "no exception" if not best else "; ".join(f"{p}: {n}" for p, n in best),
            set(best) <= {("BASIC", "response"), ("EXT-FAIL", "response")},
        ),
        Finding(
            "LS's deviation",
            section,
            "LS depends little on its seed",
            "very small",
            f"{100 * shaking:.1f} % of the slowdown at most",
            shaking < 0.1,
        ),
        Finding(
            "killed jobs",
            section,
            "killed jobs show no pattern",
            "none",
            "; ".join(
                f"{p}: " + ", ".join(f"{q} {k:.0f}" for q, k in zip(POLICIES, each, strict=True))
                for p, each in killed.items()
            ),
            np.argmin(killed["EXT-FAIL"]) != np.argmin(killed["EXT-ALL"]) or None,
            why="four numbers a problem; the smallest is not one policy's in both",
        ),
        Finding(
            "runtime",
            section,
            "the algorithms' run time grows with the problem",
            "grows",
            f"from BASIC to EXT-ALL for {slower} of {len(POLICIES)} policies",
            slower == len(POLICIES),
            why="processor time of the compiled loop",
        ),
    ]


@experiment("grid-2013", SOURCE, "MetaCentrum's log of 2013 with the real requirements of its jobs")
def real_requirements(given: Inputs) -> Report:
    """Run the log of 2013 with and without its jobs' requirements: processors per machine, and clusters."""
    from whesl.lab.readers import swf

    clusters = read(given.trace("metacentrum/wagap-2013.swf.machines"))
    path = given.trace("metacentrum/wagap-2013.swf.xz")
    log = swf.read(path)
    rows = simulation.chosen(log)
    wanted = cluster_eligibility.specified(log, text(path), rows, clusters)
    machines = grid(clusters)
    seeds = range(2 if given.quick else SEEDS)
    found: dict[tuple[str, str], Mean] = {}
    simulation.simulate(machines, simulation.jobs_of(log, rows, wanted), failure_records.NONE, "fcfs", 0)
    with given.progress.stage("grid, 2013", 2 * (3 + len(seeds))) as advance:
        for problem in ("BASIC", "EXT-REQ"):
            kinds = wanted if problem == "EXT-REQ" else cluster_eligibility.none(len(rows), len(clusters))
            work = simulation.jobs_of(log, rows, kinds)
            means = _by_policy(machines, work, failure_records.NONE, seeds, advance)
            found |= {(problem, policy): mean for policy, mean in means.items()}
    single = float((wanted.suits[wanted.kind].sum(axis=1) == 1).mean())
    slow = {key: mean.slowdown for key, mean in found.items()}
    grows = sum(slow["EXT-REQ", policy] > slow["BASIC", policy] for policy in POLICIES)
    findings = [
        Finding(
            "real requirements",
            "section 6.4",
            "requirements change the results of all policies for the worse",
            "large differences",
            f"slowdown grows for {grows} of 4 policies; "
            + ", ".join(f"{p} {slow['BASIC', p]:,.1f} to {slow['EXT-REQ', p]:,.1f}" for p in POLICIES),
            grows == 4,
            why=f"{100 * single:.0f} % of the jobs suit one of the two clusters alone",
        ),
        Finding(
            "CONS, requirements",
            "section 6.1",
            "CONS has a smaller slowdown than EASY with requirements",
            "smaller",
            f"{slow['EXT-REQ', 'cons']:,.1f} against {slow['EXT-REQ', 'easy']:,.1f}",
            slow["EXT-REQ", "cons"] < slow["EXT-REQ", "easy"],
        ),
        Finding(
            "LS and CONS",
            "section 6.1",
            "LS improves CONS",
            "smaller",
            f"{slow['EXT-REQ', 'ls']:,.1f} against {slow['EXT-REQ', 'cons']:,.1f}",
            slow["EXT-REQ", "ls"] < slow["EXT-REQ", "cons"],
        ),
    ]
    table = Table(
        "wagap-2013",
        "MetaCentrum 2013 (zewura, zegox)",
        COLUMNS,
        [row_of(*key, mean) for key, mean in found.items()],
    )
    values = {
        p: {q: found[p, q]._asdict() | {"seconds": None} for q in POLICIES} for p in ("BASIC", "EXT-REQ")
    }
    return Report(findings, [table], (), values)
