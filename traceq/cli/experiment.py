"""traceq experiment: run a program at several settings, and say which win."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from traceq.capture.knobs.registry import ABLATIONS, KNOBS
from traceq.cli import completion
from traceq.cli._options import FILE, F, Parsed
from traceq.common.text import printable
from traceq.common.units import parse_duration, parse_size
from traceq.reports import SUFFIXES
from traceq.runs.trials.plan import read_vary
from traceq.runs.trials.trial import ROUNDS, STEPS

if TYPE_CHECKING:
    from traceq.runs.trials.experiment import Goal
    from traceq.runs.trials.tradeoff import Percentile


def _parse_seconds(text: str) -> float:
    """Return the duration in seconds. Raises ValueError, which says what is wrong."""
    return parse_duration(text) / 1e9


def _split_values(_ctx: click.Context, _param: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words of a repeatable option whose values are separated by commas, each once."""
    return tuple(dict.fromkeys(one.strip() for value in values for one in value.split(",") if one.strip()))


def _check_ablations(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Return the parts of the program to leave out. Raises BadParameter for an unknown one."""
    found = _split_values(ctx, param, values)
    for each in found:
        if each not in ABLATIONS:
            raise click.BadParameter(f"{each!r} cannot be left out; the choices are {', '.join(ABLATIONS)}.")
    return found


def _refuse_repeated(
    _ctx: click.Context, _param: click.Parameter, pairs: tuple[tuple[str, Any], ...]
) -> dict[str, Any]:
    """Return the values by name. Raises BadParameter for a name that is given twice."""
    names = [name for name, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise click.BadParameter(f"{name} is given twice; list its values once: {name}=A,B.")
    return dict(pairs)


_VALUES = Parsed("name=values", read_vary)
_TIME = Parsed("time", _parse_seconds)
_SIZE = Parsed("size", parse_size)


def _list_knobs(ctx: click.Context, _param: click.Parameter, wanted: bool) -> None:
    """Print the table of knobs and end the program, if the option is given."""
    if not wanted:
        return
    from traceq.cli._output import write_blocks
    from traceq.reports.document import make_table

    columns = {
        "knob": lambda each: each.name,
        "values": lambda each: each.values,
        "what it sets": lambda each: each.what,
    }
    write_blocks([make_table(KNOBS.values(), columns, text=(0, 1, 2))])
    ctx.exit()


def _number(name: str, least: int, default: int, help_: str) -> Callable[[F], F]:
    """Return a decorator that declares an option for a whole number of at least `least`."""
    return click.option(
        name, type=click.IntRange(min=least), default=default, show_default=True, metavar="N", help=help_
    )


@click.command(
    short_help="Run a program with several settings, and report which win.",
    context_settings={"allow_interspersed_args": False},
)
@click.argument(
    "command", nargs=-1, type=click.UNPROCESSED, metavar="-- COMMAND...", shell_complete=completion.complete_files
)
@click.option(
    "--vary", multiple=True, type=_VALUES, callback=_refuse_repeated, help="Values of a knob: num_workers=0,2,4."
)
@click.option("--env", multiple=True, type=_VALUES, callback=_refuse_repeated, help="Values of a variable: NAME=A,B.")
@click.option(
    "--try",
    "tries",
    multiple=True,
    callback=_split_values,
    metavar="FINDING",
    shell_complete=completion.complete_one_of(("all", "F1", "F2", "F3")),
    help="F1, a rule, or all.",
)
@click.option(
    "--ablate",
    multiple=True,
    callback=_check_ablations,
    metavar="PART",
    shell_complete=completion.complete_one_of(ABLATIONS),
    help=f"{', '.join(ABLATIONS)}.",
)
@click.option(
    "--factorial", is_flag=True, help="Run all combinations of --vary and --env, instead of one change at a time."
)
@_number("--repeats", 1, ROUNDS, "Rounds, in each of which every setting runs once.")
@_number("--steps", 3, STEPS, "Measured steps per run; more if together they take less than a second.")
@_number("--warmup", 1, 5, "Warm-up steps before these.")
@click.option("--time-limit", type=_TIME, default="10 min", show_default=True, help="Time limit for one run.")
@click.option("--budget", type=_TIME, help='Time limit for all runs: "30 min".')
@click.option("--outputs", is_flag=True, help="Also compare the norms of the model's outputs, beside its losses.")
@click.option(
    "--goal",
    type=click.Choice(("throughput", "latency", "memory")),
    default="throughput",
    show_default=True,
    help="What to optimise.",
)
@click.option("--latency-budget", type=Parsed("time", parse_duration), help='Longest step allowed: "50 ms".')
@click.option(
    "--percentile",
    type=click.Choice(("p50", "p95", "p99")),
    default="p95",
    show_default=True,
    help="Which step the latency budget is about.",
)
@click.option("--gpu-memory", type=_SIZE, help="GPU memory limit: 40GiB.")
@click.option("--host-memory", type=_SIZE, help="Host memory limit.")
@click.option(
    "-o",
    "--output",
    "directory",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("experiment"),
    show_default=True,
    metavar="DIR",
    help="Folder for the runs, their traces and logs; the same command continues there.",
)
@click.option("--knobs", is_flag=True, is_eager=True, expose_value=False, callback=_list_knobs, help="List the knobs.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(tuple(SUFFIXES.values())),
    default="text",
    show_default=True,
    help="How to print the result.",
)
@click.option("--html", type=FILE, metavar="FILE", help="Also write the result as an HTML page to FILE.")
def experiment(
    *,
    command: tuple[str, ...],
    vary: dict[str, tuple[str, ...]],
    env: dict[str, tuple[str, ...]],
    tries: tuple[str, ...],
    ablate: tuple[str, ...],
    factorial: bool,
    repeats: int,
    steps: int,
    warmup: int,
    time_limit: float,
    budget: float | None,
    outputs: bool,
    goal: Goal,
    latency_budget: int | None,
    percentile: Percentile,
    gpu_memory: int | None,
    host_memory: int | None,
    directory: Path,
    format_: str,
    html: Path | None,
) -> None:
    """Run a program with several settings, and report which win.

    COMMAND runs unchanged and with each setting, in several rounds; a run is ended once it has made the measured
    steps. --vary gives values for {NAME} in the command, or for a knob that traceq turns inside the program, without
    editing it (--knobs lists them). --try turns the knobs that the findings of a profile call for. --ablate leaves out
    a part of the program, to see how much it can cost at most; the model it trains is then useless.

    \b
    Examples:
      traceq experiment --try all -- python train.py
      traceq experiment --vary num_workers=0,2,4 --vary amp=bf16 -- python train.py
      traceq experiment --vary batch=32..256x2 --goal latency -- python train.py --batch {batch}
      traceq experiment --ablate data,logging -- torchrun --nproc-per-node 2 train.py
    """  # noqa: D301 - click wants the backspace itself
    from traceq.app.experiment import Running
    from traceq.app.experiment import experiment as run
    from traceq.cli._output import write_view
    from traceq.runs.trials.experiment import TrialLimits
    from traceq.runs.trials.plan import TrialPlan

    plan = TrialPlan(command, vary, env, tries, ablate, factorial, steps, warmup)
    limits = TrialLimits(latency_budget, percentile, gpu_memory, host_memory)
    view = run(plan, directory, Running(repeats, time_limit, budget, goal, limits, _print_progress, outputs))
    write_view(view, format_, None)
    if html is not None:
        view.save(html)


def _print_progress(text: str) -> None:
    """Print a line on the experiment's progress on stderr."""
    click.echo(f"traceq: {printable(text)}", err=True)
