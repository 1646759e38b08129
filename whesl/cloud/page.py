"""The menu of plans as one HTML page: a table, and a picture of each schedule."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from importlib import resources
from xml.etree.ElementTree import Element

from whesl.cloud.core.plan_menu import Case, Offer
from whesl.cloud.core.plan_records import HOUR, Domain, Plan
from whesl.cloud.core.stage_pipeline import hours
from whesl.report import markup
from whesl.report.markup import el

_WIDTH, _LEFT, _RIGHT, _HEIGHT, _ROW = 640.0, 56.0, 24.0, 150.0, 10.0
_MOST_ROWS = 40
COLUMNS = (
    "deadline",
    "instances",
    "cost",
    "probability",
    "cluster, node-h",
    "cloud, node-h",
    "cloud alone",
    "saves",
    "ends",
)


def cells(case: Case, offer: Offer) -> tuple[str, ...]:
    """Return an offer as the texts of a row, in the order of ``COLUMNS``.

    Args:
        case: the inputs of planning, whose prices name the currency.
        offer: the offer for one deadline.
    """
    plan, currency = offer.plan, case.prices.currency
    length = plan.schedule.deadline - plan.schedule.start
    alone, saves = "-", "-"
    if offer.cloud_only is not None:
        alone = f"{offer.cloud_only:.2f}"
        if offer.cloud_only > 0:
            share = 1 - plan.expected_cost / offer.cloud_only
            more = f"nothing: {plan.expected_cost - offer.cloud_only:.2f} more"
            saves = f"{100 * share:.0f} %" if share >= 0 else more
    said = "-" if plan.probability is None else percent(plan.probability)
    return (
        hours(length),
        "spot" if plan.spot else "on demand",
        f"{plan.expected_cost:.2f} {currency}",
        said if offer.reached else f"{said} (less than asked)",
        f"{plan.cluster_hours:.1f}",
        f"{plan.cloud_hours:.1f}",
        alone,
        saves,
        f"{hours(offer.reserve)} before" if offer.reserve else "at it",
    )


def percent(probability: float) -> str:
    """Return a probability as text, never as 0 or 100 %, which no number of simulated courses proves."""
    whole = round(100 * probability)
    return "> 99 %" if whole >= 100 else "< 1 %" if whole <= 0 else f"{whole} %"


def html(case: Case, offers: Sequence[Offer], asked: float) -> str:
    """Return the page's HTML text, which needs no other files.

    Args:
        case: the workflow, prices and forecast.
        offers: the menu.
        asked: the requested probability.
    """
    tasks = sum(stage.tasks for stage in case.workflow.stages)
    facts = f"{tasks} tasks in {len(case.workflow.stages)} stages · prices of {case.prices.dated}"
    deadlines = {offer.plan.schedule.deadline for offer in offers}
    reached = {offer.plan.schedule.deadline for offer in offers if offer.reached}
    verdict = (
        f"{len(reached)} of {len(deadlines)} deadlines can be met with a probability of {100 * asked:.0f} %."
    )
    header = el(
        "header",
        el("p", "WHESL cloud: plans", class_="kicker"),
        el("h1", case.workflow.name),
        el("p", verdict, class_="verdict good" if len(reached) == len(deadlines) else "verdict warn"),
        el("p", facts, class_="facts"),
    )
    rows = (el("tr", *(el("td", cell) for cell in cells(case, offer))) for offer in offers)
    head = el("tr", *(el("th", column, scope="col") for column in COLUMNS))
    table = el("table", el("thead", head), el("tbody", *rows))
    menu = el(
        "section",
        el("h2", "Menu"),
        el("div", table, class_="wide", role="region", aria_label="menu", tabindex="0"),
        el("p", "Cost is the mean over the simulated courses, with what backs up the cluster's nodes."),
    )
    notes = el(
        "section",
        el("h2", "What it rests on"),
        el("ul", *(el("li", note) for note in case.notes), class_="plain"),
    )
    sections = (_section(case, offer) for offer in offers)
    made = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(case.start))
    footer = el("footer", el("p", f"Planned at {made}."))
    style = resources.files("whesl.cloud").joinpath("page.css").read_text(encoding="utf-8")
    main = el("main", header, menu, *sections, notes)
    return markup.page(f"{case.workflow.name}: plans", main, footer, style=style)


def _section(case: Case, offer: Offer) -> Element:
    plan = offer.plan
    length = plan.schedule.deadline - plan.schedule.start
    legend = el(
        "ul",
        el("li", "cluster", class_="hpc"),
        el("li", "cloud", class_="cloud"),
        el("li", "a stage's time", class_="window"),
        class_="legend",
    )
    counted = (
        f"It counts on the {100 * plan.schedule.quantile:.0f} % quantile of the free nodes and backs up"
        f" {100 * plan.settings.backup:.0f} % of those that it asks for."
    )
    figures = [
        el("figure", el("figcaption", "Nodes by the hour"), _nodes(plan)),
        el("figure", el("figcaption", "Stages"), _stages(case, plan)),
    ]
    name = f"Deadline {hours(length)}" + (", spot instances" if plan.spot else "")
    return el("section", el("h2", name), el("p", counted), legend, *figures)


def _nodes(plan: Plan) -> Element:
    """Return the nodes of each hour as stacked bars."""
    count = _count(plan)
    sums = {domain: [0] * count for domain in Domain}
    for one in plan.schedule.assignments:
        sums[one.domain][one.hour] += one.nodes
    most = max(1, *(sum(pair) for pair in zip(*sums.values(), strict=True)))
    wide, scale = (_WIDTH - _LEFT) / count, _HEIGHT / most
    parts: list[Element] = []
    for hour in range(count):
        top = _HEIGHT
        for domain, name in ((Domain.HPC, "hpc"), (Domain.CLOUD, "cloud")):
            tall = sums[domain][hour] * scale
            top -= tall
            if tall:
                title = el("title", f"hour {hour + 1}: {sums[domain][hour]} nodes, {name}")
                parts.append(_rect(_LEFT + hour * wide + 0.5, top, max(0.5, wide - 1), tall, name, title))
    parts.append(el("line", x1=f"{_LEFT}", x2=f"{_WIDTH}", y1=f"{_HEIGHT}", y2=f"{_HEIGHT}", class_="axis"))
    parts.append(el("text", f"{most}", x=f"{_LEFT - 6}", y="14", text_anchor="end"))
    parts.append(el("text", "0", x=f"{_LEFT - 6}", y=f"{_HEIGHT}", text_anchor="end"))
    step = max(1, math.ceil(count / 6))
    for hour in range(0, count + 1, step):
        place = _LEFT + hour * wide
        parts.append(el("text", f"{hour} h", x=f"{place:.1f}", y=f"{_HEIGHT + 22}", text_anchor="middle"))
    label = f"nodes by the hour: at most {most}, {count} hours"
    return _svg(_HEIGHT + 28, label, parts)


def _count(plan: Plan) -> int:
    """Return the number of hours that a plan's pictures show."""
    return math.ceil((plan.schedule.deadline - plan.schedule.start) / HOUR - 1e-9)


