"""The group of all commands, and the display of their errors."""

from __future__ import annotations

import importlib
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

import click

from whesl import __version__
from whesl.cli.commands import COMMANDS
from whesl.model.errors import WheslError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from click.shell_completion import CompletionItem


# Commands whose names are keywords or built-in functions of Python.
_NAMES_OF_PYTHON = frozenset({"compile", "exec", "raise", "list"})


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called.

    Args:
        table: command's name: (module below the package, one line of help).
        package: the package with the modules.
        extra: the extra that its commands need; a missing library is an error that names the extra.
    """

    def __init__(
        self, *args: Any, table: Mapping[str, tuple[str, str]], package: str, extra: str = "", **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.table = table
        self.package = package
        self.extra = extra

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, in the order in which a user meets them."""
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command; None for an unknown one.

        Args:
            ctx: click's context, which is not used.
            cmd_name: the command's name, as the user typed it.

        Raises:
            WheslError: a library of the group's extra is not installed.
        """
        if cmd_name not in self.table:
            return None
        with self._library_needed():
            module = importlib.import_module(f"{self.package}.{self.table[cmd_name][0]}")
        command = getattr(module, f"{cmd_name}_" if cmd_name in _NAMES_OF_PYTHON else cmd_name)
        assert isinstance(command, click.Command)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command and flush its output; a reader that closes the pipe (head, less) is no error.

        click itself would exit with status 1, which `whesl check` uses for errors in a specification.
        """
        try:
            with self._library_needed():
                result = super().invoke(ctx)
            if sys.stdout is not None:
                sys.stdout.flush()
        except BrokenPipeError:
            from whesl.cli import broken_pipe

            broken_pipe.drop(sys.stdout)
            raise click.exceptions.Exit(broken_pipe.READER_GONE) from None
        return result

    @contextmanager
    def _library_needed(self) -> Iterator[None]:
        try:
            yield
        except ModuleNotFoundError as error:
            if not self.extra:
                raise
            from whesl.model.errors import missing

            raise missing(error, f"whesl {self.name}", self.extra) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands in the help, without importing the commands.

        Args:
            ctx: click's context, which is not used.
            formatter: the writer of the help, which gets a section with a line for each command.
        """
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in self.table.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the commands (without importing them) and options that complete an incomplete word.

        Args:
            ctx: click's context of the incomplete command line.
            incomplete: the begin of the word.
        """
        from click.shell_completion import CompletionItem

        found = [
            CompletionItem(name, help=text)
            for name, (_, text) in self.table.items()
            if name.startswith(incomplete)
        ]
        return found + click.Command.shell_complete(self, ctx, incomplete)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; the error for an unknown one suggests similar names.

        Args:
            ctx: click's context; while a shell completes a line, an unknown command is no error.
            args: the words after the group's own options, of which the first is the command's name.

        Returns:
            The command's name, the command, and the remaining words.

        Raises:
            click.UsageError: there is no such command.
        """
        unknown = bool(args) and args[0] not in self.table and not args[0].startswith("-")
        if unknown and not ctx.resilient_parsing:
            import difflib  # slow to import, and rarely needed

            near = difflib.get_close_matches(args[0], self.table, n=2)
            hint = f" Did you mean {' or '.join(near)}?" if near else ""
            ctx.fail(f"No such command {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)


HELP = {"help_option_names": ["-h", "--help"]}


@click.group(
    cls=LazyGroup,
    table=COMMANDS,
    package="whesl.cli",
    context_settings=HELP,
    epilog="Manual pages: man whesl, man whesl-run, ... Exit status: 0 done, 1 failed, 2 usage.",
)
@click.version_option(__version__, prog_name="whesl")
def cli() -> None:
    """Recover HPC jobs in place: detect log lines, exits, silences and lost nodes, and act once."""


def run(arguments: list[str] | None = None) -> NoReturn:
    """Run a command; WHESL's errors are shown without a traceback.

    Args:
        arguments: the words after the program's name; None for the process's own.
    """
    try:
        result: Any = cli.main(args=arguments, prog_name="whesl", standalone_mode=False)
    except click.exceptions.Abort:
        click.echo("whesl: interrupted", err=True)
        sys.exit(130)
    except click.exceptions.Exit as error:
        sys.exit(error.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except WheslError as error:
        click.echo(f"whesl: {error}", err=True)
        sys.exit(error.exit_code)
    except OSError as error:
        # A full disk or an unreadable directory is shown as a reason, not as a defect of WHESL.
        from whesl.cli import broken_pipe
        from whesl.runtime.wire.private_directory import explained

        click.echo(f"whesl: {explained(error)}", err=True)
        broken_pipe.settle()
        sys.exit(1)
    sys.exit(result if isinstance(result, int) else 0)
