"""traceq report: where the time of each step went, as text, Markdown or JSON."""

from __future__ import annotations

from pathlib import Path

import click

from traceq.cli.ingest import check_regex
from traceq.cli.source import check_output, opened, unreadable, write

# The names of traceq.reports.RENDERERS and SUFFIXES, which are not imported for --help; a test compares them.
FORMATS = ("text", "md", "json")
_FORMAT_OF_SUFFIX = {".txt": "text", ".md": "md", ".json": "json"}


@click.command(short_help="Report where the time of each step went.")
@click.argument("source", metavar="SOURCE_OR_DB")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write to FILE.")
@click.option("--format", "format_", type=click.Choice(FORMATS), help="[default: by the suffix of -o, else text]")
@click.option("--top", type=click.IntRange(min=1), default=10, show_default=True, metavar="N", help="Findings to show.")
@click.option("--step-range", metavar="REGEX", help="The annotations whose names match are the steps; for traces only.")
def report(source: str, output: Path | None, format_: str | None, top: int, step_range: str | None) -> None:
    """Report where the time of each step went.

    SOURCE_OR_DB is a trace database, or what `traceq ingest` accepts: a trace is then ingested into a
    temporary database, which is gone afterwards. The report says what was captured, how long steps take,
    where their time went on each GPU, and which of it could be won back, with the query behind each number.

    \b
    Examples:
      traceq report profile.duckdb
      traceq report profile.sqlite --step-range "^train_step" -o ticket.md
    """  # noqa: D301 - click wants the backspace itself
    name = format_ or _format_of(output)
    check_regex(step_range)
    check_output(output, Path(source))
    from traceq.reports import RENDERERS
    from traceq.reports.build import build

    with opened(source, output, step_range) as connection, unreadable(source, "reported"):
        content = build(connection, top)
    write(RENDERERS[name](content), output)


def _format_of(output: Path | None) -> str:
    if output is None:
        return "text"
    try:
        return _FORMAT_OF_SUFFIX[output.suffix.lower()]
    except KeyError:
        known = ", ".join(_FORMAT_OF_SUFFIX)
        raise click.UsageError(f"{output}: no format has this suffix ({known}); say --format.") from None
