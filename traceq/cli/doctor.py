"""traceq doctor --plan: what a capture must hold for the metrics wanted."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from traceq.capture.plan import Metric, Nsys, Torch

_WIDTH = 100


@click.command(short_help="Say what a capture needs for the metrics you want.")
@click.argument("names", nargs=-1, metavar="[METRIC]...")
@click.option("--plan", is_flag=True, help="Print the commands that capture these metrics; without names, list them.")
def doctor(*, names: tuple[str, ...], plan: bool) -> None:
    """Say what a capture needs for the metrics you want.

    With --plan and the names of metrics: which profiler can give each of them and what it costs, and the command
    lines of nsys and traceq record and the call of torch.profiler that give them all, ready to paste.

    \b
    Examples:
      traceq doctor --plan
      traceq doctor --plan idle communication
    """  # noqa: D301 - click wants the backspace itself
    if not plan:
        raise click.UsageError(
            "Say what to plan, e.g.: traceq doctor --plan idle; traceq doctor --plan lists the metrics."
        )
    from traceq.capture import plan as plans

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
