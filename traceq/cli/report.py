"""traceq report: where the time of each step went, as text, Markdown, HTML or JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from traceq.cli.ingest import check_regex
from traceq.cli.rules import rules_option
from traceq.cli.source import check_output, is_database, opened, unreadable, write

if TYPE_CHECKING:
    from traceq.reports.report import Report

# The names of traceq.reports.RENDERERS and SUFFIXES, which are not imported for --help; a test compares them.
FORMATS = ("text", "md", "html", "json")
_FORMAT_OF_SUFFIX = {".txt": "text", ".md": "md", ".html": "html", ".json": "json"}


@click.command(short_help="Report where the time of each step went.")
@click.argument("source", metavar="SOURCE_OR_DB")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write to FILE.")
@click.option("--format", "format_", type=click.Choice(FORMATS), help="[default: by the suffix of -o, else text]")
@click.option("--top", type=click.IntRange(min=1), default=10, show_default=True, metavar="N", help="Findings to show.")
@click.option("--step-range", metavar="REGEX", help="The annotations whose names match are the steps; for traces only.")
@click.option(
    "--goal",
    type=click.Choice(("throughput", "latency")),
    default="throughput",
    show_default=True,
    help="What the advice is to serve: samples per second, or the time of a step.",
)
@click.option("--ticket", is_flag=True, help="To be shown to others: hosts, users and paths are replaced. [format: md]")
@click.option("--charts", is_flag=True, help="With -o FILE.md: charts as PNG files beside it.")
@rules_option
@click.option("--save", is_flag=True, help="Keep all findings in the table finding of the database.")
def report(
    *,
    source: str,
    output: Path | None,
    format_: str | None,
    top: int,
    step_range: str | None,
    goal: Literal["throughput", "latency"],
    ticket: bool,
    charts: bool,
    rules: tuple[Path, ...],
    save: bool,
) -> None:
    """Report where the time of each step went.

    SOURCE_OR_DB is a trace database, or what `traceq ingest` accepts: a trace is then ingested into a
    temporary database, which is gone afterwards. The report says what was captured, how long steps take,
    where their time went on each GPU, and which of it could be won back by what change, with the query behind each
    number. `traceq explain RULE` says how each finding is made.

    \b
    Examples:
      traceq report profile.duckdb
      traceq report profile.duckdb -o report.html
      traceq report profile.sqlite --step-range "^train_step" --ticket -o ticket.md --charts
    """  # noqa: D301 - click wants the backspace itself
    name = format_ or format_of(output, default="md" if ticket else "text")
    if charts and (name != "md" or output is None):
        raise click.UsageError("--charts is for Markdown in a file, beside which the pictures lie: say -o FILE.md.")
    check_regex(step_range)
    check_output(output, Path(source))
    from traceq.diagnosis import user
    from traceq.diagnosis.kept import judged_or_kept
    from traceq.queries import interruptible
    from traceq.reports import DRAWN
    from traceq.reports.build import build
    from traceq.reports.redact import redacted
    from traceq.store.findings import save_findings

    if save and not is_database(Path(source)):
        raise click.UsageError("--save is for a trace database: make one with traceq ingest SOURCE -o DB.")
    judges = user.rules(rules)
    with opened(source, output, step_range) as connection, unreadable(source, "reported"):
        # A rule of the user's own reads its database and nothing else, and may take for ever.
        connection.execute("set enable_external_access = false")
        content = interruptible(connection, lambda: build(connection, top, goal, judges, drawn=name in DRAWN))
        kept = (
            interruptible(connection, lambda: [judge() for _, judge in judged_or_kept(connection, goal, judges)])
            if save
            else ()
        )
    if save:
        save_findings(Path(source), (row for trace in kept for row in enumerate(trace.findings, 1)))
    _write(redacted(content) if ticket else content, name, output, charts=charts)


def _write(content: Report, name: str, output: Path | None, *, charts: bool) -> None:
    from traceq.cli.terminal import terminal
    from traceq.reports import RENDERERS
    from traceq.reports.to_markdown import to_markdown
    from traceq.reports.to_text import to_text

    if name == "text" and output is None:
        width, colour = terminal()
        write(to_text(content, width, colour=colour), None, colour=colour)
    elif charts and output is not None:
        write(to_markdown(content, pictures=_written_charts(content, output)), output)
    else:
        write(RENDERERS[name](content), output)


def _written_charts(content: Report, output: Path) -> dict[str, str]:
    """The charts of the report, each in a file beside `output`: name of the chart to name of the file."""
    from traceq.reports.charts.png import png
    from traceq.reports.compose import compose
    from traceq.reports.document import Picture
    from traceq.written import written

    files = {}
    for picture in compose(content):
        if isinstance(picture, Picture):
            path = output.with_name(f"{output.stem}-{picture.name}.png")
            with written(path) as file:
                file.write(png(picture.draw()))
            files[picture.name] = path.name
    return files


def format_of(output: Path | None, *, default: str) -> str:
    """The format that the suffix of `output` says."""
    if output is None:
        return default
    try:
        return _FORMAT_OF_SUFFIX[output.suffix.lower()]
    except KeyError:
        known = ", ".join(_FORMAT_OF_SUFFIX)
        raise click.UsageError(f"{output}: no format has this suffix ({known}); say --format.") from None
