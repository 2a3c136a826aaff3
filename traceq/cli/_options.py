"""Options and types of values that several commands have.

A command names each of its options as a parameter. Those that always go together come as one: `read` (how sources are read),
`options` (how traces are), `which` (the rank or trace to take). Limits come as none: the command runs within them.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import click
from click.core import ParameterSource

from traceq.app.read_options import ReadOptions, Which
from traceq.cli import completion
from traceq.common.limits import TIMEOUT, Limits, within
from traceq.common.process import usable_cpus
from traceq.common.progress import Progress, Silent
from traceq.common.text import printable
from traceq.common.units import parse_duration, parse_share, parse_size
from traceq.diagnosis.record import EXTRA
from traceq.loading.options import TraceOptions
from traceq.reports import SUFFIXES

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])
Completer = Callable[[click.Context, click.Parameter, str], "list[CompletionItem]"]


class Several(click.Command):
    """A command whose repeatable options take several values at once, up to the next option: --base A B C."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments with an option's name repeated before each of its values: --base A B becomes --base A --base B."""
        several = {
            name for param in self.params if isinstance(param, click.Option) and param.multiple for name in param.opts
        }
        spread: list[str] = []
        option = None
        for argument in args:
            if argument.startswith("-") and argument != "-":
                option = argument if argument in several else None
                spread += [] if option else [argument]
            else:
                spread += [option, argument] if option else [argument]
        return super().parse_args(ctx, spread)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete options; for anything else files, as further values of the last option."""
        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        from click.shell_completion import CompletionItem

        return [CompletionItem(incomplete, type="file")]


class Parsed(click.ParamType[T], Generic[T]):
    """A click type whose function `parse` turns text into a value; the function's ValueError becomes the usage error."""

    def __init__(self, name: str, parse: Callable[[str], T]) -> None:
        self.name = name
        self._parse = parse

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str | None:  # noqa: ARG002 - click's
        """Return the placeholder of the value in --help."""
        return self.name.upper()

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> T:
        """Return the parsed value; fail with the message of the parsing function's ValueError."""
        if not isinstance(value, str):
            found: T = value
            return found
        try:
            return self._parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class _RulePaths(click.Path):
    """Paths of rules, or the name of a pack; empty paths in the environment variable are dropped."""

    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> str | bytes | os.PathLike[str]:
        """Return the name of a pack unchanged, else the path, which must exist."""
        return value if value == EXTRA else super().convert(value, param, ctx)

    def split_envvar_value(self, rv: str) -> Sequence[str]:
        """Return the non-empty paths in the value of the environment variable."""
        return [path for path in super().split_envvar_value(rv) if path]


def _check_regex(text: str) -> str:
    """Return the text. Raises ValueError if it is not a regular expression."""
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"{text!r} is not a regular expression: {error}") from error
    return text


SHARE = Parsed("percent", parse_share)
REGEX = Parsed("regex", _check_regex)
FILE: click.Path = click.Path(dir_okay=False, path_type=Path)


def _check_steps_per(text: str) -> str:
    """Return the text. Raises ValueError if it is not a number of steps for --steps-per."""
    from traceq.analysis.steps.choice import read_steps_per

    read_steps_per(text)
    return text


def _check_window(text: str) -> str:
    """Return the text. Raises ValueError if it is not a time for --window."""
    from traceq.analysis.steps.choice import read_window

    read_window(text)
    return text


def _check_axes(text: str) -> str:
    """Return the text. Raises WrongUse if it is not a mesh for --axes."""
    from traceq.analysis.communication.mesh import read_mesh

    read_mesh(text)
    return text


def _parse_seconds(text: str) -> float:
    """Return the duration in seconds, more than 0. Raises ValueError, which says what is wrong."""
    return max(parse_duration(text), 1) / 1e9


