"""Trade-off: throughput and latency of runs at several values of a parameter, such as the batch size."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from shlex import quote

from traceq.app.read_options import AS_FOUND, LOWEST, ReadOptions, Which
from traceq.app.source import Sources, as_list, check_writes, read_runs_of
from traceq.app.view import View
from traceq.common.files import atomic_write
from traceq.errors import TraceqError, WrongUse
from traceq.reports.charts.figure import draw_figure, save_png
from traceq.reports.charts.svg import draw_svg_file
from traceq.reports.document import Block
from traceq.reports.renderers.tradeoff_to_json import tradeoff_to_json
from traceq.reports.trials import chart_values
from traceq.reports.trials.tradeoff import compose_tradeoff
from traceq.runs.run import Run
from traceq.runs.trials.study_tradeoff import study_tradeoff
from traceq.runs.trials.tradeoff import Percentile, Taken, Tradeoff, TradeoffTerms
from traceq.runs.trials.tradeoff import Source as ValuesFrom
from traceq.runs.trials.values import (
    AMOUNTS,
    STEPS,
    differing_numbers,
    is_amount,
    list_marked,
    take_by_marks,
    take_by_snapshots,
    usual_knob,
    usual_work,
    values_of_names,
)

_PICTURES = (".png", ".svg")


class TradeoffView(View[Tradeoff]):
    """The trade-off between throughput and latency over the values of a parameter; `content` is plain data."""

    def blocks(self) -> Iterable[Block]:
        """Return the document on the result as blocks (headings, verdicts, tables, ...), for every format."""
        return compose_tradeoff(self.content)

    def to_json(self) -> str:
        """Return the result as JSON text, for programs."""
        return tradeoff_to_json(self.content)

    def draw(self, path: Path) -> None:
        """Write the curve as a picture to `path` (.png or .svg). Raises TraceqError with fewer than two values."""
        if len(self.content.points) < 2:  # noqa: PLR2004 - to draw anything between
            raise TraceqError(f"{path}: not drawn: that needs at least two values; leave --plot out")
        drawing = chart_values.draw(self.content)
        content = draw_svg_file(drawing) if path.suffix.lower() == ".svg" else save_png(draw_figure(drawing))
        with atomic_write(path) as file:
            file.write(content)


def tradeoff(
    sources: Mapping[float, Sources] | Sources,
    which: Which = LOWEST,
    read: ReadOptions = AS_FOUND,
    *,
    knob: str | None = None,
    work: str | None = None,
    latency_budget: int | None = None,
    percentile: Percentile = "p95",
    plot: Path | None = None,
) -> TradeoffView:
    """Weigh throughput against latency over the values of a parameter; traceq.app.api.tradeoff explains the parameters.

    Raises ValueError when runs have no value, or `work` is not marked.
    """
    given = [
        (None if value is None else float(value), source)
        for value, group in (sources.items() if isinstance(sources, Mapping) else [(None, sources)])
        for source in as_list(group)
    ]
    if (knob or AMOUNTS[0]) in AMOUNTS and any(value == 0 for value, _ in given):
        raise WrongUse(f"0=SOURCE: a step with {knob or AMOUNTS[0]} 0 does nothing.")
    if plot is not None and plot.suffix.lower() not in _PICTURES:
        raise WrongUse(f"--plot {plot}: pictures end in {' or '.join(_PICTURES)}.")
    read = read.with_writes(plot)
    check_writes(read.writes, [source for _, source in given])
    taken, named, values_from = _find_values(
        [(value, run) for value, source in given for run in read_runs_of(source, which, read)], knob
    )
    counted = _choose_work(taken, named, work)
    setting = TradeoffTerms(named, is_amount(taken, named, counted), counted, percentile, latency_budget, values_from)
    view = TradeoffView(study_tradeoff(taken, setting))
    if plot is not None:
        view.draw(plot)
    return view


def _find_values(runs: Sequence[tuple[float | None, Run]], knob: str | None) -> tuple[list[Taken], str, ValuesFrom]:
    """Return the runs with their values, the parameter's name, and where the values come from. Raises WrongUse if unknown."""
    if any(value is not None for value, _ in runs):
        return [Taken(value, run) for value, run in runs], knob or AMOUNTS[0], "given"
    found = [run for _, run in runs]
    chosen = knob or usual_knob(found)
    counted = list_marked(found)
    if chosen in counted:
        return take_by_marks(found, chosen), chosen, "marks"
    if knob is None and len(found) <= 1:
        return [Taken(None, run) for run in found], AMOUNTS[0], "given"
    made_with = take_by_snapshots(found, knob)
    if made_with is not None:
        return made_with[1], made_with[0], "snapshots"
    named = values_of_names([run.source for run in found], knob) or values_of_names([run.file for run in found], knob)
    if named is not None:
        return [Taken(value, run) for value, run in zip(named[1], found, strict=True)], named[0], "names"
    raise WrongUse(
        f"The runs have no value: not all have marks of {knob or ', '.join(AMOUNTS)} (all have: {', '.join(counted) or 'none'}), "
        f"and neither their settings nor their names show a single parameter. Give the value of each: "
        f"{_suggest_command(found, knob)}"
    )


def _suggest_command(runs: Sequence[Run], knob: str | None) -> str:
    """Return the command to type, with the numbers in which file names differ as guessed values."""
    numbers = differing_numbers([run.source for run in runs])
    values = numbers or ["VALUE"] * len(runs)
    given = (f"{value}={quote(run.source)}" for value, run in zip(values, runs, strict=True))
    return f"traceq tradeoff --knob {quote(knob or 'NAME')} {' '.join(given)}"


def _choose_work(taken: list[Taken], knob: str, work: str | None) -> str:
    """Return the unit that throughput counts: `work` if given, else the usual one.

    Raises WrongUse if not all runs mark it.
    """
    if work is None:
        return usual_work(taken, knob)
    known = [*list_marked([taken_run.run for taken_run in taken]), STEPS, *([knob] if knob in AMOUNTS else [])]
    if work not in known:
        raise WrongUse(f"--work {work}: not all runs have this mark; choose from {', '.join(dict.fromkeys(known))}.")
    return work
