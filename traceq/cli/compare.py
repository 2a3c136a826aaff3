"""traceq compare: what changed from one run to another, how sure that is, and what it is made of."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from traceq.app.read_options import CompareOptions
from traceq.cli import completion
from traceq.cli._ci_files import CiFiles, ci_options
from traceq.cli._options import (
    SHARE,
    Several,
    document_options,
    explicit_options,
    gather,
    noise_option,
    rank_option,
    read_options,
    runs_option,
    statistic_option,
)
from traceq.cli._output import write_view

if TYPE_CHECKING:
    from traceq.app.compare_memory import MemoryComparisonView
    from traceq.app.read_options import ReadOptions, Which


@click.command(cls=Several, short_help="Show what changed from one run to another.")
@click.argument("sources", nargs=-1, metavar="[BASE NEW]", shell_complete=completion.complete_baselines)
@runs_option("--base", "Runs of the base, pooled.", completion.complete_baselines)
@runs_option("--new", "Runs to compare with them, pooled.", completion.complete_baselines)
@document_options(default=None)
@click.option("--top", type=click.IntRange(min=1), default=10, show_default=True, metavar="N", help="Rows of a table.")
@rank_option("Compare", "the whole job, else the lowest")
@statistic_option("compare")
@click.option("--level", type=float, default=0.02, show_default=True, help="Accepted rate of false positives.")
@click.option("--least", "floor_share", type=SHARE, default="1%", show_default=True, help="Smallest change to report.")
@click.option(
    "--sensitivity",
    "sensitivity_share",
    type=SHARE,
    default="5%",
    show_default=True,
    help="Say 'no change' only when a change of that size would have been found.",
)
@noise_option
@click.option(
    "--ticket", is_flag=True, help="For an issue: at most 10 KB, hosts, users and paths replaced. [format: md]"
)
@ci_options("Write JUnit XML, with a test that there is no regression.")
@click.option("--anyway", is_flag=True, help="Give a verdict even if GPUs, shapes or settings differ.")
@gather("options", CompareOptions, *CompareOptions._fields)
@read_options
def compare(
    *,
    sources: tuple[str, ...],
    base: tuple[str, ...],
    new: tuple[str, ...],
    output: Path | None,
    format_: str | None,
    top: int,
    which: Which,
    ticket: bool,
    ci: CiFiles,
    options: CompareOptions,
    read: ReadOptions,
) -> None:
    """Show what changed from BASE to NEW, how sure that is, and what the change is made of.

    BASE and NEW are trace databases, what `traceq ingest` accepts, or names of baselines; or one memory snapshot of
    PyTorch each, whose peaks are compared. The verdict is regression or improvement; likely regression or likely
    improvement, if the steps prove nothing but the change is many times the usual difference of two runs; no change; or
    cannot tell, with the reason. The exit status is 0 for every verdict: use `traceq check` as a gate.

    \b
    Examples:
      traceq compare before.duckdb after.duckdb
      traceq compare main profile.sqlite -o change.html
      traceq compare --ticket main profile.sqlite -o ticket.md
      traceq compare --base a1.duckdb a2.duckdb --new b1.duckdb b2.duckdb
    """  # noqa: D301 - click wants the backspace itself
    base, new = _split_sides(sources, base, new)
    name = format_ or ("md" if ticket else "text")
    read = read.with_writes(output, *ci)
    from traceq.app.compare import compare as compare_runs
    from traceq.app.compare_memory import is_snapshot

    if any(map(is_snapshot, (*base, *new))):
        write_view(_compare_snapshots(base, new, read, top), name, output)
        return
    if ticket and explicit_options("top"):
        raise click.UsageError("--top: the layout of a ticket is fixed, at most 10 KB; leave --top out.")
    view = compare_runs(base, new, which, read, options, top=top, drawn=name == "html", ticket=ticket)
    ci.write(view)
    write_view(view, name, output)


def _compare_snapshots(
    base: tuple[str, ...], new: tuple[str, ...], read: ReadOptions, top: int
) -> MemoryComparisonView:
    """Compare two memory snapshots. Raises UsageError for more than two, and for options that are about times."""
    from traceq.app.compare_memory import compare_memory

    if len(base) + len(new) > 2:  # noqa: PLR2004 - base and new
        raise click.UsageError("Compare two memory snapshots, one per side.")
    if clash := explicit_options(*_OF_TIMES):
        raise click.UsageError(f"{', '.join(clash)}: only for times, which memory snapshots do not have.")
    return compare_memory(base[0], new[0], read, top=top)


# Options that say nothing of a memory snapshot.
_OF_TIMES = (
    *("rank", "trace", *CompareOptions._fields, "ticket", "junit", "sarif", "code_quality"),
    *("step_range", "steps_per", "window", "capture", "inductor"),
)


def _split_sides(
    sources: tuple[str, ...], base: tuple[str, ...], new: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the sources of both sides: BASE and NEW, or those of --base and --new.

    Raises UsageError for anything else.
    """
    if base and new and not sources:
        return base, new
    if not base and not new and len(sources) == 2:  # noqa: PLR2004 - base and new
        return sources[:1], sources[1:]
    raise click.UsageError("Give BASE NEW, or --base SOURCE... --new SOURCE... for several runs per side.")
