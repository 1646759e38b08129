"""The user's agreement before anything is paid for."""

from __future__ import annotations

import sys

import click

from whesl.model.errors import UsageError

PAID = ("ec2", "slurm")  # clouds whose instances cost money


def may_pay(what: str) -> None:
    """Ask at the terminal whether a run may start instances.

    Args:
        what: what it costs, as far as that is known.

    Raises:
        UsageError: the answer is no, or there is nobody to ask.
    """
    if not sys.stdin.isatty():
        raise UsageError(what, hint="--budget PRICE limits the cost, --yes goes on without a limit")
    if not click.confirm(f"{what}. Start instances?", err=True):
        raise UsageError("nothing was started", hint="--budget PRICE limits the cost")
