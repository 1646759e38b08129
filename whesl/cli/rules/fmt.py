"""``whesl fmt``: the canonical layout of specifications, written in place, shown, or only checked."""

from __future__ import annotations

import difflib
import os
import stat
import sys
from pathlib import Path

import click

from whesl import language
from whesl.cli.parameters import argument, option, parameters
from whesl.files import file_retry
from whesl.model.errors import UsageError, WheslError


@click.command()
@parameters
def fmt(
    *,
    files: tuple[str, ...] = argument(nargs=-1, required=True, metavar="FILE..."),
    check: bool = option(False, "Write nothing; exit with 1 when a file would change."),
    diff: bool = option(False, "Write nothing; print what would change."),
) -> int:
    """Put specifications into their canonical layout; - reads standard input and prints the result.

    Words, comments and their order stay. A file with syntax errors is not touched.

    Exit status: 0 done; 1 syntax errors, or with --check a file that would change; 2 a file cannot be read.
    """
    from whesl.language.result import render_all
    from whesl.language.tools.formatting import layout

    contents = [(name, _read(name)) for name in files]
    broken = changed = 0
    for name, content in contents:
        shown = "<stdin>" if name == "-" else name
        formatted = layout(content, shown)
        if formatted.text is None:
            broken += 1
            for finding in render_all(formatted.findings):
                click.echo(finding, err=True)
            continue
        new = formatted.text.encode()
        changed += new != content
        if diff:
            _show(content, new, shown)
        elif name == "-" and not check:
            sys.stdout.buffer.write(new)
        elif new != content and check:
            click.echo(f"{shown} would change", err=True)
        elif new != content:
            replace(Path(name), new)
            click.echo(f"{shown}: changed", err=True)
    if broken:
        click.echo(f"whesl fmt: {broken} of {len(files)} not touched: syntax errors", err=True)
    return 1 if broken or (check and changed) else 0


def _read(name: str) -> bytes:
    return sys.stdin.buffer.read() if name == "-" else language.read_file(name)


def _show(old: bytes, new: bytes, name: str) -> None:
    """Print a unified difference, with a note on a file without a last line end."""
    before, after = (text.decode("utf-8", "replace").splitlines(keepends=True) for text in (old, new))
    for line in difflib.unified_diff(before, after, name, f"{name} (formatted)"):
        click.echo(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n", nl=False)


def replace(path: Path, content: bytes) -> None:
    """Replace a file's content atomically, so that a reader sees the old or the new content.

    The mode does not change, nor the owner where the user may set it. A symbolic link is followed only to a
    file of the user's own.

    Args:
        path: the file.
        content: the new content.

    Raises UsageError for any other kind of file, WheslError when the file cannot be written.
    """
    target = path.resolve()
    try:
        seen = target.lstat()
        if not stat.S_ISREG(seen.st_mode):
            raise UsageError(f"{path} is not a regular file", hint="whesl fmt - < FILE prints the layout")
        if path.is_symlink() and seen.st_uid != os.geteuid():
            raise UsageError(
                f"{path} is a link to {target}, which belongs to another user", hint="name the file itself"
            )
        _write(target, content, seen)
    except OSError as error:
        raise WheslError(f"cannot write {path}: {error.strerror}", hint="it is as it was before") from error


def _write(target: Path, content: bytes, seen: os.stat_result) -> None:
    mode, owner = stat.S_IMODE(seen.st_mode), (seen.st_uid, seen.st_gid)
    try:
        file_retry.replace(target, content, mode=mode, owner=owner, durable=True)
    except PermissionError:  # the user may not set the owner
        file_retry.replace(target, content, mode=mode, durable=True)
