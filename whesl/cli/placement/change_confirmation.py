"""Whether the changes of an installation that were shown shall be made."""

from __future__ import annotations

from collections.abc import Collection

import click

from whesl.model.errors import RefusedError


def confirmed(
    changes: Collection[object], problems: Collection[str], already: str, *, dry_run: bool, yes: bool
) -> bool:
    """Return whether to make the changes. Raises RefusedError for problems, except in a dry run.

    Args:
        changes: the changes that were shown.
        problems: what prevents the changes; shown before, too.
        already: the reason why there is nothing to change, for a sentence.
        dry_run: whether to show the changes only.
        yes: whether to make the changes without asking.
    """
    if dry_run:
        return False
    if problems:
        raise RefusedError("nothing was changed", hint="see the problems above")
    if not changes:
        click.echo(f"nothing to change: {already}")
        return False
    if not yes:
        click.confirm("Make these changes?", abort=True)
    return True
