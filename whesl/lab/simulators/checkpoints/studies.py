"""Studies of a machine and its applications: overheads, lead times, accuracy, the size of a migration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from whesl.lab.execution.progress_interface import Progress
from whesl.lab.results.report_figures import Figure, Series
from whesl.lab.results.report_tables import Table
from whesl.lab.simulators.checkpoints.evaluate import Setting, Summary, evaluate, reduction
from whesl.lab.simulators.checkpoints.machine_and_application_files import Application, Failures, Machine
from whesl.lab.simulators.checkpoints.published_values import MODELS

ALL = (*MODELS, "P2+")


@dataclass(frozen=True, slots=True)
class Bench:
    """The parameters that all studies share.

    Attributes:
        machine: the machine that applications run on.
        seed: random seed of all runs.
        runs: number of runs of each setting.
        progress: progress display, advanced with each setting.
        jobs: number of threads; None for one per core.
    """

    machine: Machine
    seed: int
    runs: int
    progress: Progress
    jobs: int | None = None

    def run(self, about: str, settings: Sequence[Setting]) -> dict[Setting, Summary]:
        """Run each distinct setting once.

        Args:
            about: the stage's name in the progress display.
            settings: the settings.
        """
        unique = list(dict.fromkeys(settings))
        with self.progress.stage(about, len(unique)) as advance:
            found = evaluate(
                self.machine, unique, self.seed, self.runs, lambda _done, _of: advance(1), self.jobs
            )
        return dict(zip(unique, found, strict=True))


def overheads(
    bench: Bench,
    applications: Sequence[Application],
    failures: Failures,
    *,
    whole: bool = False,
    recorded: tuple[float, ...] = (),
) -> dict[tuple[str, str], Summary]:
    """Run every application under every model (Figures 2.10, 2.15 and 2.16).

    Args:
        bench: machine and parameters.
        applications: the applications.
        failures: the distribution of times between failures.
        whole: whether the machine has the distribution unchanged, not scaled by the number of nodes.
        recorded: times between failures in place of the distribution, in seconds.

    Returns:
        The summary of each (application, model).
    """
    settings = [
        Setting(application, failures, model, whole=whole, recorded=recorded)
        for application in applications
        for model in ALL
    ]
    found = bench.run(f"overheads, {failures.name}", settings)
    return {(setting.application.name, setting.model): found[setting] for setting in settings}


def overhead_table(found: dict[tuple[str, str], Summary], name: str, title: str) -> Table:
    """Return overheads as a table: hours with 95 % confidence intervals, and the reduction against B.

    Args:
        found: summaries by (application, model).
        name: base name of the table's files.
        title: the table's title.
    """
    rows = []
    for (application, model), summary in found.items():
        base = found[application, "B"]
        rows.append(
            (
                application,
                model,
                round(summary.overhead_hours[0], 4),
                round(summary.overhead_hours[1], 4),
                round(summary.checkpoint_hours, 4),
                round(summary.recomputation_hours, 4),
                round(summary.recovery_hours, 4),
                round(100 * reduction(base, summary), 1),
                round(summary.met[0], 3),
                round(summary.met[1], 3),
                round(summary.failures, 2),
                round(summary.interval_hours, 3),
            )
        )
    columns = (
        "application",
        "model",
        "overhead (h)",
        "± (h)",
        "checkpoints (h)",
        "recomputation (h)",
        "recovery (h)",
        "reduced against B (%)",
        "failures met",
        "±",
        "failures a run",
        "interval (h)",
    )
    return Table(name, title, columns, rows)


def overhead_figure(found: dict[tuple[str, str], Summary], name: str, title: str) -> Figure:
    """Return overheads as bars, in per cent of model B's overhead.

    Args:
        found: summaries by (application, model).
        name: base name of the figure's files.
        title: the figure's title.
    """
    names = list(dict.fromkeys(application for application, _ in found))
    models = list(dict.fromkeys(model for _, model in found))
    series = []
    for model in models:
        base = [found[application, "B"].overhead_hours[0] for application in names]
        mean = [found[application, model].overhead_hours[0] for application in names]
        half = [found[application, model].overhead_hours[1] for application in names]
        series.append(
            Series(
                model,
                names,
                [100 * value / of for value, of in zip(mean, base, strict=True)],
                [100 * (value - wide) / of for value, wide, of in zip(mean, half, base, strict=True)],
                [100 * (value + wide) / of for value, wide, of in zip(mean, half, base, strict=True)],
            )
        )
    return Figure(name, title, "application", "overhead (% of model B's)", series, kind="bars")


def lead_changes(
    bench: Bench,
    applications: Sequence[Application],
    failures: Failures,
    changes: Sequence[float],
    models: Sequence[str] = ("M1", "M2", "P1", "P2"),
) -> dict[tuple[str, str, float], Summary]:
    """Run applications with longer and shorter lead times (Tables 2.2 and 2.4, Figures 2.6 to 2.14).

    Args:
        bench: machine and parameters.
        applications: the applications.
        failures: the distribution of times between failures.
        changes: relative changes of the lead times.
        models: the checkpoint models.

    Returns:
        The summary of each (application, model, change).
    """
    settings = [
        Setting(application, failures, model, change)
        for application in applications
        for model in models
        for change in changes
    ]
    found = bench.run("lead times", settings)
    return {(item.application.name, item.model, item.change): found[item] for item in settings}


def lead_table(base: dict[tuple[str, str], Summary], found: dict[tuple[str, str, float], Summary]) -> Table:
    """Return a table of the reductions against B under changed lead times, in per cent.

    Args:
        base: summaries by (application, model), with model B.
        found: summaries by (application, model, change).
    """
    rows = [
        (
            name,
            model,
            f"{change:+.0%}",
            round(100 * reduction(base[name, "B"], summary), 1),
            round(summary.met[0], 3),
            round(summary.migrated, 3),
        )
        for (name, model, change), summary in found.items()
    ]
    columns = ("application", "model", "lead times", "reduced against B (%)", "failures met", "by migration")
    return Table("lead-times", "Longer and shorter lead times", columns, rows)


def lead_figure(base: dict[tuple[str, str], Summary], found: dict[tuple[str, str, float], Summary]) -> Figure:
    """Return lines of the reductions against B under changed lead times, for the most expensive application.

    Args:
        base: summaries by (application, model), with model B.
        found: summaries by (application, model, change).
    """
    name = max(dict.fromkeys(key[0] for key in found), key=lambda one: base[one, "B"].overhead_hours[0])
    changes = sorted({change for _, _, change in found})
    series = [
        Series(
            model,
            [100 * change for change in changes],
            [100 * reduction(base[name, "B"], found[name, model, change]) for change in changes],
        )
        for model in dict.fromkeys(key[1] for key in found)
    ]
    return Figure(
        "lead-times",
        f"{name}: overhead reduced against B",
        "change of lead times (%)",
        "reduced (%)",
        series,
    )


def false_negatives(
    bench: Bench,
    applications: Sequence[Application],
    failures: Failures,
    shares: Sequence[float],
) -> dict[tuple[str, str, float], Summary]:
    """Run applications with a share of failures that are not predicted (observation 9).

    Args:
        bench: machine and parameters.
        applications: the applications.
        failures: the distribution of times between failures.
        shares: shares of failures that are not predicted.

    Returns:
        The summary of each (application, model, share).
    """
    settings = [
        Setting(application, failures, model, recall=1.0 - share)
        for application in applications
        for model in ALL
        for share in shares
    ]
    found = bench.run("false negatives", settings)
    return {
        (item.application.name, item.model, round(1.0 - (item.recall or 0.0), 6)): found[item]
        for item in settings
    }


def migration_sizes(
    bench: Bench, applications: Sequence[Application], failures: Failures, factors: Sequence[float]
) -> dict[tuple[str, str, float], Summary]:
    """Run applications whose migrations move more or less data (Figure 2.17).

    Args:
        bench: machine and parameters.
        applications: the applications.
        failures: the distribution of times between failures.
        factors: data that a migration moves, in checkpoints.

    Returns:
        The summary of each (application, model, factor); models B and P1 have factor 0.
    """
    settings = [
        Setting(application, failures, "M2", factor=factor)
        for application in applications
        for factor in factors
    ]
    settings += [
        Setting(application, failures, model, factor=0.0)
        for application in applications
        for model in ("B", "P1")
    ]
    plain = {item: replace(item, factor=None) if item.factor == 0.0 else item for item in settings}
    found = bench.run("sizes of a migration", list(plain.values()))
    return {(item.application.name, item.model, item.factor or 0.0): found[plain[item]] for item in settings}


def best(found: dict[tuple[str, str], Summary]) -> dict[str, tuple[str, float, bool]]:
    """Return each application's best model, its lead as a share of B's overhead, and certainty.

    The lead is the distance to the second best model; it is certain if the 95 % confidence interval of the
    difference, run by run, lies above zero.
    """
    answer = {}
    for application in dict.fromkeys(name for name, _ in found):
        ranked = sorted(
            ((model, summary) for (name, model), summary in found.items() if name == application),
            key=lambda item: item[1].overhead_hours[0],
        )
        (model, first), (_, second) = ranked[0], ranked[1]
        apart = second.each - first.each
        gap = float(apart.mean())
        sure = gap > 1.96 * float(apart.std(ddof=1)) / len(apart) ** 0.5
        answer[application] = (model, gap / found[application, "B"].overhead_hours[0], sure)
    return answer
