"""traceq record: run a training program as it is, and report on a window of its steps."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from traceq.common.text import printable
from traceq.errors import TraceqError

if TYPE_CHECKING:
    from traceq.capture.record import Launch


@click.command(
    short_help="Record a training program without editing it.", context_settings={"allow_interspersed_args": False}
)
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="-- COMMAND...")
@click.option(
    "--backend",
    type=click.Choice(("torch", "nsys")),
    default="torch",
    show_default=True,
    help="The PyTorch profiler, or Nsight Systems.",
)
@click.option(
    "--steps",
    type=click.IntRange(min=0),
    default=5,
    show_default=True,
    metavar="N",
    help="Steps to record. With nsys, 0 records all of the program.",
)
@click.option(
    "--warmup",
    type=click.IntRange(min=1),
    default=2,
    show_default=True,
    metavar="N",
    help="Steps before, in which the profiler starts.",
)
@click.option(
    "--skip",
    type=click.IntRange(min=0),
    default=5,
    show_default=True,
    metavar="N",
    help="Steps before these, without the profiler.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=Path("traces"),
    show_default=True,
    metavar="DIR",
    help="Directory for the traces and the database.",
)
@click.option("--dry-run", is_flag=True, help="Print the command and what is added to its environment; run nothing.")
@click.option("--no-report", is_flag=True, help="Make the database, and no report.")
@click.pass_context
def record(
    context: click.Context,
    *,
    command: tuple[str, ...],
    backend: str,
    steps: int,
    warmup: int,
    skip: int,
    output: Path,
    dry_run: bool,
    no_report: bool,
) -> None:
    """Record a training program without editing it.

    Runs COMMAND as it is (python, torchrun, accelerate, a shell script that calls them), records a window of its
    training steps with a profiler, ingests the traces and reports on them. Steps are found where an optimizer steps.
    The program's output and exit code are its own; what traceq has to say, but for the report, goes to stderr.

    \b
    Examples:
      traceq record -- python train.py --epochs 1
      traceq record --skip 50 --steps 10 -o traces -- torchrun --nproc-per-node 2 train.py
      traceq record --backend nsys -- python train.py
    """  # noqa: D301 - click wants the backspace itself
    from traceq.capture.record import Request, plan
    from traceq.capture.record import record as run

    if not command:
        raise click.UsageError("No command to run: traceq record [OPTIONS] -- python train.py")
    if backend == "torch" and steps == 0:
        raise click.UsageError(
            "--steps 0 is for --backend nsys; the PyTorch profiler needs a window of at least one step."
        )
    request = Request(command, backend, output, steps, warmup, skip)
    launch = plan(request)
    if dry_run:
        click.echo(_shell(launch))
        return
    recorded = run(request, launch)
    for reason in recorded.reasons:
        _tell(reason)
    traces = tuple(output / trace.name for trace in recorded.traces)
    failed = bool(traces) and not _kept(context, output / f"{launch.name}.duckdb", traces, report=not no_report)
    context.exit(recorded.exit_code or int(failed))


def _shell(launch: Launch) -> str:
    """The launch as a shell would take it."""
    additions = [f"{name}={shlex.quote(value)} \\" for name, value in launch.additions.items()]
    return "\n".join([*additions, shlex.join(launch.command)])


def _tell(text: str) -> None:
    click.echo(f"traceq: {printable(text)}", err=True)


def _kept(context: click.Context, database: Path, traces: tuple[Path, ...], *, report: bool) -> bool:
    """Ingest the traces and report on them; False when that failed, which must not hide the program's exit code."""
    try:
        _ingest(traces, database)
        if report:
            _report(context, database)
    except TraceqError as error:
        _tell(f"error: {error}")
        return False
    finally:
        for trace in traces:
            _tell(f"trace: {trace}")
    _tell(f"next: traceq {'shell' if report else 'report'} {shlex.quote(str(database))}")
    return True


def _ingest(traces: tuple[Path, ...], database: Path) -> None:
    from traceq.app.ingest import ingest
    from traceq.cli._options import bar
    from traceq.cli.ingest import summary
    from traceq.common.process import usable_cpus

    _tell(summary(ingest(traces, database, jobs=usable_cpus(), progress=bar())))


def _report(context: click.Context, database: Path) -> None:
    from traceq.cli.report import report

    with report.make_context("report", [str(database)], parent=context.parent) as inner:
        report.invoke(inner)
    sys.stdout.flush()