def _stages(case: Case, plan: Plan) -> Element:
    """Return a picture of the stages' windows: a name and a bar for each, aligned with the nodes' hours."""
    scale = (_WIDTH - _LEFT) / (_count(plan) * HOUR)
    rows = []
    for window in plan.schedule.windows[:_MOST_ROWS]:
        tasks = case.workflow.stage(window.stage).tasks
        wide = max(1.0, (window.end - window.start) * scale)
        bar = _rect(_LEFT + window.start * scale, 0, wide, _ROW, "window")
        label = f"{window.stage}: from {hours(window.start)} to {hours(window.end)}"
        drawn = el(
            "svg",
            bar,
            viewBox=f"0 0 {_WIDTH + _RIGHT:.0f} {_ROW:.0f}",
            role="img",
            aria_label=label,
            preserveAspectRatio="none",
        )
        rows.append(el("div", el("p", f"{window.stage} ({tasks})"), drawn, class_="stage"))
    if (more := len(plan.schedule.windows) - len(rows)) > 0:
        rows.append(el("p", f"and {more} more"))
    return el("div", *rows)


def _rect(left: float, top: float, wide: float, tall: float, name: str, *children: Element) -> Element:
    return el(
        "rect",
        *children,
        x=f"{left:.2f}",
        y=f"{top:.2f}",
        width=f"{wide:.2f}",
        height=f"{tall:.2f}",
        class_=name,
    )


def _svg(tall: float, label: str, parts: Sequence[Element]) -> Element:
    return el("svg", *parts, viewBox=f"0 0 {_WIDTH + _RIGHT:.0f} {tall:.0f}", role="img", aria_label=label)