capture_option = click.option(
    "--capture",
    multiple=True,
    metavar="FILE",
    shell_complete=completion.complete_files,
    help="A trace of the program while it captures its CUDA graphs, or runs without them, or the annotations that PyTorch keeps"
    " of their nodes: gives kernels in graphs their operators and regions. Repeatable; for traces only.",
)
inductor_option = click.option(
    "--inductor",
    multiple=True,
    metavar="PATH",
    shell_complete=completion.complete_files,
    help="What torch.compile wrote about its kernels: torch_compile_debug, files of provenance tracking, or TORCH_TRACE's"
    " folder. Repeatable; for traces only. [default: what is next to the trace]",
)
cache_option = click.option(
    "--no-cache",
    "cache",
    flag_value=False,
    default=True,
    help="Read traces into a temporary database, not into the cache (traceq cache).",
)
memory_option = click.option(
    "--memory-limit",
    type=Parsed("size", parse_size),
    help="Memory limit of DuckDB over all processes, e.g. 2GiB; at least 128MiB to read traces, 768MiB for queries."
    " [default: a quarter of the available memory, at least 1GiB]",
)
axes_option = click.option(
    "--axes",
    type=Parsed("axes", _check_axes),
    help="Axes of parallelism and their ranks, the one of neighbouring ranks first: tp=8,dp=4; for traces only."
    " [default: by the process groups]",
)
wait_option = click.option(
    "--wait",
    type=Parsed("time", parse_duration),
    metavar="TIME",
    default=0,
    help="How long to wait for another writer of the dataset, e.g. 10min. [default: not at all]",
)
rules_option = click.option(
    "--rules",
    multiple=True,
    type=_RulePaths(exists=True, path_type=Path),
    envvar="TRACEQ_RULES",
    metavar="extra|FILE|DIR",
    help="extra: also run the rules that no labelled real trace has confirmed. FILE, DIR: your own rules, an SQL file or a"
    " directory of them (write ./extra if it is called extra). Repeatable.  [env: TRACEQ_RULES]",
)


def timeout_option(what: str) -> Callable[[F], F]:
    """Return a decorator that declares --timeout, the time limit (seconds) of `what`, which --help names."""
    return click.option(
        "--timeout",
        type=Parsed("duration", _parse_seconds),
        default=TIMEOUT,
        help=f"How long {what} may take, e.g. 20min. [default: 5min]",
    )


output_option = click.option("-o", "--output", type=FILE, is_eager=True, metavar="FILE", help="Write to FILE.")


force_option = click.option("--force", is_flag=True, help="Overwrite the output file if it exists.")


noise_option = click.option(
    "--noise",
    metavar="SHARE_OR_BASELINE",
    shell_complete=completion.complete_baselines,
    help="Known run-to-run noise (traceq noise): a share of the step, or a baseline to take it from."
    " [default: measured with three runs per side, else assumed]",
)


def within_limits(command: Callable[..., T]) -> Callable[..., T]:
    """Return the command with the options --memory-limit, --jobs and --timeout applied as its limits.

    While it runs, progress and notes go to stderr.
    """

    @wraps(command)
    def run(
        *arguments: Any,
        memory_limit: int | None = None,
        jobs: int | None = None,
        timeout: float = TIMEOUT,
        **others: Any,
    ) -> T:
        with within(Limits(memory_limit, jobs or usable_cpus(), timeout, _make_progress(), print_note)):
            return command(*arguments, **others)

    return run


