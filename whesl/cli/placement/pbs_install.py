"""``whesl placement install`` and ``remove`` for PBS."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from whesl.cli.placement.change_confirmation import confirmed

if TYPE_CHECKING:
    from pathlib import Path

    from whesl.placement.site.pbs.hook_installation import Hook, Plan


def install(
    predictions: Path,
    packages: str,
    *,
    act: bool,
    share: float,
    despite: str | None,
    dry_run: bool,
    yes: bool,
) -> int:
    """Show the changes, ask, and make them; return the exit status.

    Args:
        predictions: the file of the predictions.
        packages: directory in which PBS's Python finds WHESL; "" for that of this process.
        act: whether jobs leave nodes out.
        share: the largest share of nodes that they leave out.
        despite: the verdict of a model that acts without a positive one; None for none.
        dry_run: whether to show the changes only.
        yes: whether to make them without asking.
    """
    # Imported only here, since it needs the extra.
    from whesl.placement.site.pbs import hook_installation

    chosen = hook_installation.options(predictions, packages, acts=act, share=share, despite=despite)
    hook = _hook()
    plan = hook.plan_install(chosen)
    if _asked(plan, "the hook is installed", dry_run=dry_run, yes=yes):
        hook.install(plan, chosen)
        click.echo("installed; nodes are chosen within a minute")
    return 1 if plan.problems else 0


def remove(*, dry_run: bool, yes: bool) -> int:
    """Show the changes, ask, and make them; return the exit status.

    Args:
        dry_run: whether to show the changes only.
        yes: whether to make them without asking.
    """
    hook = _hook()
    plan = hook.plan_remove()
    if _asked(plan, "the hook is not installed", dry_run=dry_run, yes=yes):
        kept = hook.remove(plan)
        click.echo("removed")
        if kept:
            click.echo(
                f"PBS keeps {', '.join(kept)} while its history has jobs that asked for them: call it again"
            )
    return 0


def _hook() -> Hook:
    from whesl.placement.site.pbs import hook_installation

    return hook_installation.Hook(os.environ)


def _asked(plan: Plan, already: str, *, dry_run: bool, yes: bool) -> bool:
    """Show a plan and return whether its changes shall be made (``confirmed``)."""
    for problem in plan.problems:
        click.echo(f"problem: {problem}", err=True)
    for line in plan.lines:
        click.echo(f"qmgr: {line}")
    return confirmed(plan.lines, plan.problems, already, dry_run=dry_run, yes=yes)
