"""traceq replay-op: a script that runs the slow operators of a trace again, without the model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from traceq.cli import completion
from traceq.cli._options import FILE, finding_option, force_option, rank_option, read_options
from traceq.cli._output import write
from traceq.common.text import printable
from traceq.common.units import duration, some

if TYPE_CHECKING:
    from traceq.app.read_options import ReadOptions, Which
    from traceq.app.replay_operator import OperatorReplay

_MOST_LEFT_OUT = 3


@click.command("replay-op", short_help="Write a script that runs a trace's slow operators without the model.")
@click.argument("source", metavar="TRACE", shell_complete=completion.complete_files)
@click.option("--op", "operator", metavar="NAME", help="The operator of this name, as aten::mm or mm.")
@finding_option("--finding", "The operators of a finding")
@click.option("--kernel", metavar="TEXT", help="The operators that launched a kernel with this in its name.")
@click.option(
    "--batch",
    type=click.IntRange(min=1, max=1000),
    default=1,
    show_default=True,
    metavar="N",
    help="The N with the most time to win, each with other inputs, in one script.",
)
@click.option("-o", "--output", type=FILE, metavar="FILE", help="Write the script to FILE.  [default: print it]")
@rank_option("Of")
@force_option
@read_options
def replay_operators(
    *,
    source: str,
    operator: str | None,
    finding: str | None,
    kernel: str | None,
    batch: int,
    output: Path | None,
    which: Which,
    force: bool,
    read: ReadOptions,
) -> None:
    """Write a script that runs slow operators of a trace again, without the model, to tune them and to file bugs with.

    The script needs PyTorch only. It has the shapes, strides, types and settings of the trace, times the operator in
    variants (contiguous, padded, channels_last, bf16, TF32, libraries of attention, compiled), checks that they compute the
    same, and compares them with the recorded time and the GPU's ceiling. Without --op, --finding or --kernel it runs
    the operator that could win most time. The trace must have shapes (record_shapes=True).

    \b
    Examples:
      traceq replay-op trace.json.gz -o replay.py && python replay.py
      traceq replay-op trace.json.gz --finding F1 -o replay.py
      traceq replay-op trace.json.gz --op mm --batch 5 -o matmuls.py
      traceq replay-op trace.json.gz --kernel softmax | python - --device cpu
    """  # noqa: D301 - click wants the backspace itself
    from traceq.app.replay_operator import ReplayChoice
    from traceq.app.replay_operator import replay_operators as work
    from traceq.app.trim import check_is_new

    if output is not None:
        check_is_new(output, force=force)
    choice = ReplayChoice(operator, kernel, finding, batch)
    found = work(source, choice, which, read.with_writes(output))
    write(found.script, output)
    _print_summary(found, output)


def _print_summary(found: OperatorReplay, output: Path | None) -> None:
    """Print on stderr what the script runs, what it had to leave out, and how to start it."""
    for recorded in found.replayed:
        times = (
            f"{some(recorded.calls, 'call')}, {duration(recorded.total_dur)}, median {duration(recorded.median_dur)}"
        )
        click.echo(printable(f"{recorded.name}: {times}"), err=True)
    left_out: dict[tuple[str, str], int] = {}
    for name, took, reason in found.passed_over:
        left_out[name, reason] = left_out.get((name, reason), 0) + took
    for (name, reason), took in list(left_out.items())[:_MOST_LEFT_OUT]:
        click.echo(printable(f"left out: {name} ({duration(took)}): {reason}"), err=True)
    if len(left_out) > _MOST_LEFT_OUT:
        click.echo(f"left out: {some(len(left_out) - _MOST_LEFT_OUT, 'other operator')}", err=True)
    if output is not None:
        click.echo(printable(f"Run it: python {output}"), err=True)
