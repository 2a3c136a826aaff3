"""traceq history: one line per report, and how each quantity moved over them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import click

from traceq.cli import completion
from traceq.cli._group import LazyGroup
from traceq.cli._options import SHARE, document_options, json_option, read_options
from traceq.cli._output import write, write_blocks, write_view
from traceq.common.text import printable
from traceq.reports import SUFFIXES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from traceq.app.read_options import ReadOptions


class HistoryCommands(LazyGroup):
    """The commands about histories."""

    lazy: ClassVar[Mapping[str, tuple[str, str]]] = {
        "add": ("traceq.cli.history:add_reports", "Add reports: traces, databases, datasets, JSON reports."),
        "show": ("traceq.cli.history:show_trends", "Show what moved, since when, and what else changed."),
        "list": ("traceq.cli.history:list_reports", "List the reports."),
        "accept": ("traceq.cli.history:accept_changes", "Accept a change: the gate forgets what was before."),
        "remove": ("traceq.cli.history:remove_reports", "Remove reports."),
        "export": ("traceq.cli.history:export_tables", "Write Parquet for dashboards."),
    }


@click.command(cls=HistoryCommands, short_help="Keep reports over months, and show what moved since when.")
def history() -> None:
    """Keep a summary of every report in one file, and show how each quantity moved, since when, and what else changed.

    The file is a DuckDB database of documented tables (docs/history.md), by default .traceq/history.duckdb; several
    processes may add to it at once. `traceq check SOURCE --against history` fails when a quantity creeps.
    """


def parse_time(text: str) -> datetime:
    """Parse a day or a time in ISO 8601, in UTC where it names no zone. Raises ValueError, which says what is wrong."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is no time: write 2026-09-07 or 2026-09-07T21:30+02:00") from None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def _check_time(_ctx: click.Context, _param: click.Parameter, value: str | None) -> datetime | None:
    try:
        return None if value is None else parse_time(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


def _split_pairs(_ctx: click.Context, _param: click.Parameter, values: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    pairs = [value.partition("=") for value in values]
    if wrong := [value for value, (key, sign, _) in zip(values, pairs, strict=True) if not (key and sign)]:
        raise click.BadParameter(f"{wrong[0]!r} is not KEY=VALUE")
    return tuple((key, value) for key, _, value in pairs)


in_option = click.option(
    "--in",
    "path",
    type=click.Path(dir_okay=False, path_type=Path),
    envvar="TRACEQ_HISTORY",
    metavar="FILE",
    shell_complete=completion.complete_files,
    help="The history. [default: .traceq/history.duckdb]  [env: TRACEQ_HISTORY]",
)
wait_option = click.option(
    "--wait",
    type=click.FloatRange(min=0),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for another process that writes.",
)


@click.command("add", short_help="Add reports: traces, databases, datasets, JSON reports.")
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True, shell_complete=completion.complete_files)
@in_option
@click.option("--label", metavar="TEXT", help="A word for the reports: a version, the name of a nightly run.")
@click.option(
    "--program", metavar="NAME", help="The program, where one history has several. [default: --run at ingest]"
)
@click.option("--commit", metavar="HASH", help="The commit of the program. [default: the CI system's, else git's here]")
@click.option("--branch", metavar="NAME", help="The branch of the program. [default: as for --commit]")
@click.option("--at", metavar="TIME", callback=_check_time, help="When it ran. [default: the trace's clock, else now]")
@click.option(
    "--set", "facts", multiple=True, callback=_split_pairs, metavar="KEY=VALUE", help="A fact to keep; repeatable."
)
@wait_option
@read_options
def add_reports(
    *,
    sources: tuple[str, ...],
    path: Path | None,
    label: str | None,
    program: str | None,
    commit: str | None,
    branch: str | None,
    at: datetime | None,
    facts: tuple[tuple[str, str], ...],
    wait: float,
    read: ReadOptions,
) -> None:
    """Add one line per report to the history.

    SOURCE is a trace or what else `traceq report` takes, a JSON report (`traceq report --format json`), a folder of
    these, or another history, whose reports are taken over. The same trace counts once.

    \b
    Examples:
      traceq history add profile.duckdb --label nightly
      traceq history add report.json --commit 3f2a1b9c --at 2026-09-07
      traceq history add traces/ --in /mnt/team/history.duckdb --set cluster=a
    """  # noqa: D301 - click wants the backspace itself
    from traceq.app.history_add import HistoryOptions, history_add
    from traceq.common.units import some

    options = HistoryOptions(label, commit, branch, program, at, dict(facts))
    done = history_add(sources, path, read, options, wait=wait)
    click.echo(printable(f"{done.path}: {some(done.added, 'report')} added"))
    if done.repeated:
        there = some(len(done.repeated), "report")
        click.echo(f"{there} {'was' if len(done.repeated) == 1 else 'were'} there already and count once", err=True)


@click.command("show", short_help="Show what moved, since when, and what else changed.")
@in_option
@click.option("--quantity", "quantities", multiple=True, metavar="NAME", help="Only this quantity; repeatable.")
@click.option("--since", metavar="TIME", callback=_check_time, help="Only reports since then.")
@click.option(
    "--where",
    multiple=True,
    callback=_split_pairs,
    metavar="KEY=VALUE",
    help="Only reports of this branch, gpu, label, torch, ...; repeatable.",
)
@click.option("--series", metavar="ID", help="The series to show. [default: the one of the latest report]")
@click.option(
    "--floor", type=SHARE, default="2%", show_default=True, metavar="SHARE", help="The least change worth telling."
)
@document_options({**SUFFIXES, ".csv": "csv"})
def show_trends(
    *,
    path: Path | None,
    quantities: tuple[str, ...],
    since: datetime | None,
    where: tuple[tuple[str, str], ...],
    series: str | None,
    floor: float,
    output: Path | None,
    format_: str,
) -> None:
    """Show how each quantity moved: steady, at another level since a report, or creeping; and what else changed then.

    Only comparable reports form a series: same program, GPU, ranks, batch, format and steps.

    \b
    Examples:
      traceq history show
      traceq history show --where branch=main --quantity step.typical --quantity memory.peak
      traceq history show -o history.html
    """  # noqa: D301 - click wants the backspace itself
    from traceq.app.history import history_show
    from traceq.runs.history.series import SeriesChoice

    choice = SeriesChoice(since, where, series)
    view = history_show(path, choice, quantities=quantities, floor=floor)
    if format_ == "csv":
        write(view.to_csv(), output)
    else:
        write_view(view, format_, output)


@click.command("list", short_help="List the reports.")
@in_option
@json_option("json: all reports, with the columns of the table report.")
def list_reports(*, path: Path | None, format_: str) -> None:
    """List the reports of the history, the latest first."""
    from traceq.app.history import history_list
    from traceq.reports.history.list import compose_reports, list_reports_as_json

    reports = history_list(path)
    if format_ == "json":
        write(list_reports_as_json(reports), None)
    else:
        write_blocks(compose_reports(reports))


@click.command("accept", short_help="Accept a change: the gate forgets what was before.")
@in_option
@click.option("--quantity", "quantities", multiple=True, metavar="NAME", help="Only this quantity; repeatable.")
@click.option("--because", required=True, metavar="TEXT", help="Why.")
@click.option(
    "--from", "begin", metavar="REPORT", help="The first report that counts. [default: the first at the level now]"
)
@click.option("--series", metavar="ID", help="The series. [default: the one of the latest report]")
@wait_option
def accept_changes(
    *, path: Path | None, quantities: tuple[str, ...], because: str, begin: str | None, series: str | None, wait: float
) -> None:
    """Accept what became of quantities: `traceq check --against history` no longer fails for it.

    \b
    Examples:
      traceq history accept --quantity step.typical --because "the new tokenizer is worth it"
      traceq history accept --from 3f2a1b9c --because "moved to a new cluster"
    """  # noqa: D301 - click wants the backspace itself
    from traceq.app.history import history_accept
    from traceq.runs.history.series import SeriesChoice

    for accepted in history_accept(quantities, because, path, SeriesChoice(series=series), begin=begin, wait=wait):
        click.echo(printable(f"{accepted.name or 'all quantities'}: counts from report {accepted.report_id[:8]} on"))


@click.command("remove", short_help="Remove reports.")
@click.argument("reports", metavar="REPORT...", nargs=-1, required=True)
@in_option
@wait_option
def remove_reports(*, reports: tuple[str, ...], path: Path | None, wait: float) -> None:
    """Remove reports from the history, named by the beginning of their ids (`traceq history list`)."""
    from traceq.app.history import history_remove
    from traceq.common.units import some

    click.echo(f"{some(history_remove(reports, path, wait=wait), 'report')} removed")


@click.command("export", short_help="Write Parquet for dashboards.")
@click.argument(
    "output", metavar="DIR|FILE.parquet", type=click.Path(path_type=Path), shell_complete=completion.complete_files
)
@in_option
def export_tables(*, output: Path, path: Path | None) -> None:
    """Write the history as Parquet for dashboards: a row a report and quantity, with the report's columns.

    A folder gets history.parquet, and facts.parquet with a row a report and fact.

    \b
    Examples:
      traceq history export history.parquet
      traceq history export dashboard/
    """  # noqa: D301 - click wants the backspace itself
    from traceq.app.history import history_export

    for file in history_export(output, path):
        click.echo(printable(str(file)))
