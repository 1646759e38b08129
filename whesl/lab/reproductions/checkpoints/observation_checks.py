"""Reproduction of the dissertation's numeric observations (chapter 2)."""

from __future__ import annotations

from whesl.lab.reproductions.checkpoints.reproduce import SOURCE, bench_of
from whesl.lab.reproductions.registry import Finding, Inputs, Report, experiment
from whesl.lab.results.report_figures import Figure, Series
from whesl.lab.results.report_tables import Table
from whesl.lab.simulators.checkpoints import studies
from whesl.lab.simulators.checkpoints.evaluate import Summary, reduction
from whesl.lab.simulators.checkpoints.machine_and_application_files import Application

SMALL = ("GYRO", "POP", "VULCAN")


@experiment(
    "ckpt-observations", SOURCE, "The observations with numbers on lead times, accuracy and migration"
)
def observations(given: Inputs) -> Report:
    """Run the studies of observations 1, 3, 4, 5, 6, 8 and 9."""
    bench, applications = bench_of(given)
    titan = bench.machine.failures[0]
    base = studies.overheads(bench, list(applications.values()), titan)
    findings = [*_lead_findings(bench, applications, base), *_checkpoint_findings(base, applications)]
    sizes = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0)
    moved = studies.migration_sizes(bench, [applications["CHIMERA"], applications["XGC"]], titan, sizes)
    for name, printed in (("CHIMERA", 1.0), ("XGC", 2.5)):
        p1 = moved[name, "P1", 0.0].overhead_hours[0]
        worse = [size for size in sizes if moved[name, "M2", size].overhead_hours[0] > p1]
        measured = f"{min(worse):g} x" if worse else "more than 3 x"
        findings.append(
            Finding(
                f"migration size, {name}",
                "observation 8",
                f"{name}: P1 beats M2 while a migration moves more than this many checkpoints",
                f"{printed:g} x",
                measured,
                bool(worse) and abs(min(worse) - printed) <= 0.5,
                why="" if worse else "M2 is better here at each size: its checkpoints are fewer",
            )
        )
    shares = (0.0, 0.1, 0.2, 0.3, 0.4)
    missed = studies.false_negatives(bench, list(applications.values()), titan, shares)
    findings += _accuracy_findings(missed, applications)
    rows = [
        (
            name,
            model,
            f"{share:.0%}",
            round(100 * reduction(missed[name, "B", share], summary), 1),
            round(100 * _recomputation_saved(missed, name, model, share), 1),
        )
        for (name, model, share), summary in missed.items()
        if model != "B"
    ]
    columns = ("application", "model", "not predicted", "overhead reduced (%)", "recomputation reduced (%)")
    table = Table("false-negatives", "Failures that nobody predicts", columns, rows)
    series = [
        Series(
            f"{name} {model}",
            [100 * share for share in shares],
            [100 * reduction(missed[name, "B", share], missed[name, model, share]) for share in shares],
            dashed=model == "P2",
        )
        for name in ("CHIMERA", "XGC", "POP")
        for model in ("P2", "P2+")
    ]
    figure = Figure(
        "false-negatives",
        "P2 with (2.2), dashed, and with the predictor's errors in the interval (P2+)",
        "failures that nobody predicts (%)",
        "overhead reduced against B (%)",
        series,
    )
    return Report(findings, [table], [figure], {"findings": {item.name: item.measured for item in findings}})


def _lead_findings(
    bench: studies.Bench, applications: dict[str, Application], base: dict[tuple[str, str], Summary]
) -> list[Finding]:
    titan = bench.machine.failures[0]
    changes = (-0.9, -0.5, -0.1, 0.0, 0.1, 0.5, 0.9)
    found = studies.lead_changes(bench, list(applications.values()), titan, changes)

    def saved(name: str, model: str, change: float) -> float:
        mean = found[name, model, change].recomputation_hours
        return 100 * (1 - mean / base[name, "B"].recomputation_hours)

    small = [saved(name, "M1", -0.5) for name in SMALL]
    p1 = saved("CHIMERA", "P1", -0.5)
    m2 = [
        100 * reduction(base["CHIMERA", "B"], found["CHIMERA", "M2", change])
        for change in (-0.1, 0.0, 0.1, 0.5)
    ]
    differences = {
        name: [
            found[name, "P2", change].migrated
            - (found[name, "P2", change].met[0] - found[name, "P2", change].migrated)
            for change in changes
        ]
        for name in applications
    }
    least = min(min(differences[name]) for name in SMALL)
    turn = {
        name: next(
            (
                change
                for change, value in zip(changes[::-1], differences[name][::-1], strict=True)
                if value < 0
            ),
            None,
        )
        for name in ("CHIMERA", "XGC", "S3D")
    }
    order = [-9.0 if change is None else change for change in turn.values()]
    return [
        Finding(
            "safeguard, small codes",
            "observation 1",
            "M1 removes recomputation of small codes even with lead times shorter by half",
            "85 %",
            f"{min(small):.0f} to {max(small):.0f} %",
            min(small) >= 75,
        ),
        Finding(
            "migration, CHIMERA",
            "observation 1",
            "M2 on CHIMERA gains 8 to 10 points at +10 %, nothing more beyond, and loses all at -10 %",
            "+8 to +10 points, then 0; none at -10 %",
            f"{m2[2] - m2[1]:+.1f}, then {m2[3] - m2[2]:+.1f}; {m2[0]:.1f} % left at -10 %",
            8 <= m2[2] - m2[1] <= 10 and abs(m2[3] - m2[2]) <= 2 and m2[0] <= 5,
            why="between the calibrated points the curve of lead times is a line; the printed one has a step",
        ),
        Finding(
            "p-ckpt, CHIMERA",
            "observation 3",
            "P1 still saves recomputation on CHIMERA with lead times shorter by half",
            "more than 0",
            f"{p1:.0f} %",
            p1 > 0,
        ),
        Finding(
            "migration leads, small codes",
            "observation 4",
            "small codes: migration's share of failures less p-ckpt's, lead times from -90 to +90 %",
            "above 75 %",
            f"at least {100 * least:.0f} %",
            least >= 0.75,
        ),
        Finding(
            "p-ckpt takes over",
            "observation 4",
            "as lead times shrink p-ckpt takes over first for CHIMERA, then XGC, then S3D",
            "CHIMERA, XGC, S3D",
            ", ".join(
                f"{name} at {turn[name]:+.0%}" if turn[name] is not None else f"{name} not within -90 %"
                for name in turn
            ),
            order[0] > order[1] > order[2] or (order[0] >= order[1] >= order[2] and order[0] > order[2]),
        ),
    ]