def gather(name: str, make: Callable[..., object], *options: str) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Return a decorator that replaces the arguments of these options by one argument `name`, built by `make`."""

    def decorate(command: Callable[..., T]) -> Callable[..., T]:
        @wraps(command)
        def run(*arguments: Any, **others: Any) -> T:
            made = make(**{option: others.pop(option) for option in options})
            return command(*arguments, **others, **{name: made})

        return run

    return decorate


def trace_options(command: Callable[..., T]) -> Callable[..., T]:
    """Return the command with the options on traces declared, which it gets as one argument `options`, within its limits."""
    command = within_limits(gather("options", TraceOptions, *_OF_TRACES)(command))
    return _declare_step_options(capture_option(inductor_option(memory_option(command))))


def read_options(command: Callable[..., T]) -> Callable[..., T]:
    """Return the command with the options on sources declared, which it gets as one argument `read`, within its limits."""
    command = within_limits(gather("read", ReadOptions, *_OF_TRACES, "cache")(command))
    return _declare_step_options(capture_option(inductor_option(memory_option(cache_option(command)))))


def logs_option(command: F) -> F:
    """Return the command with --with, --offset and --log-format declared, which name what lies beside the traces."""
    command = click.option(
        "--log-format",
        "log_formats",
        multiple=True,
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        metavar="TOML",
        help="File (docs/run-logs.md) that declares a format of training logs; repeatable."
        "  [env: TRACEQ_LOG_FORMATS, a folder of them]",
    )(command)
    command = click.option(
        "--offset",
        type=float,
        metavar="SECONDS",
        help="Add this to the times of these logs. [default: worked out, or a note says why not]",
    )(command)
    return click.option(
        "--with",
        "logs",
        multiple=True,
        type=click.Path(exists=True, path_type=Path),
        metavar="LOG",
        shell_complete=completion.complete_files,
        help="What ran alongside: a log of a monitor (nvidia-smi, DCGM, iostat, sar, ...), a training log, a log of"
        " torch.compile (TORCH_TRACE), a log of requests to a server, a memory snapshot, an execution trace of PyTorch, or"
        " records of NCCL's or RCCL's Inspector (files or their folder); repeatable.",
    )(command)


def read_options_with_logs(command: Callable[..., T]) -> Callable[..., T]:
    """Return the command with the options of read_options, and those on what lies beside the traces, as one argument `read`."""
    of_logs = ("logs", "offset", "log_formats")
    command = within_limits(gather("read", ReadOptions, *_OF_TRACES, "cache", *of_logs)(command))
    return logs_option(_declare_step_options(capture_option(inductor_option(memory_option(cache_option(command))))))


_OF_TRACES = ("step_range", "steps_per", "window", "capture", "inductor")


def _declare_step_options(command: F) -> F:
    """Return the command with the options --step-range, --steps-per and --window declared."""
    window = "Time to judge: gpu, 3.2s..4s (from the first GPU work), or annotations NAME..NAME; for traces only."
    command = click.option("--window", type=Parsed("window", _check_window), help=window)(command)
    steps_per = "Steps per detected repetition: 2, or 1/2 if two make a step; for traces only."
    command = click.option("--steps-per", type=Parsed("number", _check_steps_per), help=steps_per)(command)
    step_range = "Take annotations whose names match as the steps; for traces only."
    return click.option("--step-range", type=REGEX, help=step_range)(command)


def finding_option(name: str, help_: str) -> Callable[[F], F]:
    """Return a decorator that declares the option `name`, which takes a finding."""
    return click.option(
        name,
        "finding",
        metavar="F1",
        shell_complete=completion.complete_findings,
        help=f"{help_}: its number, its id or its rule.",
    )


def runs_option(name: str, help_: str, complete: Completer, *, required: bool = False) -> Callable[[F], F]:
    """Return a decorator that declares the option `name`, which takes several runs to be pooled."""
    return click.option(
        name, multiple=True, required=required, metavar="SOURCE...", shell_complete=complete, help=help_
    )


def statistic_option(verb: str) -> Callable[[F], F]:
    """Return a decorator that declares --by, the statistic of the steps; `verb` says in --help what is done with the step."""
    help_ = f"The step to {verb}: the middle half of all steps, or all of them."
    kinds = click.Choice(("typical", "mean"))
    return click.option("--by", "statistic", type=kinds, default="typical", show_default=True, help=help_)


def json_option(help_: str, *others: str) -> Callable[[F], F]:
    """Return a decorator that declares --format: text, json, and the formats `others`."""
    kinds = click.Choice(("text", *others, "json"))
    return click.option("--format", "format_", type=kinds, default="text", show_default=True, help=help_)


def goal_option(help_: str) -> Callable[[F], F]:
    """Return a decorator that declares --goal: throughput or latency; `help_` is its line in --help."""
    goals = click.Choice(("throughput", "latency"))
    return click.option("--goal", type=goals, default="throughput", show_default=True, help=help_)


def rank_option(verb: str, default: str = "the lowest") -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Return a decorator that declares --rank and --trace of commands that compare, and passes them as one argument `which`."""

    def decorate(command: Callable[..., T]) -> Callable[..., T]:
        command = gather("which", Which, "rank", "trace")(command)
        command = click.option("--trace", type=int, metavar="N", help=f"{verb} the trace with this trace_id.")(command)
        return click.option(
            "--rank", type=click.IntRange(min=0), metavar="N", help=f"{verb} this rank. [default: {default}]"
        )(command)

    return decorate


