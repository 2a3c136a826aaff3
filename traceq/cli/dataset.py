"""traceq dataset: list what a dataset holds, take traces out of it, and check it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, ClassVar

import click

from traceq.cli import completion
from traceq.cli._group import LazyGroup
from traceq.cli._options import json_option, memory_option, wait_option, within_limits
from traceq.cli._output import write_json
from traceq.common.text import printable
from traceq.common.units import size, some

if TYPE_CHECKING:
    from collections.abc import Mapping

    from traceq.app.dataset import DatasetListing

# As of traceq check.
_FAULTY = 3


class DatasetCommands(LazyGroup):
    """The commands about datasets."""

    lazy: ClassVar[Mapping[str, tuple[str, str]]] = {
        "list": ("traceq.cli.dataset:list_", "List the windows of a dataset and their ranks."),
        "drop": ("traceq.cli.dataset:drop", "Take a run, a window or a rank out of a dataset."),
        "compact": ("traceq.cli.dataset:compact", "Remove what a dataset no longer needs."),
        "verify": ("traceq.cli.dataset:verify", "Check that a dataset holds what it lists, row by row."),
    }


@click.command(cls=DatasetCommands, short_help="Manage a dataset: list, drop, compact, verify.")
def dataset() -> None:
    """Manage a dataset: a folder, here or in an object store, with the traces of many ranks.

    `traceq ingest SOURCE -o NAME/` makes one and adds to it; every other command takes it like a database (docs/scale.md).
    """


@click.command("list", short_help="List the windows of a dataset and their ranks.")
@click.argument("name", metavar="DATASET", shell_complete=completion.complete_files)
@json_option("json: for programs.")
def list_(*, name: str, format_: str) -> None:
    """List the windows of a dataset: ranks, bytes, when the ranks were last judged together, and whether that still holds.

    \b
    Examples:
      traceq dataset list job/
      traceq dataset list s3://bucket/job --format json
    """  # noqa: D301 - click wants the backspace itself
    from traceq.app.dataset import list_dataset

    found = list_dataset(name)
    if format_ == "json":
        # with the names of what is in it
        write_json(found._asdict() | {"windows": [window._asdict() for window in found.windows]})
    else:
        _write_list(found)


def _write_list(found: DatasetListing) -> None:
    """Print the contents of a dataset: a line on the whole, a table of its windows, and what could be freed."""
    from traceq.cli._table import write_plain
    from traceq.cli.sql import terminal_width
    from traceq.common.ranks import list_ranks

    traces = sum(len(window.ranks) for window in found.windows)
    held = f"{some(len(found.windows), 'window')}, {some(traces, 'trace')}, {size(found.bytes)}"
    click.echo(printable(f"{found.name}: {held}, generation {found.generation}, by traceq {found.traceq}"))
    if found.windows:
        rows = [
            (
                run,
                str(window),
                str(len(ranks)),
                list_ranks(ranks),
                size(used),
                judged_at,
                "fresh" if is_fresh else "stale",
            )
            for run, window, ranks, used, judged_at, is_fresh in found.windows
        ]
        header = ("run", "window", "traces", "ranks", "size", "judged", "job")
        sys.stdout.flush()
        write_plain(header, rows, [False, True, True, False, True, False, False], sys.stdout.buffer, terminal_width())
        sys.stdout.buffer.flush()
    if found.unused_bytes:
        click.echo(f"{size(found.unused_bytes)} can be freed: traceq dataset compact {printable(found.name)}")
    if found.waiting_bytes:
        click.echo(f"{size(found.waiting_bytes)} are left of an ingest that ended early; run it again to continue")


@click.command(short_help="Take a run, a window or a rank out of a dataset.")
@click.argument("name", metavar="DATASET", shell_complete=completion.complete_files)
@click.option("--run", required=True, metavar="NAME", help="From this run; all of it without --window and --rank.")
@click.option("--window", type=click.IntRange(min=0), metavar="N", help="Only this window.")
@click.option("--rank", type=click.IntRange(min=0), metavar="N", help="Only this rank.")
@wait_option
@memory_option
@within_limits
def drop(*, name: str, run: str, window: int | None, rank: int | None, wait: int) -> None:
    """Take a run, a window of it or a rank out of a dataset, with its files.

    How long ranks wait for each other is worked out again for the windows that lose ranks, and only for them. Whoever has
    the dataset open may get an error at the next query and must open it again.

    \b
    Examples:
      traceq dataset drop job/ --run baseline --window 3
      traceq dataset drop job/ --run baseline --window 0 --rank 17
    """  # noqa: D301 - click wants the backspace itself
    from traceq.app.dataset import drop_from_dataset
    from traceq.common.ranks import list_ranks

    gone = drop_from_dataset(name, run, window=window, rank=rank, wait=wait / 1e9)
    for number in sorted({piece.window for piece in gone}):
        ranks = [piece.rank for piece in gone if piece.window == number]
        click.echo(printable(f"{name}: run {run}, window {number}: {list_ranks(ranks)} dropped"))
    click.echo(f"{some(len(gone), 'trace')}, {size(sum(piece.size for piece in gone))}")


@click.command(short_help="Remove what a dataset no longer needs.")
@click.argument("name", metavar="DATASET", shell_complete=completion.complete_files)
@click.option(
    "--all", "everything", is_flag=True, help="Also remove what an ingest that ended early left to continue from."
)
@wait_option
@memory_option
@within_limits
def compact(*, name: str, everything: bool, wait: int) -> None:
    """Remove what a dataset no longer needs, and judge windows again whose job tables are stale or damaged.

    This removes traces that --force replaced, job tables that were replaced, and unfinished files of interrupted
    ingests, but no files that traceq did not write. It merges no files: each rank keeps its own, so that it can be replaced
    or dropped. Whoever opened the dataset before such a replacement may get an error at the next query and must open it
    again.

    \b
    Examples:
      traceq dataset compact job/
    """  # noqa: D301 - click wants the backspace itself
    from traceq.app.dataset import compact_dataset

    done = compact_dataset(name, everything=everything, wait=wait / 1e9)
    for run, window in done.judged:
        click.echo(printable(f"{name}: run {run}, window {window}: judged again"))
    click.echo(printable(f"{name}: {some(done.files, 'file')} removed, {size(done.size)}"))
    if done.waiting:
        left = f"{some(done.waiting, 'file')} of an ingest that ended early, {size(done.waiting_size)}"
        click.echo(f"kept: {left}; run it again to continue, or remove them with --all")


@click.command(short_help="Check that a dataset holds what it lists, row by row.")
@click.argument("name", metavar="DATASET", shell_complete=completion.complete_files)
@json_option("json: for programs.")
@memory_option
@click.pass_context
@within_limits
def verify(ctx: click.Context, *, name: str, format_: str) -> None:
    """Check that a dataset holds what it lists: its files, their rows and digests, and jobs made from these ranks.

    Each fault is one line that says what to do. Exit status: 0 no faults, 3 faults, 1 the dataset cannot be read at all.

    \b
    Examples:
      traceq dataset verify job/
    """  # noqa: D301 - click wants the backspace itself
    from traceq.app.dataset import verify_dataset

    pieces, faults = verify_dataset(name)
    if format_ == "json":
        write_json({"name": name, "traces": pieces, "faults": [fault._asdict() for fault in faults]})
    else:
        for fault in faults:
            click.echo(printable(f"{fault.where}: {fault.what}; {fault.way_out}"))
        click.echo(printable(f"{name}: {some(pieces, 'trace')}, {some(len(faults), 'fault')}"))
    ctx.exit(_FAULTY if faults else 0)
