"""traceq compare: what changed from one run to another, how sure that is, and what it is made of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from traceq.cli import completion
from traceq.cli._options import (
    FILE,
    SHARE,
    Several,
    document_options,
    noise_option,
    rank_option,
    reading,
    reading_options,
)
from traceq.cli._output import write, write_view


@click.command(cls=Several, short_help="Say what changed from one run to another.")
@click.argument("sources", nargs=-1, metavar="[BASE NEW]", shell_complete=completion.baselines)
@click.option(
    "--base",
    multiple=True,
    metavar="SOURCE...",
    shell_complete=completion.baselines,
    help="Runs of the base, pooled.",
)
@click.option(
    "--new",
    multiple=True,
    metavar="SOURCE...",
    shell_complete=completion.baselines,
    help="Runs to compare with them, pooled.",
)
@document_options(default=None)
@click.option("--top", type=click.IntRange(min=1), default=10, show_default=True, metavar="N", help="Rows of a table.")
@rank_option("Compare", "the whole job, else the lowest")
@click.option(
    "--by",
    "statistic",
    type=click.Choice(("typical", "mean")),
    default="typical",
    show_default=True,
    help="The step to compare: the middle half of all steps, or all of them.",
)
@click.option("--level", type=float, default=0.02, show_default=True, help="How often chance may pass for a change.")
@click.option(
    "--least", "floor_share", type=SHARE, default="1%", show_default=True, help="The smallest change to call one."
)
@click.option(
    "--sensitivity",
    "sensitivity_share",
    type=SHARE,
    default="5%",
    show_default=True,
    help="Say 'no change' only when a change of that size would have been found.",
)
@noise_option
@click.option("--ticket", is_flag=True, help="In at most 10 KB, hosts, users and paths replaced. [format: md]")
@click.option("--junit", type=FILE, metavar="FILE", help="Write JUnit XML: a test that there is no regression.")
@click.option("--sarif", type=FILE, metavar="FILE", help="Write SARIF 2.1.0.")
@click.option("--code-quality", type=FILE, metavar="FILE", help="Write a Code Quality report for GitLab.")
@click.option("--anyway", is_flag=True, help="Give a verdict although GPUs, shapes or settings differ.")
@reading_options
def compare(
    *,
    sources: tuple[str, ...],
    base: tuple[str, ...],
    new: tuple[str, ...],
    output: Path | None,
    format_: str | None,
    top: int,
    ticket: bool,
    junit: Path | None,
    sarif: Path | None,
    code_quality: Path | None,
    **options: Any,
) -> None:
    """Say what changed from BASE to NEW, how sure that is, and what the change is made of.

    BASE and NEW are trace databases, what `traceq ingest` accepts, or baselines by name; or a memory snapshot of
    PyTorch each, of which the peaks are compared. The verdict is regression,
    improvement, no change, or cannot tell with the reason; the exit status is 0 whatever it is: `traceq check` is
    for gates.

    \b
    Examples:
      traceq compare before.duckdb after.duckdb
      traceq compare main profile.sqlite -o change.html
      traceq compare --ticket main profile.sqlite -o ticket.md
      traceq compare --base a1.duckdb a2.duckdb --new b1.duckdb b2.duckdb
    """  # noqa: D301 - click wants the backspace itself
    base, new = _sides(sources, base, new)
    from traceq.app.compare import compare as compare_runs

    name = format_ or ("md" if ticket else "text")
    from traceq.app.compare_memory import compare_memory, is_snapshot

    if any(map(is_snapshot, (*base, *new))):
        if ticket or junit or sarif or code_quality or len(base) + len(new) > 2:  # noqa: PLR2004 - base and new
            raise click.UsageError("Two memory snapshots, one a side: --ticket, --junit and the like are for times.")
        kept = {"memory_limit": options["memory_limit"], "cache": options["cache"]}
        write_view(compare_memory(base[0], new[0], **kept, **reading(output)), name, output, top=top)
        return
    view = compare_runs(
        base, new, drawn=name == "html", ticket=ticket, **options, **reading(output, junit, sarif, code_quality)
    )
    if junit is not None:
        write(view.to_junit(), junit)
    if sarif is not None:
        write(view.to_sarif(), sarif)
    if code_quality is not None:
        write(view.to_code_quality(), code_quality)
    write_view(view, name, output, top=top)


def _sides(
    sources: tuple[str, ...], base: tuple[str, ...], new: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if base and new and not sources:
        return base, new
    if not base and not new and len(sources) == 2:  # noqa: PLR2004 - base and new
        return sources[:1], sources[1:]
    raise click.UsageError("Say BASE NEW, or --base SOURCE... --new SOURCE... for several runs a side.")
