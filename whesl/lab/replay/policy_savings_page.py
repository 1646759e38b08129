"""The results of a replay for an administrator: a page, JSON, tables and figures."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from whesl.lab.replay.policy_comparison import Answer, Replay
from whesl.lab.replay.savings_bootstrap import PerJob, Saving
from whesl.lab.results.report_figures import Figure, Series
from whesl.lab.results.report_page import Lines, Page, Section
from whesl.lab.results.report_tables import Table

_MEASURES = {"kills": "fewer jobs killed", "lost": "fewer node-hours lost", "wait": "less waiting (h, mean)"}


def summary(found: Replay) -> dict[str, Any]:
    """Return all results of a replay as a mapping for JSON."""
    case = found.case
    return {
        "machine": case.title,
        "nodes": len(case.names),
        "jobs": len(case.work.job),
        "compared": len(found.compared),
        "failures": len(case.history),
        "begin": float(case.work.submit[0]),
        "split": found.split,
        "seed": found.seed,
        "recorded": _totals(_recorded(found)),
        "today": {"candidate": str(found.today.candidate), **_totals(found.today.jobs)},
        "candidates": [
            {
                "candidate": str(answer.candidate),
                "foresees": answer.candidate.foresees,
                **_totals(answer.jobs),
                "saved": {name: saving._asdict() for name, saving in answer.saved.items()},
            }
            for answer in found.others
        ],
        "notes": list(case.notes),
    }


def page(found: Replay) -> Page:
    """Return the page of a replay."""
    case = found.case
    begin, end = (_day(time) for time in (case.work.submit[0], case.history.finish))
    said, tone = _verdict(found)
    today = found.today
    recorded = _totals(_recorded(found))
    totals = _totals(today.jobs)
    tiles = [
        (
            "jobs killed by nodes",
            f"{recorded['kills']:,.0f}",
            f"recorded; {totals['kills']:,.0f} in the replay",
        ),
        ("node-hours lost", _number(recorded["lost"]), f"recorded; {_number(totals['lost'])} in the replay"),
        ("mean waiting", _hours(recorded["wait"]), f"recorded; {_hours(totals['wait'])} in the replay"),
    ]
    saved = Section(
        "What would have been saved",
        [
            f"Against {today.candidate} in the same replay. Intervals are of 95 %: whole days (weeks, of "
            "long logs) were drawn again, since jobs of one day share their queue and their failures."
            + ("" if _has_intervals(found) else " This log is too short for intervals."),
            savings_table(found),
            *figures(found),
        ],
    )
    close = Section(
        "How close the replay is to what happened",
        [
            "The replay knows no priorities, reservations or partitions, nor users who wait for results. "
            "Where it is far from what was recorded, only the differences between policies tell something.",
            Table(
                "replay-and-record",
                "",
                ("measure", "recorded", f"replayed, {today.candidate}"),
                [
                    ("jobs killed by a node's failure", round(recorded["kills"]), round(totals["kills"])),
                    ("node-hours lost with them", recorded["lost"], totals["lost"]),
                    ("mean waiting (h)", recorded["wait"], totals["wait"]),
                ],
            ),
        ],
    )
    method = [
        f"Predictors were fitted to what had failed until {_time(found.split)}. Jobs submitted later are "
        f"compared: {len(found.compared):,} of {len(case.work.job):,}.",
        "Only the predictors exact and aoa know the future: they are bounds, not offers.",
        "A job runs as long as its last attempt did. One that a failure ended for good gets the median run "
        "time of completed jobs that ran longer, within its limit.",
        "A killed job waits again at its old place, and starts from its last checkpoint; from its beginning "
        "where the resources name no interval between checkpoints.",
        "Each job has whole nodes. Drained nodes kill no job and stay in use here.",
        f"Seed {found.seed}; 2,000 samples of {_blocks(found)} blocks.",
    ]
    sections = [saved, close, Section("How it was done", [Lines(method)])]
    if case.notes:
        sections.append(Section("What was left out of the logs", [Lines(case.notes)]))
    facts = [
        f"{begin} to {end}",
        f"{len(case.names):,} nodes",
        f"{len(case.history):,} failures",
        f"{len(case.work.job):,} jobs",
    ]
    return Page("WHESL lab: replay", case.title, said, tone, facts, tiles, sections)


def savings_table(found: Replay) -> Table:
    """Return the table of each candidate's savings with confidence intervals."""
    columns = ["policy", *(name for title in _MEASURES.values() for name in (title, "95 % interval"))]
    rows = []
    for answer in found.others:
        row: list[Any] = [
            f"{answer.candidate} (knows the future)" if answer.candidate.foresees else str(answer.candidate)
        ]
        for name in _MEASURES:
            saving = answer.saved[name]
            row += [saving.saved, _interval(saving)]
        rows.append(row)
    return Table("savings", "", columns, rows)


