"""Compare: what changed from one run to another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import asdict, replace

from traceq.app import notebook
from traceq.app.check import CiView, with_cause
from traceq.app.frames import make_frame
from traceq.app.noise import read_known_noise
from traceq.app.read_options import AS_FOUND, LOWEST, USUAL, CompareOptions, ReadOptions, Which
from traceq.app.source import Sources, as_list, check_writes, open_runs
from traceq.common.text import printable
from traceq.errors import WrongUse
from traceq.reports.build_flame_difference import RunPaths, build_flame_difference, read_run_paths
from traceq.reports.build_timelines import build_typical_step
from traceq.reports.comparison.comparison import NO_DRAWINGS, ComparisonDrawings, compose_comparison
from traceq.reports.comparison.ticket import compose_ticket
from traceq.reports.comparison.words import drop_folders
from traceq.reports.document import Block, Verdict
from traceq.reports.redact import redact_comparison
from traceq.reports.renderers.comparison_to_json import comparison_to_json
from traceq.reports.timeline import Timeline
from traceq.runs.budgets.budget import Budget, Check
from traceq.runs.budgets.regression import judge_regression
from traceq.runs.compare.compare import compare as compare_runs
from traceq.runs.compare.comparison import Comparison
from traceq.runs.compare.jobs import compare_jobs, jobs_of
from traceq.runs.run import Run
from traceq.runs.sources import runs_of_rank
from traceq.runs.statistics import Statistic

if TYPE_CHECKING:
    import duckdb
    import pandas as pd

# Rows of a table.
TOP = 10

# Ranks of a job whose call paths are read; beyond these only of lower ones.
_MOST_RANKS = 8


class ComparisonView(CiView[Comparison]):
    """A comparison of two runs, which a notebook shows when it is the last line of a cell.

    `content` is the comparison as plain data: times are ns per step, differences are new less base. Tables have at most
    `top` rows; `drawings` are shown in HTML. A ticket is short in every format.
    """

    def __init__(
        self,
        content: Comparison,
        drawings: ComparisonDrawings = NO_DRAWINGS,
        *,
        top: int = TOP,
        is_ticket: bool = False,
    ) -> None:
        super().__init__(content)
        self.drawings = drawings
        self.top = top
        self.is_ticket = is_ticket

    @property
    def verdict(self) -> str:
        """The verdict: regression, improvement, likely regression, likely improvement, no change, or cannot tell."""
        return self.content.verdict

    @property
    def causes(self) -> pd.DataFrame:
        """A row for each ledger category; the `delta_ns` add up to the step's exactly."""
        names = ["category", "base_ns", "new_ns", "delta_ns"]
        return make_frame([{name: getattr(cause, name) for name in names} for cause in self.content.causes], names)

    @property
    def parts(self) -> pd.DataFrame:
        """A row for each matched kernel, copy, collective or wait; in each category their `delta_ns` add up to its cause."""
        return make_frame(
            [{**asdict(part), "name": part.name} for cause in self.content.causes for part in cause.parts]
        )

    def blocks(self) -> Iterable[Block]:
        """Return the blocks of the document without drawings, or the ticket if one was requested."""
        return self._compose_blocks(self.content)

    def markdown_blocks(self) -> Iterable[Block]:
        """Return the blocks for a page without drawings that is passed on: its commands name sources without their folders."""
        return self._compose_blocks(drop_folders(self.content))

    def html_blocks(self) -> Iterable[Block]:
        """Return the blocks for a page as for Markdown, with drawings; of a ticket without."""
        return self._compose_blocks(drop_folders(self.content), draws=True)

    def _compose_blocks(self, content: Comparison, *, draws: bool = False) -> Iterable[Block]:
        """Return the blocks of the document, with drawings if `draws`; the ticket if one was requested."""
        if self.is_ticket:
            return compose_ticket(content)
        return compose_comparison(content, self.top, self.drawings, draws=draws)

    def _check(self) -> Check:
        """Return the comparison as a check without a limit: a regression fails."""
        base = ", ".join(run.file for run in self.content.base.runs) or "nothing"
        judged = with_cause(judge_regression(Budget("compare", base, ()), self.content), self.content)
        return Check(path=None, runs=self.content.new.runs, judged=(judged,), baseline=base, comparison=self.content)

    def to_json(self) -> str:
        """Return the result as JSON text, for programs; docs/compare.md describes the keys."""
        return comparison_to_json(self.content)

    def _repr_html_(self) -> str:
        verdict = next(block for block in self.blocks() if isinstance(block, Verdict))
        words = f"<p><strong>traceq compare</strong></p>\n<p>{escape(printable(''.join(verdict.spans)))}</p>"
        return notebook.frame_page(self.to_html(), words, "traceq compare")


