"""traceq help: the help of a command, or what to type for what one wants."""

from __future__ import annotations

import difflib
from importlib import resources
from typing import TYPE_CHECKING

import click

from traceq.common.text import printable

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_TASKS = "tasks"


def _complete_topics(context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Return `tasks` and the names of commands that begin with `begun`; after a command, its own commands."""
    from click.shell_completion import CompletionItem

    called = _find_command(context, context.params.get("topic") or ())
    names = called.command.list_commands(called) if isinstance(called.command, click.Group) else []
    topics = [_TASKS, *names] if called.parent is None else names
    return [CompletionItem(name) for name in topics if name.startswith(begun)]


@click.command("help", short_help="Show what to type for a task, or the help of a command.")
@click.argument("topic", nargs=-1, metavar="[TOPIC]", shell_complete=_complete_topics)
@click.pass_context
def show_help(context: click.Context, topic: tuple[str, ...]) -> None:
    """Show what to type for a task, or the help of a command.

    TOPIC is tasks, which lists what to type in which situation, or a command: `traceq help report` prints the same as
    `traceq report --help`.

    \b
    Examples:
      traceq help tasks
      traceq help report
      traceq help baseline save
    """  # noqa: D301 - click wants the backspace itself
    if topic == (_TASKS,):
        click.echo(resources.files("traceq").joinpath("cli/tasks.txt").read_text("utf-8"), nl=False)
    else:
        click.echo(_find_command(context, topic).get_help())


def _find_command(context: click.Context, words: tuple[str, ...]) -> click.Context:
    """Return the context of the command that `words` name below the program's own; that of the program without words.

    Raises UsageError for a word that names no command.
    """
    called = context.find_root()
    for word in words:
        group = called.command
        if not isinstance(group, click.Group):
            raise click.UsageError(f"{called.command_path} has no commands of its own.", called)
        command = group.get_command(called, word)
        if command is None:
            names = group.list_commands(called)
            close = difflib.get_close_matches(word, [_TASKS, *names] if called.parent is None else names, n=2)
            hint = f" Did you mean {' or '.join(map(repr, close))}?" if close else f" There are {', '.join(names)}."
            raise click.UsageError(f"There is no command {printable(word)!r}.{hint}", called)
        called = click.Context(command, called, word, **command.context_settings)
    return called
