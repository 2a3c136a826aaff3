"""traceq record: run a training program as it is, and report on a window of its steps."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from traceq.cli import completion
from traceq.cli._options import FILE, F, within_limits
from traceq.common.text import printable, without_controls
from traceq.errors import TraceqError

if TYPE_CHECKING:
    from traceq.capture.attach.attach import AttachRequest
    from traceq.capture.record import Request

# Steps of a window whose length nobody asked for.
_MOST_STEPS = 50


def _number(name: str, least: int, default: int, help_: str) -> Callable[[F], F]:
    """Return a decorator that declares an option for a whole number of at least `least`."""
    return click.option(
        name, type=click.IntRange(min=least), default=default, show_default=True, metavar="N", help=help_
    )


@click.command(
    short_help="Record a training program without editing it, and report.",
    context_settings={"allow_interspersed_args": False},
)
@click.argument(
    "command", nargs=-1, type=click.UNPROCESSED, metavar="-- COMMAND...", shell_complete=completion.complete_files
)
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
    metavar="N",
    help="Steps to record. With nsys, 0 records all of the program.  [default: 5; with torch, and in one process, as many as"
    " take a second, at most 50]",
)
@_number("--warmup", 1, 2, "Steps before them, in which the profiler starts.")
@_number("--skip", 0, 5, "Steps before these, without the profiler.")
@click.option(
    "-o",
    "--output",
    "directory",
    type=click.Path(path_type=Path),
    default=Path("traces"),
    show_default=True,
    metavar="DIR",
    help="Directory for the traces and the database.",
)
@click.option("--memory", is_flag=True, help="With every allocation of memory.")
@click.option(
    "--memory-history", is_flag=True, help="With PyTorch's history of GPU memory, as a snapshot beside each trace."
)
@click.option("--stacks", is_flag=True, help="Record every Python call: names source lines, makes steps far longer.")
@click.option("--no-samples", is_flag=True, help="Do not sample what Python runs between operators.")
@click.option(
    "--no-printed", is_flag=True, help="Do not keep the step times, losses and the like that the program prints."
)
@click.option(
    "--attach",
    metavar="PROGRAM",
    help="Profile a program that is already running: dynolog, vllm, sglang, ray, a URL, or a process id.",
)
@click.option(
    "--pid", type=click.IntRange(min=1), metavar="PID", help="With --attach: only this process of dynolog or Ray."
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=5.0,
    show_default=True,
    metavar="S",
    help="With --attach: how long vLLM records.",
)
@click.option(
    "--wait",
    type=click.FloatRange(min=0, min_open=True),
    default=300.0,
    show_default=True,
    metavar="S",
    help="With --attach: how long to wait for the trace.",
)
@click.option(
    "--trace-dir",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="With --attach: where the program writes traces, seen from here.",
)
@click.option("--html", type=FILE, metavar="FILE", help="Also write the report as an HTML page to FILE.")
@click.option("--dry-run", is_flag=True, help="Print the command and what is added to its environment; run nothing.")
@click.option("--no-report", is_flag=True, help="Make the database, but no report.")
@click.pass_context
def record(
    context: click.Context,
    /,
    *,
    command: tuple[str, ...],
    backend: str,
    steps: int | None,
    warmup: int,
    skip: int,
    directory: Path,
    memory: bool,
    memory_history: bool,
    stacks: bool,
    no_samples: bool,
    no_printed: bool,
    attach: str | None,
    pid: int | None,
    seconds: float,
    wait: float,
    trace_dir: Path | None,
    html: Path | None,
    dry_run: bool,
    no_report: bool,
) -> None:
    """Record a training program without editing it, and report.

    Runs COMMAND as it is (python, torchrun, accelerate, a shell script that calls them), records a window of its
    training steps with a profiler, ingests the traces and reports on them. Steps are found by the calls of an optimizer's
    step(). The program keeps its output and exit code; apart from the report, traceq writes to stderr.

    With --attach and no COMMAND, traceq asks a running program for a trace: PyTorch through dynolog, vLLM, SGLang, Ray. With a
    process id, py-spy prints what each Python thread of it does or waits for.

    \b
    Examples:
      traceq record -- python train.py --epochs 1
      traceq record --skip 50 --steps 10 -o traces -- torchrun --nproc-per-node 2 train.py
      traceq record --stacks --memory --html report.html -- python train.py
      traceq record --backend nsys -- python train.py
      traceq record --attach vllm:localhost:8000 --trace-dir /tmp/traces
      traceq record --attach 4711
    """  # noqa: D301 - click wants the backspace itself
    from traceq.capture.attach.attach import AttachRequest
    from traceq.capture.record import Request, plan
    from traceq.capture.record import record as run

    least = 5 if steps is None else steps
    most = _MOST_STEPS if steps is None else least
    if attach is not None:
        if command or backend != "torch" or memory or stacks or dry_run:
            raise click.UsageError(
                "--attach asks a program that is already running: it goes without a command, "
                "--backend, --memory, --stacks and --dry-run."
            )
        _attach_program(
            context,
            AttachRequest(attach, directory, least, seconds, wait, pid, trace_dir),
            report=not no_report,
            html=html,
        )
        return
    _reject_options_of_attach(context)
    request = Request(
        command,
        backend,
        directory,
        least,
        warmup,
        skip,
        memory,
        stacks,
        printed=not no_printed,
        memory_history=memory_history,
        samples=not no_samples,
        most_steps=most,
    )
    _reject_combinations(request)
    launch = plan(request)
    if dry_run:
        additions = [f"{name}={shlex.quote(value)} \\" for name, value in launch.additions.items()]
        click.echo("\n".join([*additions, shlex.join(launch.command)]))
        return
    recorded = run(request, launch)
    for reason in recorded.reasons:
        _print_line(reason)
    traces = tuple(request.directory / trace.name for trace in recorded.traces)
    database = request.directory / f"{launch.name}.duckdb"
    failed = bool(traces) and not _ingest_and_report(context, database, traces, report=not no_report, html=html)
    if traces and not failed:
        from traceq.app.program_log import keep_recording

        within_limits(keep_recording)(request.directory, request.command, database, _print_line)
    context.exit(recorded.exit_code or int(failed))


def _reject_combinations(request: Request) -> None:
    """Raise UsageError for a request without a command, or with what its profiler cannot do."""
    if not request.command:
        raise click.UsageError("No command to run: traceq record [OPTIONS] -- python train.py")
    if request.backend == "torch" and request.steps == 0:
        raise click.UsageError(
            "--steps 0 is for --backend nsys; the PyTorch profiler needs a window of at least one step."
        )
    if request.backend == "nsys" and request.stacks:
        raise click.UsageError("--stacks is for --backend torch: nsys keeps Python stacks for its own viewer only.")
    if request.backend == "nsys" and request.memory_history:
        raise click.UsageError("--memory-history is for --backend torch: nsys records allocations with --memory.")


def _reject_options_of_attach(context: click.Context) -> None:
    """Raise UsageError where an option is given that goes with --attach only."""
    for name in ("pid", "seconds", "wait", "trace_dir"):
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise click.UsageError(f"--{name.replace('_', '-')} goes with --attach only.")


def _attach_program(context: click.Context, request: AttachRequest, *, report: bool, html: Path | None) -> None:
    """Ask a running program for a trace and report on it, or print the stacks of a process."""
    from traceq.capture.attach.attach import ask_program

    attached = ask_program(request)
    if attached.stacks is not None:
        click.echo(without_controls(attached.stacks), nl=False)
        _print_line(f"stacks: {attached.file}")
        return
    database = request.directory / f"{attached.name}.duckdb"
    context.exit(int(not _ingest_and_report(context, database, attached.traces, report=report, html=html)))


def _print_line(text: str) -> None:
    """Print a line of traceq's on stderr."""
    click.echo(f"traceq: {printable(text)}", err=True)