def compare(
    base: Sources,
    new: Sources,
    which: Which = LOWEST,
    read: ReadOptions = AS_FOUND,
    options: CompareOptions = USUAL,
    *,
    top: int = TOP,
    drawn: bool = False,
    ticket: bool = False,
) -> ComparisonView:
    """Compare `new` with `base`; traceq.app.api.compare describes the parameters.

    `drawn` adds drawings for HTML: the typical step of both sides, and what changed by call path. Raises StoreError for
    unreadable sources, ValueError for a missing rank.
    """
    if not 0 < options.level < 1:
        raise WrongUse(f"level {options.level:g} is not a probability between 0 and 1.")
    check_writes(read.writes, [*as_list(base), *as_list(new)])
    statistic = options.statistic if drawn and not ticket else None
    sides = _read(base, which, read, statistic), _read(new, which, read, statistic)
    base_runs, new_runs = (side.runs for side in sides)
    are_jobs = bool(not which.is_named and jobs_of(base_runs) and jobs_of(new_runs))
    if not are_jobs:
        base_runs, new_runs = (runs_of_rank(runs, which.rank, "") for runs in (base_runs, new_runs))
    given = options._asdict() | {"noise": read_known_noise(options.noise, which.rank)}
    comparison = (compare_jobs if are_jobs else compare_runs)(base_runs, new_runs, **given)
    if ticket:
        return ComparisonView(redact_comparison(comparison), is_ticket=True)
    drawn_steps = {name: side.step for name, side in zip(("base", "new"), sides, strict=True) if side.step is not None}
    longest = max((step.dur for step in drawn_steps.values()), default=0)  # both are drawn as wide
    timelines = [replace(step, title=f"{name}: {step.title}", span=longest) for name, step in drawn_steps.items()]
    rank, paths = _choose_paths(comparison, [side.paths for side in sides], (base_runs, new_runs))
    flame = None
    if comparison.change is not None:
        flame = build_flame_difference(
            paths[0], paths[1], kind=comparison.kind, noise=given["noise"], level=comparison.level
        )
    return ComparisonView(comparison, ComparisonDrawings(timelines, flame, rank), top=top)


class _ReadSide(msgspec.Struct):
    """The runs of a side, and what is drawn of them: a typical step, and call paths of some ranks."""

    runs: list[Run] = msgspec.field(default_factory=list)
    step: Timeline | None = None
    paths: list[RunPaths] = msgspec.field(default_factory=list)


def _read(sources: Sources, which: Which, read: ReadOptions, statistic: Statistic | None) -> _ReadSide:
    """Read the runs of a side (all ranks if none is chosen), and for drawings the call paths of the steps in the statistic.

    The typical step is that of the first run that has a database and such a step. Without a statistic nothing is drawn.
    """
    side = _ReadSide()
    for source in as_list(sources):
        with open_runs(source, which, read, all_ranks=which.rank is None) as (connection, runs):
            side.runs += runs.values()
            if statistic is None or connection is None:
                continue
            if side.step is None:
                drawings = (build_typical_step(connection, trace_id, run.device) for trace_id, run in runs.items())
                side.step = next((drawing for drawing in drawings if drawing), None)
            side.paths += _read_paths(connection, runs, which, statistic, side.paths)
    return side


def _read_paths(
    connection: duckdb.DuckDBPyConnection,
    runs: Mapping[int, Run],
    which: Which,
    statistic: Statistic,
    before: Sequence[RunPaths],
) -> Iterator[RunPaths]:
    """Yield the call paths of the chosen runs, or of those of all ranks, if few are read `before`; always of the lowest rank."""
    for trace_id, run in runs.items():
        is_chosen = which.rank is None or run.rank == which.rank
        is_lowest = all(_rank_of(run) <= _rank_of(found.run) for found in before)
        if is_chosen and (is_lowest or len(before) < _MOST_RANKS):
            found = read_run_paths(connection, trace_id, run, statistic)
            if found is not None:
                yield found


def _rank_of(run: Run) -> int:
    """Return the rank of the run; 0 where it is not known."""
    return run.rank or 0


def _choose_paths(
    comparison: Comparison, read: Sequence[Sequence[RunPaths]], runs: Sequence[Sequence[Run]]
) -> tuple[int | None, list[list[RunPaths]]]:
    """Return a rank, and for both sides the call paths `read` of its runs that are compared, those of each trace once.

    Of jobs it is the rank that is shown, if its paths were read on both sides, else the lowest one of which they were.
    """
    sides: list[dict[int, dict[str, RunPaths]]] = [{}, {}]
    for by_rank, paths, compared in zip(sides, read, runs, strict=True):
        for found in paths:
            if any(found.run is run for run in compared):
                by_rank.setdefault(_rank_of(found.run), {})[found.run.sha256] = found
    shown = {_rank_of(run) for run in comparison.of_rank.base.runs} if comparison.of_rank is not None else set()
    ranks = sorted(sides[0].keys() & sides[1].keys(), key=lambda rank: (rank not in shown, rank))
    if not ranks:
        return None, [[], []]
    return ranks[0], [list(by_rank[ranks[0]].values()) for by_rank in sides]
