"""The user's agreement before any instance costs money."""

from __future__ import annotations

import sys

import click

from whesl.model.errors import UsageError

PAID = ("ec2", "slurm")  # clouds whose instances cost money


def may_pay(what: str) -> None:
    """Ask at the terminal whether a run may start instances.

    Args:
        what: words on the cost, as far as it is known.

    Raises:
        UsageError: the answer is no, or standard input is no terminal.
    """
    if not sys.stdin.isatty():
        raise UsageError(what, hint="--budget PRICE limits the cost, --yes goes on without a limit")
    if not click.confirm(f"{what}. Start instances?", err=True):
        raise UsageError("nothing was started", hint="--budget PRICE limits the cost")