def _ingest_and_report(
    context: click.Context, database: Path, traces: tuple[Path, ...], *, report: bool, html: Path | None
) -> bool:
    """Ingest the recorded traces and report on them; return whether that worked.

    An error is only printed, so that it does not hide the recorded program's exit code.
    """
    from traceq.app.ingest import ingest
    from traceq.capture.memory_history import find_snapshot
    from traceq.cli.ingest import summarize

    snapshots = tuple(snapshot for trace in traces if (snapshot := find_snapshot(trace)))
    try:
        # Of several ranks, a snapshot would be read beside the traces of all.
        logs = snapshots if len(traces) == 1 else ()
        _print_line(summarize(within_limits(ingest)(traces, database, logs=logs)))
        if report:
            _report(context, database)
        if html is not None:
            _report(context, database, "-o", str(html), "--format", "html")
    except TraceqError as error:
        _print_line(f"error: {error}")
        return False
    finally:
        for trace in traces:
            _print_line(f"trace: {trace}")
        for snapshot in snapshots:
            _print_line(f"memory history: {snapshot}")
    if not report:  # which says itself what is next
        _print_line(f"next: traceq report {shlex.quote(str(database))}")
    return True


def _report(context: click.Context, database: Path, *options: str) -> None:
    """Run `traceq report` on the database with these options."""
    from traceq.cli.report import report

    with report.make_context("report", [str(database), *options], parent=context.parent) as inner:
        report.invoke(inner)
    sys.stdout.flush()
