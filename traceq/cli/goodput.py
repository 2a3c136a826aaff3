"""traceq goodput: where the wall time of a whole run went, from its logs."""

from __future__ import annotations

from pathlib import Path

import click

from traceq.cli import completion
from traceq.cli._options import FILE, Parsed, document_options, memory_option, within_limits
from traceq.cli._output import write_view
from traceq.common.units import parse_duration

_LOG = click.Path(exists=True, path_type=Path)


@click.command("goodput", short_help="Show where the time and money of a whole run went.")
@click.argument("logs", nargs=-1, required=True, type=_LOG, metavar="LOG...", shell_complete=completion.complete_files)
@click.option(
    "--with",
    "monitors",
    multiple=True,
    type=_LOG,
    metavar="LOG",
    shell_complete=completion.complete_files,
    help="Log of a monitor with the power of GPUs (nvidia-smi, DCGM, amd-smi), for energy; repeatable.",
)
@click.option(
    "--log-format",
    "formats",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="TOML",
    shell_complete=completion.complete_files,
    help="File that declares a text format of logs (docs/run-logs.md); repeatable."
    "  [env: TRACEQ_LOG_FORMATS, a folder of them]",
)
@click.option("--gpus", type=click.IntRange(1), metavar="N", help="GPUs of the job. [default: as the logs say]")
@click.option(
    "--cost-per-gpu-hour",
    "price",
    type=click.FloatRange(0, min_open=True),
    metavar="DOLLARS",
    help="What a GPU costs an hour.",
)
@click.option(
    "--ideal-step",
    "ideal_step_ns",
    type=Parsed("time", parse_duration),
    metavar="TIME",
    help='The step that the program could reach: "2.9 s".',
)
@click.option("--offset", type=float, metavar="SECONDS", help="Add this to times of logs that do not name their zone.")
@click.option("--save", type=FILE, metavar="FILE.duckdb", help="Keep the tables of the run, for traceq sql.")
@document_options()
@memory_option
@within_limits
def show_goodput(
    *,
    logs: tuple[Path, ...],
    monitors: tuple[Path, ...],
    formats: tuple[Path, ...],
    gpus: int | None,
    price: float | None,
    ideal_step_ns: int | None,
    offset: float | None,
    save: Path | None,
    output: Path | None,
    format_: str,
) -> None:
    """Show where the wall time of a whole run went, from its logs alone: no trace is needed.

    Each LOG is a training log (docs/run-logs.md), of one run: of several ranks, or one after the other. sacct -P -D and
    kubectl get pod -o json add when the job waited in the queue and why it ended. Every nanosecond from the first to the
    last time known counts once: steps that count, steps that a restart did again, compilation, data, evaluation,
    checkpoints, start-up, hangs, restarts, idle GPUs and the queue.

    \b
    Examples:
      traceq goodput train.log
      traceq goodput train.log sacct.txt --cost-per-gpu-hour 2.50
      traceq goodput slurm-*.out --gpus 64 --with gpu_power.csv -o goodput.html
    """  # noqa: D301 - click wants the backspace itself
    from traceq.app.goodput import measure_goodput
    from traceq.runs.goodput.goodput import Terms

    view = measure_goodput(
        logs,
        monitors,
        formats,
        Terms(gpus, price, ideal_step_ns),
        offset=offset,
        save=save,
        writes=[output] if output else [],
    )
    write_view(view, format_, output)
