"""traceq baseline: the small summary of a run that later ones are compared with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import click

from traceq.cli import completion
from traceq.cli._group import LazyGroup
from traceq.cli._options import json_option, rank_option, read_options
from traceq.cli._output import write_blocks, write_json
from traceq.common.text import printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from traceq.app.read_options import ReadOptions, Which
    from traceq.runs.baselines import StoredBaseline


directory_option = click.option(
    "--directory",
    type=click.Path(file_okay=False, path_type=Path),
    envvar="TRACEQ_BASELINES",
    metavar="DIR",
    help="Where baselines are kept. [default: .traceq/baselines]  [env: TRACEQ_BASELINES]",
)


class BaselineCommands(LazyGroup):
    """The commands about baselines."""

    lazy: ClassVar[Mapping[str, tuple[str, str]]] = {
        "save": ("traceq.cli.baseline:save", "Save a summary of runs under a name."),
        "list": ("traceq.cli.baseline:list_", "List the baselines."),
        "show": ("traceq.cli.baseline:show", "Show steps, ledger and findings of a baseline."),
        "drop": ("traceq.cli.baseline:drop", "Delete a baseline."),
    }


@click.command(cls=BaselineCommands, short_help="Save runs to compare later ones with.")
def baseline() -> None:
    """Save runs to compare later ones with: their steps, ledgers and findings, not their traces.

    A baseline is a JSON file of a few hundred KiB, to commit or to cache in CI. `traceq check --baseline NAME` and
    `traceq compare NAME SOURCE` take its name. It contains the names of kernels, of operators and of the trace file.
    """


@click.command(short_help="Save a summary of runs under a name.")
@click.argument("name", shell_complete=completion.complete_baselines)
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True, shell_complete=completion.complete_files)
@rank_option("Keep")
@read_options
@click.option("--force", is_flag=True, help="Replace an existing baseline of this name.")
@click.option(
    "--add", is_flag=True, help="Add the runs to the existing baseline of this name, a history of at most 30 runs."
)
@directory_option
def save(
    *,
    name: str,
    sources: tuple[str, ...],
    which: Which,
    read: ReadOptions,
    force: bool,
    add: bool,
    directory: Path | None,
) -> None:
    """Save a summary of runs under a name.

    SOURCE is a trace database or a file that `traceq ingest` accepts. Several sources are runs of the same program: how
    much they differ shows which changes are only noise.

    \b
    Examples:
      traceq baseline save main profile.duckdb
      traceq baseline save main run1.duckdb run2.duckdb run3.duckdb --force
      traceq baseline save nightly profile.sqlite --add
    """  # noqa: D301 - click wants the backspace itself
    from traceq.app.baseline import save_baseline
    from traceq.common.units import size, some

    saved = save_baseline(name, sources, which, read, force=force, add=add, directory=directory)
    said = f"{some(saved.runs, 'run')}, {some(saved.steps, 'step')}, {size(saved.path.stat().st_size)}"
    click.echo(printable(f"{saved.path}: {said}"))
    if saved.repeated:
        click.echo("traces given more than once are kept once", err=True)


@click.command("list", short_help="List the baselines.")
@directory_option
def list_(*, directory: Path | None) -> None:
    """List the baselines, with their runs, steps and typical step. An unusable file is listed with the reason."""
    from traceq.reports.comparison.baseline import compose_baselines
    from traceq.runs import baselines

    where = directory or baselines.baseline_directory()
    rows = [(name, *_read(baselines.path_of(name, directory))) for name in baselines.list_names(directory)]
    if not rows:
        click.echo(f"no baseline in {printable(str(where))}; traceq baseline save NAME SOURCE makes one", err=True)
        return
    write_blocks(compose_baselines(rows))


def _read(path: Path) -> tuple[StoredBaseline | str, int]:
    """Return the baseline, or the reason why it cannot be read, and the size of its file in bytes."""
    from traceq.errors import UnusableBaseline
    from traceq.runs import baselines

    try:
        return baselines.read(path), path.stat().st_size
    except UnusableBaseline as error:
        return str(error), path.stat().st_size


@click.command(short_help="Show steps, ledger and findings of a baseline.")
@click.argument("name", shell_complete=completion.complete_baselines)
@json_option("json: the file, indented.")
@directory_option
def show(*, name: str, format_: str, directory: Path | None) -> None:
    """Show steps, ledger and findings of a baseline."""
    from traceq.errors import UnusableBaseline
    from traceq.reports.comparison.baseline import compose_baseline
    from traceq.runs import baselines

    kept = baselines.find(name, directory)
    if kept is None:
        raise UnusableBaseline(baselines.explain_missing(name, directory))
    if format_ == "json":
        write_json(kept)
    else:
        write_blocks(compose_baseline(name, kept))


@click.command(short_help="Delete a baseline.")
@click.argument("name", shell_complete=completion.complete_baselines)
@directory_option
def drop(*, name: str, directory: Path | None) -> None:
    """Delete a baseline."""
    from traceq.runs import baselines

    click.echo(printable(f"{baselines.drop(name, directory)}: deleted"))