def traces_options(command: F) -> F:
    """Return the command with --trace and --rank declared, which choose the traces to show."""
    command = click.option("--rank", type=click.IntRange(min=0), metavar="N", help="Only traces of this rank.")(command)
    return click.option(
        "--trace", "traces", type=int, multiple=True, metavar="N", help="Only the trace with this trace_id; repeatable."
    )(command)


def _parse_numbers(_ctx: click.Context, _param: click.Parameter, value: str | None) -> tuple[int, ...]:
    """Return the numbers in a list such as 0,6; empty for None. Raises BadParameter for anything else."""
    try:
        return tuple(int(number) for number in value.split(",")) if value else ()
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a list of ranks such as 0,6") from None


def ranks_option(command: F) -> F:
    """Return the command with --ranks declared, which takes several ranks in one word: 0,6."""
    return click.option("--ranks", callback=_parse_numbers, metavar="N,N", help="Only traces of these ranks: 0,6.")(
        command
    )


def document_options(suffixes: Mapping[str, str] = SUFFIXES, default: str | None = "text") -> Callable[[F], F]:
    """Return a decorator that declares -o and --format; without --format the suffix of -o decides, else `default`.

    `suffixes` are the names of formats by file suffix.
    """
    return lambda command: output_option(format_option(suffixes, default)(command))


def format_option(suffixes: Mapping[str, str], default: str | None) -> Callable[[F], F]:
    """Return a decorator that declares --format; without it the suffix of -o decides, else `default`."""

    def choose_format(ctx: click.Context, _param: click.Parameter, value: str | None) -> str | None:
        output: Path | None = ctx.params.get("output")
        if value is not None or output is None:
            return value or default
        try:
            return suffixes[output.suffix.lower()]
        except KeyError:
            known = ", ".join(suffixes)
            raise click.UsageError(f"{output}: no format has this suffix ({known}); give --format.") from None

    return click.option(
        "--format",
        "format_",
        type=click.Choice(tuple(suffixes.values())),
        callback=choose_format,
        help=f"[default: by the suffix of -o, else {default or 'text'}]",
    )


def _make_progress() -> Progress:
    """Return a progress bar if stderr is a terminal, else one that shows nothing."""
    if not sys.stderr.isatty():
        return Silent()
    from traceq.cli._progress import ProgressBar

    return ProgressBar()


def explicit_options(*names: str) -> list[str]:
    """Return the options (--top) of those of the named parameters that the user set on the command line."""
    context = click.get_current_context()
    return [
        param.opts[0]
        for param in context.command.params
        if param.name in names and context.get_parameter_source(param.name) is ParameterSource.COMMANDLINE
    ]


def print_note(text: str) -> None:
    """Print a note on stderr."""
    click.echo(f"traceq: note: {printable(text)}", err=True)
