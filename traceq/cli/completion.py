"""traceq completion: what a shell needs to complete commands, options and names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_VARIABLE = "_TRACEQ_COMPLETE"
# Offered where nothing is known about the trace on the line.
_USUAL_FINDINGS = 5
_CREATED = re.compile(r"^create (?:or replace )?(?:table|view|macro) (?:if not exists )?(\w+)", re.MULTILINE)


@click.command(short_help="Print the completion script for a shell.")
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
@click.pass_context
def completion(context: click.Context, /, shell: str) -> None:
    """Print the completion script for a shell. It completes commands, files, options and their values, rules and tables.

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


def complete_files(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Return one completion item, which tells the shell to complete files itself."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(begun, type="file")]


def complete_baselines(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete names of baselines, else files: bash completes files only where nothing else is offered."""
    from traceq.runs.baselines import list_names

    return _complete_names(list_names(context.params.get("directory")), begun) or complete_files(
        context, parameter, begun
    )


def complete_findings(context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete F1, F2, ... with the titles of the trace on the line, if a database or the cache has them; else the first few."""
    from click.shell_completion import CompletionItem

    titles = _finding_titles(context) or dict.fromkeys(range(1, _USUAL_FINDINGS + 1))
    return [CompletionItem(f"F{n}", help=title) for n, title in titles.items() if f"F{n}".startswith(begun.upper())]


def _finding_titles(context: click.Context) -> dict[int, str]:
    """Return the titles of findings by number, from the first database on the command line that is readable.

    Empty without one.
    """
    from traceq.database.connect import connect
    from traceq.errors import TraceqError

    for database in _databases_on_line(context):
        try:
            with connect(database) as connection:
                query = "select rank_order, any_value(title) from finding group by all order by rank_order"
                return dict(connection.execute(query).fetchall())
        except TraceqError:  # of another version, or damaged
            continue
    return {}


def _databases_on_line(context: click.Context) -> Iterator[Path]:
    """Yield the databases that the words of the command line name, and the cached ones of traces that they name."""
    from traceq.app.cache import last_of
    from traceq.database.connect import is_database

    # An option that lacks its value leaves all words in context.args.
    given = [value for value in context.params.values() if isinstance(value, str | tuple)]
    words = [word for value in given for word in ([value] if isinstance(value, str) else value)]
    for path in (Path(word) for word in (*words, *context.args) if isinstance(word, str) and word):
        if not path.is_file():
            continue
        database = path if is_database(path) else last_of(path)
        if database is not None:
            yield database


def complete_changes(_context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete what the option (--remove, --move, ...) can change: categories of the ledger, and copies."""
    from traceq.app.whatif_request import ASKABLE, COPIES, MOVABLE, TRANSFERS

    names = {"overlap": TRANSFERS, "move": MOVABLE}
    return _complete_names(names.get(parameter.name or "", (*ASKABLE, COPIES)), begun)


def complete_one_of(
    names: Iterable[str],
) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    """Return a function that completes the given names, for an argument or option."""
    return lambda _context, _parameter, begun: _complete_names(names, begun)


def complete_rules(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Return the names of rules, and of rules of jobs, that begin with `begun`."""
    from traceq.diagnosis.job.judge import RULES as RULES_OF_JOBS
    from traceq.diagnosis.rules.registry import RULES

    return _complete_names(dict.fromkeys([*(name.replace("_", "-") for name in RULES), *RULES_OF_JOBS]), begun)


def complete_metrics(context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Return the names of metrics that begin with `begun` if --plan is given; else let the shell complete files."""
    from click.shell_completion import CompletionItem

    from traceq.formats.capabilities import METRICS

    return _complete_names(METRICS, begun) if context.params.get("plan") else [CompletionItem(begun, type="file")]


def complete_tables(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Return the names of public tables, views and macros that begin with `begun`."""
    from traceq.database.connect import SCHEMA
    from traceq.database.sql import statement

    found = [name for file in SCHEMA for name in _CREATED.findall(statement(file))]
    return _complete_names(sorted(name for name in found if not name.startswith("_")), begun)


def complete_operators(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Return the names of operators that can be estimated and begin with `begun`."""
    from traceq.app.estimate_request import OPERATORS

    return _complete_names(OPERATORS, begun)


def complete_dtypes(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Return the names of types that begin with `begun`."""
    from traceq.analysis.kernels.estimate import DTYPES

    return _complete_names(DTYPES, begun)


def complete_gpus(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Return the names of GPUs that begin with `begun`, in any case; with hyphens, which no shell takes for a border of words."""
    from traceq.app.estimate import list_gpus

    names = ("-".join(re.findall(r"\w+", name)) for name in list_gpus())
    return _complete_names([name for name in names if name.casefold().startswith(begun.casefold())], "")


def complete_tasks(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Return the names of tasks with a query that begin with `begun`, with their titles."""
    from click.shell_completion import CompletionItem

    from traceq.database.questions import list_questions

    questions = [question for question in list_questions() if question.name.startswith(begun)]
    return [CompletionItem(question.name, help=question.title) for question in questions]


def _complete_names(names: Iterable[str], begun: str) -> list[CompletionItem]:
    """Return the names that begin with `begun`, as completions."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(name) for name in names if name.startswith(begun)]
