"""traceq completion: what a shell needs to complete commands, options and names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_VARIABLE = "_TRACEQ_COMPLETE"
_CREATED = re.compile(r"^create (?:or replace )?(?:table|view|macro) (?:if not exists )?(\w+)", re.MULTILINE)


@click.command(short_help="Print the completion script for a shell.")
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
@click.pass_context
def completion(context: click.Context, /, shell: str) -> None:
    """Print the completion script for a shell: commands, options, rules, tables and metrics are completed.

    \b
    Examples:
      eval "$(traceq completion bash)"                                # in ~/.bashrc
      eval "$(traceq completion zsh)"                                 # in ~/.zshrc
      traceq completion fish > ~/.config/fish/completions/traceq.fish
    """  # noqa: D301 - click wants the backspace itself
    from click.shell_completion import get_completion_class

    made = get_completion_class(shell)
    if made is None:
        raise click.UsageError(f"there is no completion for {shell}")
    click.echo(made(context.find_root().command, {}, "traceq", _VARIABLE).source())


def rules(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """The rules whose names begin so."""
    from traceq.diagnosis.job.judge import RULES as RULES_OF_JOBS
    from traceq.diagnosis.rules.registry import RULES

    return _beginning(dict.fromkeys([*(name.replace("_", "-") for name in RULES), *RULES_OF_JOBS]), begun)


def metrics(context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """With --plan the metrics whose names begin so, else files."""
    from click.shell_completion import CompletionItem

    from traceq.formats.capabilities import METRICS

    return _beginning(METRICS, begun) if context.params.get("plan") else [CompletionItem(begun, type="file")]


def tables(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """The tables, views and macros whose names begin so."""
    from traceq.database.connect import SCHEMA
    from traceq.database.sql import statement

    found = [name for file in SCHEMA for name in _CREATED.findall(statement(file))]
    return _beginning(sorted(name for name in found if not name.startswith("_")), begun)


def _beginning(names: Iterable[str], begun: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    return [CompletionItem(name) for name in names if name.startswith(begun)]