def figures(found: Replay) -> list[Figure]:
    """Return one figure per measure, with the savings of all candidates."""
    made = []
    for name, title in _MEASURES.items():
        savings = [answer.saved[name] for answer in found.others]
        if not savings:
            continue
        x = [str(answer.candidate) for answer in found.others]
        bounded = all(math.isfinite(saving.low) for saving in savings)
        series = Series(
            "",
            x,
            [saving.saved for saving in savings],
            [saving.low for saving in savings] if bounded else (),
            [saving.high for saving in savings] if bounded else (),
        )
        made.append(
            Figure(
                f"saved-{name}",
                f"{title[0].upper()}{title[1:]} than under {found.today.candidate}",
                "policy",
                title,
                [series],
                kind="bars",
            )
        )
    return made


def best(found: Replay) -> Answer | None:
    """Return the answer that saves most node-hours, among candidates that do not see the future."""
    usable = [answer for answer in found.others if not answer.candidate.foresees]
    return max(usable, key=lambda answer: answer.saved["lost"].saved, default=None)


def _verdict(found: Replay) -> tuple[str, Literal["good", "warn", "bad", "calm"]]:
    answer = best(found)
    if answer is None:
        return f"{found.today.candidate} was replayed alone.", "calm"
    saving, wait, kills = (answer.saved[name] for name in ("lost", "wait", "kills"))
    said = (
        f"{answer.candidate} would have lost {_number(saving.other)} node-hours instead of "
        f"{_number(saving.today)}, and {kills.other:,.0f} jobs would have been killed instead of "
        f"{kills.today:,.0f}; mean waiting {_hours(abs(wait.saved))} {'less' if wait.saved >= 0 else 'more'}."
    )
    if not math.isfinite(saving.low):
        return f"{said} The log is too short to tell that from chance.", "calm"
    if saving.low <= 0 <= saving.high:
        return f"{said} In node-hours that cannot be told from chance.", "calm"
    return said, "good" if saving.saved > 0 else "bad"


def _recorded(found: Replay) -> PerJob:
    from whesl.lab.replay.savings_bootstrap import PerJob

    recorded, chosen = found.case.recorded, found.compared
    return PerJob(
        recorded.kills[chosen].astype(np.float64),
        recorded.lost[chosen] / 3600.0,
        recorded.wait[chosen] / 3600.0,
    )


def _totals(jobs: PerJob) -> dict[str, float]:
    started = jobs.wait[np.isfinite(jobs.wait)]
    return {
        "kills": float(jobs.kills.sum()),
        "lost": float(jobs.lost.sum()),
        "wait": float(started.mean()) if len(started) else math.nan,
    }


def _has_intervals(found: Replay) -> bool:
    return all(math.isfinite(saving.low) for answer in found.others for saving in answer.saved.values())


def _blocks(found: Replay) -> int:
    return found.others[0].saved["lost"].blocks if found.others else 0


def _interval(saving: Saving) -> str:
    if not math.isfinite(saving.low):
        return "-"
    return f"{_number(saving.low)} to {_number(saving.high)}"


def _number(value: float) -> str:
    if not math.isfinite(value):
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.3g}"


def _hours(hours: float) -> str:
    if not math.isfinite(hours):
        return "-"
    for unit, length in (("d", 24.0), ("h", 1.0), ("min", 1 / 60)):
        if abs(hours) >= 1.5 * length:
            return f"{hours / length:,.3g} {unit}"
    return f"{hours * 3600:,.3g} s"


def _day(time: float) -> str:
    return str(np.datetime64(int(time), "s"))[:10]


def _time(time: float) -> str:
    return str(np.datetime64(int(time), "s")).replace("T", " ") + " UTC"