def _checkpoint_findings(
    base: dict[tuple[str, str], Summary], applications: dict[str, Application]
) -> list[Finding]:
    def fewer(name: str, model: str) -> float:
        return 100 * (1 - base[name, model].checkpoint_hours / base[name, "B"].checkpoint_hours)

    p2 = [fewer(name, "P2") for name in applications]
    chimera = fewer("CHIMERA", "P2"), fewer("CHIMERA", "M2")
    stretch = [
        100 * (base[name, "P2"].interval_hours / base[name, "B"].interval_hours - 1) for name in applications
    ]
    more = [
        100
        * (base[name, "P2"].recomputation_hours - base[name, "P1"].recomputation_hours)
        / base[name, "B"].recomputation_hours
        for name in applications
    ]
    recovery = [
        100 * base[name, "P1"].recovery_hours / base[name, "P1"].overhead_hours[0] for name in applications
    ]
    return [
        Finding(
            "recovery under P1",
            "observation 2",
            "recovery's share of P1's overhead",
            "2.5 to 6 %",
            f"{min(recovery):.1f} to {max(recovery):.1f} %",
            max(recovery) <= 6 and min(recovery) >= 2.5,
            why="small codes read back in less than a second here: their share is near 0",
        ),
        Finding(
            "checkpoints under P2",
            "observation 5",
            "P2 reduces checkpoint overhead",
            "42 to 70 %",
            f"{min(p2):.0f} to {max(p2):.0f} %",
            abs(min(p2) - 42) <= 5 and abs(max(p2) - 70) <= 5,
            why="p-ckpts, true and false, are counted as checkpoints; they weigh most for CHIMERA",
        ),
        Finding(
            "checkpoints, CHIMERA",
            "observation 5",
            "CHIMERA: checkpoint overhead reduced by P2, and by M2",
            "42 and 34 %",
            f"{chimera[0]:.0f} and {chimera[1]:.0f} %",
            chimera[0] > chimera[1],
            why="P2 pays for p-ckpts, which M2 does not take, and ends only a little earlier",
        ),
        Finding(
            "interval",
            "observation 6",
            "(2.2) makes the interval longer",
            "54 to 340 %",
            f"{min(stretch):.0f} to {max(stretch):.0f} %",
            abs(min(stretch) - 54) <= 15 and abs(max(stretch) - 340) <= 40,
        ),
        Finding(
            "recomputation, P2 above P1",
            "observation 6",
            "recomputation is higher under P2 than under P1, in percent of B's",
            "11 to 27 points",
            f"{min(more):.0f} to {max(more):.0f} points",
            abs(min(more) - 11) <= 5 and abs(max(more) - 27) <= 5,
            why="small codes have the longest intervals, and lose most at a failure that nobody predicted",
        ),
    ]


def _recomputation_saved(
    missed: dict[tuple[str, str, float], Summary], name: str, model: str, share: float
) -> float:
    return 1 - missed[name, model, share].recomputation_hours / missed[name, "B", share].recomputation_hours


def _accuracy_findings(
    missed: dict[tuple[str, str, float], Summary], applications: dict[str, Application]
) -> list[Finding]:
    printed = {"M2": (91, 180), "P2": (71, 174), "M1": (48, 54), "P1": (35, 40)}
    found = []
    for model, (low, high) in printed.items():
        falls = []
        for name in applications:
            first, last = (_recomputation_saved(missed, name, model, share) for share in (0.0, 0.4))
            if first > 0.1:  # only applications with savings above 10 %
                falls.append(100 * (first - last) / first)
        found.append(
            Finding(
                f"false negatives, {model}",
                "observation 9",
                f"{model}: recomputation savings fall as false negatives rise to 40 %",
                f"by {low} to {high} %",
                f"by {min(falls):.0f} to {max(falls):.0f} %",
                abs(min(falls) - low) <= 20 and abs(max(falls) - high) <= 20,
                why="codes that save less than 10 % are left out; within 20 points counts as holding",
            )
        )
    better = {
        name: reduction(missed[name, "B", 0.4], missed[name, "P2+", 0.4])
        - reduction(missed[name, "B", 0.4], missed[name, "P2", 0.4])
        for name in applications
    }
    lost = sum(
        missed[name, "P2+", 0.4].overhead_hours[0] <= missed[name, "P2", 0.4].overhead_hours[0]
        for name in applications
    )
    found.append(
        Finding(
            "errors in the interval",
            "future work of section 2.7",
            "with the predictor's errors in its interval P2 costs less at 40 % false negatives",
            "for all six codes",
            f"for {lost} of {len(applications)}, by "
            f"{100 * min(better.values()):.0f} to {100 * max(better.values()):.0f} points of B's overhead",
            lost == len(applications),
            why="what is left is chance: more runs would tell" if lost < len(applications) else "",
        )
    )
    return found
