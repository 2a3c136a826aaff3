"""traceq doctor: what a trace can tell and whether its numbers add up; what a capture must hold for the metrics wanted."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from traceq.cli.ingest import check_regex
from traceq.cli.source import check_output, opened, unreadable, write
from traceq.errors import BrokenIdentity

if TYPE_CHECKING:
    from traceq.capture.plan import Metric, Nsys, Torch
    from traceq.health.diagnosis import TraceHealth

_WIDTH = 100


@click.command(short_help="Say what a trace can tell, or what a capture needs.")
@click.argument("names", nargs=-1, metavar="SOURCE_OR_DB | --plan [METRIC]...")
@click.option("--plan", is_flag=True, help="Print the commands that capture these metrics; without names, list them.")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write to FILE.")
@click.option(
    "--format", "format_", type=click.Choice(("text", "json")), help="[default: json for -o *.json, else text]"
)
@click.option("--step-range", metavar="REGEX", help="The annotations whose names match are the steps; for traces only.")
def doctor(
    *, names: tuple[str, ...], plan: bool, output: Path | None, format_: str | None, step_range: str | None
) -> None:
    """Say what a trace can tell, or what a capture needs.

    SOURCE_OR_DB is a trace database, or what `traceq ingest` accepts. For each of its traces: which metrics are ok,
    degraded (and why) or not computable, the options of the profiler that would bring them, and whether the numbers
    in the database add up; when they do not, the exit status is 1.

    With --plan and the names of metrics: which profiler can give each of them and what it costs, and the command
    lines of nsys and traceq record and the call of torch.profiler that give them all, ready to paste.

    \b
    Examples:
      traceq doctor profile.sqlite
      traceq doctor --plan
      traceq doctor --plan idle communication
    """  # noqa: D301 - click wants the backspace itself
    if plan:
        _refuse_options(output, format_, step_range)
        _plan(names)
        return
    source = _source(names)
    check_regex(step_range)
    check_output(output, Path(source))
    _examine(source, output, format_ or _format_of(output), step_range)


def _refuse_options(*options: object) -> None:
    if any(option is not None for option in options):
        raise click.UsageError("-o, --format and --step-range are for traces; --plan takes names of metrics only.")


def _source(names: Sequence[str]) -> str:
    from traceq.capture.plan import METRICS

    if not names:
        raise click.UsageError("Name a trace or a database, or plan a capture: traceq doctor --plan lists the metrics.")
    if len(names) > 1:
        raise click.UsageError(
            "One SOURCE_OR_DB at a time (a directory is one, too); for several: traceq ingest SOURCE... -o DB, then"
            " traceq doctor DB. To plan a capture: traceq doctor --plan METRIC..."
        )
    if names[0] in METRICS and not Path(names[0]).exists():
        raise click.UsageError(f"There is no file {names[0]}; to plan a capture: traceq doctor --plan {names[0]}")
    return names[0]


def _format_of(output: Path | None) -> str:
    return "json" if output is not None and output.suffix.lower() == ".json" else "text"


def _examine(source: str, output: Path | None, format_: str, step_range: str | None) -> None:
    from traceq.health.diagnosis import diagnose
    from traceq.reports.health_to_json import health_to_json
    from traceq.reports.health_to_text import health_to_text

    with opened(source, output, step_range) as connection, unreadable(source, "examined"):
        traces = diagnose(connection)
    write(health_to_json(traces) if format_ == "json" else health_to_text(traces), output)
    _fail_if_broken(source, traces)


def _fail_if_broken(source: str, traces: Sequence[TraceHealth]) -> None:
    broken = [f"{each.identity.name} (trace {trace.trace_id})" for trace in traces for each in trace.broken]
    if broken:
        raise BrokenIdentity(
            f"{source}: numbers that must agree do not: {', '.join(broken)}; ingest the traces again, and if that does"
            " not help report it: it is a fault of traceq"
        )


def _plan(names: Sequence[str]) -> None:
    from traceq.capture import plan as plans

    path = next((name for name in names if name.lower() not in plans.METRICS and Path(name).exists()), None)
    if path is not None:
        raise click.UsageError(
            f"--plan takes names of metrics, and {path} is a file: traceq doctor {path} examines it."
        )
    if names:
        click.echo("\n\n".join(_sections(plans.named(names))))
        return
    width = max(map(len, plans.METRICS))
    for metric in plans.METRICS.values():
        click.echo(f"{metric.name.ljust(width)}  {metric.answers}")


def _sections(metrics: Sequence[Metric]) -> Iterator[str]:
    from traceq.capture import plan_commands

    for metric in metrics:
        yield "\n".join(_described(metric))
    nsys = plan_commands.nsys_commands(metrics)
    yield _commands("nsys", "\n".join(nsys), [each.name for each in metrics if isinstance(each.nsys, str)])
    snippet = plan_commands.torch_snippet(metrics)
    yield _commands("torch.profiler", snippet, [each.name for each in metrics if isinstance(each.torch, str)])
    backend = plan_commands.record_backend(metrics)
    command = backend and plan_commands.record_command(backend)
    yield _commands("traceq record", command, [each.name for each in metrics if backend not in each.record])


def _described(metric: Metric) -> Iterator[str]:
    yield f"{metric.name}: {metric.answers}"
    facts = {
        "costs": metric.cost,
        "nsys": _verdict(metric.nsys),
        "torch.profiler": _verdict(metric.torch),
        "traceq record": " or ".join(f"--backend {each}" for each in metric.record) or "cannot",
    }
    for label, text in facts.items():
        first = f"  {label:16}"
        yield textwrap.fill(
            text, _WIDTH, initial_indent=first, subsequent_indent=" " * len(first), break_on_hyphens=False
        )


def _verdict(tool: Nsys | Torch | str) -> str:
    if isinstance(tool, str):
        return f"cannot: {tool}"
    return f"yes: {tool.note}" if tool.note else "yes"


def _commands(tool: str, commands: str | None, missing: Sequence[str]) -> str:
    """A heading that a shell and Python take for a comment, and what to paste below it."""
    if not commands:
        return f"# {tool}: gives none of these"
    exceptions = f", all but {', '.join(missing)}" if missing else ""
    return f"# {tool}{exceptions}:\n{commands}"
