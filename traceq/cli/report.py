"""traceq report: where the time of each step went, as text, Markdown, HTML or JSON."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click
from msgspec.structs import replace

from traceq.cli import completion
from traceq.cli._options import (
    axes_option,
    document_options,
    explicit_options,
    finding_option,
    gather,
    goal_option,
    read_options_with_logs,
    rules_option,
    timeout_option,
    traces_options,
)
from traceq.cli._output import write, write_text, write_view
from traceq.common.text import printable
from traceq.diagnosis.record import EXTRA
from traceq.reports import DRAWN, all_suffixes

if TYPE_CHECKING:
    from traceq.app.read_options import ReadOptions
    from traceq.app.report import Detail, ReportView
    from traceq.app.ticket import TicketText
    from traceq.diagnosis.subject import Goal
    from traceq.reports.model import Scope
    from traceq.reports.ticket import Site


class TextOptions(NamedTuple):
    """The options on what the text of a report shows: evidence (-v), everything, one finding, queries."""

    verbose: bool
    full: bool
    finding: str | None
    sql: bool

    @property
    def detail(self) -> Detail:
        """The amount of the report to show: brief, evidence or full."""
        return "full" if self.full else "evidence" if self.verbose else "brief"

    def choose_scope(self, name: str, *, ticket: bool) -> Scope:
        """Return how much of the report to build for the format `name`; anonymising a `ticket` reads all of a document."""
        if name in DRAWN:
            return "drawing"
        return "screen" if name == "text" and self.detail == "brief" and not (self.finding or ticket) else "document"

    def check(self, name: str) -> None:
        """Raise UsageError for options that do not fit together, or do not apply to the format `name`."""
        given = [option for option, value in zip(("-v", "--full", "--finding", "--sql"), self, strict=True) if value]
        if name != "text" and given:
            rest = "is brief" if name == "llm" else "holds everything"
            raise click.UsageError(f"{', '.join(given)}: for text only; {name} {rest}.")
        if self.finding is not None and self.detail != "brief":
            raise click.UsageError("--finding shows one finding in full: leave -v and --full out.")


@click.command(short_help="Report where each step's time goes, and what to fix first.")
@click.argument("sources", metavar="SOURCE_OR_DB...", nargs=-1, required=True, shell_complete=completion.complete_files)
@document_options(all_suffixes(), None)
@click.option("-v", "--verbose", is_flag=True, help="Text: with the evidence for each finding.")
@click.option("--full", is_flag=True, help="Text: all sections.")
@finding_option("--finding", "Text: one finding in full")
@click.option("--sql", is_flag=True, help="Text: with the queries that reproduce the numbers.")
@click.option("--top", type=click.IntRange(min=1), default=10, show_default=True, metavar="N", help="Findings to show.")
@traces_options
@axes_option
@read_options_with_logs
@goal_option("Optimise samples per second, or the time of a step.")
@click.option(
    "--ticket",
    is_flag=True,
    help="Anonymise for sharing: replace host names, users and paths. Markdown: at most 10 KB; other formats: everything."
    " [format: md]",
)
@click.option(
    "--against",
    metavar="BASE",
    shell_complete=completion.complete_baselines,
    help="With --ticket: compare with this trace, trace database or baseline.",
)
@click.option(
    "--for",
    "site",
    type=click.Choice(("github", "gitlab", "jira")),
    help="With --ticket: the markup. [default: github]",
)
@click.option("--charts", is_flag=True, help="With -o FILE.md: charts as SVG files beside it.")
@click.option(
    "--cost-per-gpu-hour",
    type=click.FloatRange(0, min_open=True),
    metavar="DOLLARS",
    help="What a GPU costs an hour: says what savings are worth.",
)
@rules_option
@timeout_option("each rule of your own")
@click.option("--save", "store", is_flag=True, help="Save all findings in the database, in the table finding.")
@gather("text", TextOptions, *TextOptions._fields)
def report(
    *,
    sources: tuple[str, ...],
    output: Path | None,
    format_: str | None,
    text: TextOptions,
    top: int,
    traces: tuple[int, ...],
    rank: int | None,
    axes: str | None,
    read: ReadOptions,
    goal: Goal,
    ticket: bool,
    against: str | None,
    site: Site | None,
    charts: bool,
    cost_per_gpu_hour: float | None,
    rules: tuple[str | Path, ...],
    store: bool,
) -> None:
    """Report where each step's time goes, and what to fix first.

    SOURCE_OR_DB is a trace database or a file that `traceq ingest` accepts; several traces are reported together, the ranks
    of a job as one. The first screen says what to fix first, how long a step then takes, where a step's time goes and
    what else there is to fix: at most 60 lines, 120 for several traces.
    -v adds the evidence for each finding, --full every section, --sql the queries. Text that is longer than the
    terminal goes through $PAGER. HTML, Markdown and JSON hold everything.

    Exit status: 0 a report was made, even if it cannot tell what to fix; 1 SOURCE_OR_DB cannot be read, or nothing was
    recorded in it; 2 wrong usage. To fail on what a report says, use traceq check.

    \b
    Examples:
      traceq report profile.duckdb
      traceq report profile.duckdb --finding F1 --sql
      traceq report profile.duckdb -o report.html
      traceq report profile.sqlite --ticket --against main --for gitlab -o ticket.md
    """  # noqa: D301 - click wants the backspace itself
    read = replace(read, axes=axes).with_writes(output)
    name = format_ or ("md" if ticket else "text")
    if against is not None or site is not None or (ticket and name == "md" and not charts):
        _check_ticket(format_, sources, is_ticket=ticket)
        from traceq.app.ticket import ticket as make_ticket

        made = make_ticket(
            sources[0], read, against=against, site=site or "github", goal=goal, rules=rules, traces=traces, rank=rank
        )
        write(made.text, output)
        _print_verdict(made, output)
        return
    text.check(name)
    if charts and (name != "md" or output is None):
        raise click.UsageError("--charts writes pictures next to a Markdown file: give -o FILE.md.")
    from traceq.app.report import report as make_report
    from traceq.diagnosis.packs import is_of_extra

    if text.finding is not None and is_of_extra(text.finding):
        rules = (*rules, EXTRA)
    view = make_report(
        sources[0] if len(sources) == 1 else sources,
        top,
        read,
        goal=goal,
        rules=rules,
        store=store,
        scope=text.choose_scope(name, ticket=ticket),
        ticket=ticket,
        traces=traces,
        rank=rank,
        cost_per_gpu_hour=cost_per_gpu_hour,
    )
    if charts and output is not None:
        view.save_with_charts(output)
    elif name == "text":
        write_text(partial(view.to_text, detail=text.detail, finding=text.finding, sql=text.sql), output)
    else:
        write_view(view, name, output)
    _print_verdict(view, output)


def _check_ticket(format_: str | None, sources: tuple[str, ...], *, is_ticket: bool) -> None:
    """Raise UsageError for options that a ticket does not use, or that are only for tickets."""
    if not is_ticket:
        raise click.UsageError("--against and --for say what is in a ticket: add --ticket.")
    if format_ not in (None, "md", "text"):
        raise click.UsageError(f"A ticket is in the markup of --for, not in {format_}: name FILE.md or FILE.txt.")
    if explicit_options("store"):
        raise click.UsageError("--save and --ticket do different things: run traceq report twice.")
    if clash := explicit_options(*TextOptions._fields, "top", "charts", "cost_per_gpu_hour"):
        raise click.UsageError(f"{', '.join(clash)}: the layout of a ticket is fixed, at most 10 KB; leave that out.")
    if len(sources) > 1:
        raise click.UsageError("A ticket is about one SOURCE_OR_DB, which may be a directory.")


def _print_verdict(made: ReportView | TicketText, output: Path | None) -> None:
    """Print on stderr, if a file was written, its name and the verdict."""
    if output is not None:
        click.echo(f"traceq: wrote {printable(str(output))}: {printable(made.verdict)}", err=True)
