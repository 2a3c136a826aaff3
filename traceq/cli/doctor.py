"""traceq doctor: what a trace can answer and whether its numbers add up; what a capture must hold for the metrics wanted."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from traceq.cli import completion
from traceq.cli._options import explicit_options, output_option, read_options_with_logs, traces_options
from traceq.cli._output import write
from traceq.errors import BrokenIdentity
from traceq.formats.capabilities import FORMATS, METRICS, Metric, metrics_named
from traceq.formats.format import Capture, merge_records

if TYPE_CHECKING:
    from traceq.app.read_options import ReadOptions

_WIDTH = 100

# Options that say nothing of the names of metrics.
_OF_TRACES = (
    "output", "format_", "traces", "rank", "step_range", "steps_per", "window", "capture", "inductor", "memory_limit", "cache",
)  # fmt: skip


@click.command(short_help="Show what a trace can answer, or what a capture needs.")
@click.argument(
    "names", nargs=-1, metavar="SOURCE_OR_DB | --plan [METRIC]...", shell_complete=completion.complete_metrics
)
@click.option("--plan", is_flag=True, help="Print the commands that capture these metrics; without names, list them.")
@output_option
@click.option(
    "--format", "format_", type=click.Choice(("text", "json")), help="[default: json for -o *.json, else text]"
)
@traces_options
@read_options_with_logs
def doctor(
    *,
    names: tuple[str, ...],
    plan: bool,
    output: Path | None,
    format_: str | None,
    traces: tuple[int, ...],
    rank: int | None,
    read: ReadOptions,
) -> None:
    """Show what a trace can answer, or what a capture needs.

    SOURCE_OR_DB is a trace database or a file that `traceq ingest` accepts. For each of its traces: which metrics are ok,
    degraded (and why) or not computable, which profiler options would record them, and whether the numbers in the
    database add up; if they do not, the exit status is 1.

    With --plan and the names of metrics: which profilers record each of them and at what cost, and the commands of nsys
    and traceq record and the call of torch.profiler that record them all, ready to paste.

    \b
    Examples:
      traceq doctor profile.sqlite
      traceq doctor --plan
      traceq doctor --plan idle communication
    """  # noqa: D301 - click wants the backspace itself
    if plan:
        if clash := explicit_options(*_OF_TRACES):
            raise click.UsageError(f"{', '.join(clash)}: for traces; --plan takes only names of metrics.")
        _plan(names)
        return
    source = _examine_source(names)
    from traceq.app.doctor import doctor as examine

    view = examine(source, read.with_writes(output), traces=traces, rank=rank)
    is_json = format_ == "json" or (format_ is None and output is not None and output.suffix.lower() == ".json")
    write(view.to_json() if is_json else view.to_text(), output)
    if view.broken:
        way_out = (
            f"the trace is damaged: {', '.join(view.damage)}; trust nothing that depends on these numbers, and record it again"
            if view.damage
            else "ingest the traces again; if that does not help, and nobody has changed the database, report it"
        )
        raise BrokenIdentity(f"{source}: numbers that must agree do not: {', '.join(view.broken)}; {way_out}")


def _examine_source(names: Sequence[str]) -> str:
    """Return the only source to examine.

    Raises UsageError, with the way out, for none or several, or the name of a metric.
    """
    if not names:
        raise click.UsageError("Name a trace or a database, or plan a capture: traceq doctor --plan lists the metrics.")
    if len(names) > 1:
        raise click.UsageError(
            "Give one SOURCE_OR_DB, which may be a directory; for several: traceq ingest SOURCE... -o DB, then"
            " traceq doctor DB. To plan a capture: traceq doctor --plan METRIC..."
        )
    if names[0] in METRICS and not Path(names[0]).exists():
        raise click.UsageError(f"There is no file {names[0]}; to plan a capture: traceq doctor --plan {names[0]}")
    return names[0]


def _plan(names: Sequence[str]) -> None:
    """Print how to record the named metrics, or the list of all metrics. Raises UsageError for a file among them."""
    path = next((name for name in names if name.lower() not in METRICS and Path(name).exists()), None)
    if path is not None:
        raise click.UsageError(
            f"--plan takes names of metrics, and {path} is a file: traceq doctor {path} examines it."
        )
    if names:
        click.echo("\n\n".join(_plan_sections(metrics_named(names))))
        return
    width = max(map(len, METRICS))
    for metric in METRICS.values():
        click.echo(f"{metric.name.ljust(width)}  {metric.answers}")


def _plan_sections(metrics: Sequence[Metric]) -> Iterator[str]:
    """Yield the sections of a capture plan as text: each metric, then the commands of each profiler that can record some."""
    from traceq.formats.capabilities import record_backend

    for metric in metrics:
        yield "\n".join(_describe(metric))
    for form in (form for form in FORMATS if form.is_recorded):
        able = {metric.name: form.captures[metric.name] for metric in metrics}
        captures = [capture for capture in able.values() if isinstance(capture, Capture)]
        missing = [name for name, capture in able.items() if isinstance(capture, str)]
        yield _format_commands(form.profiler, form.commands(merge_records(captures)) if captures else None, missing)
    backend = record_backend(metrics)
    options = "".join(f" {metric.options}" for metric in metrics if metric.options and backend in metric.record)
    command = backend and f"traceq record --backend {backend}{options} -- python train.py"
    yield _format_commands(
        "traceq record", command, [metric.name for metric in metrics if backend not in metric.record]
    )


def _describe(metric: Metric) -> Iterator[str]:
    """Yield lines of text on a metric: what it answers, what recording it costs, and which profilers can."""
    yield f"{metric.name}: {metric.answers}"
    facts = {
        "costs": metric.cost,
        **{form.profiler: _plan_verdict(capture) for form, capture in metric.captures()},
        "traceq record": " or ".join(f"--backend {backend} {metric.options}".rstrip() for backend in metric.record)
        or "cannot",
    }
    for label, text in facts.items():
        first = f"  {label:16}"
        yield textwrap.fill(
            text, _WIDTH, initial_indent=first, subsequent_indent=" " * len(first), break_on_hyphens=False
        )


def _plan_verdict(capture: Capture | str) -> str:
    """Return whether a profiler can record a metric, as text: yes, perhaps with a note, or cannot with the reason."""
    if isinstance(capture, str):
        return f"cannot: {capture}"
    return f"yes: {capture.note}" if capture.note else "yes"


def _format_commands(tool: str, commands: str | None, missing: Sequence[str]) -> str:
    """Return the commands of a recording tool, to paste, below a heading in # comments.

    `missing` are the metrics that the tool cannot record; without `commands` it can record none.
    """
    if not commands:
        return f"# {tool}: records none of these"
    exceptions = f", all but {', '.join(missing)}" if missing else ""
    return f"# {tool}{exceptions}:\n{commands}"
