"""The click group that loads a command when it is called, and the only place that prints a TraceqError."""

from __future__ import annotations

import difflib
import glob
import io
import os
import signal
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import click

from traceq.common import signals
from traceq.common.near import find_near
from traceq.common.process import thread_lack_in
from traceq.common.text import printable, without_controls
from traceq.errors import TraceqError, WrongUse

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

INTERRUPTED = 128 + signal.SIGINT
BROKEN_PIPE = 128 + 13  # SIGPIPE, which Windows does not name


class LazyGroup(click.Group):
    """A group of commands that are imported when they are called.

    `lazy` maps a command's name to its module (which holds it under that name, or as module:name) and a line of help.
    """

    lazy: ClassVar[Mapping[str, tuple[str, str]]] = {}
    # The same under headings, where there are many.
    groups: ClassVar[Mapping[str, Mapping[str, tuple[str, str]]]] = {}
    # The command that a file is given to.
    default: ClassVar[str | None] = None

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the commands' names in the order of `lazy`, for help."""
        return list(self.lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's
        """Import and return the command; None if there is none of that name."""
        if cmd_name not in self.lazy:
            return None
        module, _ = self.lazy[cmd_name]
        path, _, attribute = module.partition(":")
        command = getattr(import_module(path), attribute or cmd_name)
        if not isinstance(command, click.Command):
            raise TypeError(f"{module}.{cmd_name} is not a click command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments name, or `default` if they begin with a file.

        Raises UsageError with suggestions.
        """
        name = args[0]
        if self.default is not None and name not in self.lazy and _is_source(name):
            return super().resolve_command(ctx, [self.default, *args])
        if name not in self.lazy and not name.startswith("-"):
            close = difflib.get_close_matches(name, self.lazy, n=2) + (find_near(Path(name)) if self.default else [])
            hint = f" Did you mean {' or '.join(map(repr, close))}?" if close else " `traceq -h` lists the commands."
            word = repr(printable(name))
            missing = (
                f"There is no command {word}." if self.default is None else f"{word} is neither a command nor a file."
            )
            raise click.UsageError(f"{missing}{hint}", ctx)
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete names of commands without importing them; files if no name fits and a default command takes files."""
        from click.shell_completion import CompletionItem

        found = [
            CompletionItem(name, help=text) for name, (_, text) in self.lazy.items() if name.startswith(incomplete)
        ]
        if self.default is not None and not found and not incomplete.startswith("-"):
            return [CompletionItem(incomplete, type="file")]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the list of commands for --help, without importing them."""
        width = max(map(len, self.lazy))
        for title, commands in (self.groups or {"Commands": self.lazy}).items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), help_line) for name, (_, help_line) in commands.items()])

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; print any failure that a user can cause as one line on stderr, and set the exit code."""
        if isinstance(sys.stdout, io.TextIOWrapper):
            # A terminal set to ASCII or Latin-1 gets escapes, not a traceback.
            sys.stdout.reconfigure(errors="backslashreplace")
        try:
            result: object = super().invoke(ctx)
            sys.stdout.flush()
        except WrongUse as error:
            command = self.get_command(ctx, ctx.invoked_subcommand or "")
            called = ctx if command is None else click.Context(command, parent=ctx, info_name=ctx.invoked_subcommand)
            raise click.UsageError(without_controls(str(error)), called) from error
        except click.exceptions.NoArgsIsHelpError:
            raise
        except click.UsageError as error:
            raise click.UsageError(without_controls(error.format_message()), error.ctx) from error
        except TraceqError as error:
            _fail(ctx, str(error))
        except KeyboardInterrupt:
            click.echo("traceq: interrupted", err=True)
            ctx.exit(INTERRUPTED)
        except signals.Ended as error:
            click.echo(f"traceq: ended by {signal.Signals(error.number).name}", err=True)
            raise
        except BrokenPipeError:
            # The reader has all it wants (| head). What is buffered must not fail again when Python exits.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(BROKEN_PIPE)
        except (OSError, RuntimeError) as error:
            _fail(ctx, _system_says(error))
        return result


def _system_says(error: OSError | RuntimeError) -> str:
    """Return the message for an error of the system. Any other error is a bug in traceq and is raised again."""
    if isinstance(error, OSError):
        return os_error_words(error)
    if (lack := thread_lack_in(error)) is None:
        raise error
    return lack


def os_error_words(error: OSError) -> str:
    """Return the system's message on the error, with the file it concerns."""
    where = f"{error.filename}: " if error.filename is not None else ""
    return f"{where}{error.strerror or error}"


def _is_source(name: str) -> bool:
    """Return whether the argument looks like a path: it exists, is a glob pattern, or has a dot or slash (no command has one)."""
    is_path = not name.startswith("-") and ("." in name or os.sep in name)
    return Path(name).exists() or glob.has_magic(name) or is_path


def _fail(ctx: click.Context, message: str) -> None:
    """Print the message as an error on stderr, and end the command with exit code 1."""
    click.echo(f"traceq: error: {printable(message)}", err=True)
    ctx.exit(1)
