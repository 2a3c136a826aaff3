"""Report: where the time of each step went, and how much of it could be saved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from functools import cache, partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Literal, get_args

import duckdb
from msgspec.structs import replace

from traceq.app import frames, notebook
from traceq.app.read_options import AS_FOUND, ReadOptions
from traceq.app.source import Source, Sources, ingest_together, is_trace, open_selection
from traceq.app.trace_selection import select_traces
from traceq.app.view import View
from traceq.common.files import atomic_write
from traceq.database.connect import connect
from traceq.database.query import ask
from traceq.database.sql import statement
from traceq.database.user_sql import lock, run_interruptibly
from traceq.dataset.manifest import is_dataset
from traceq.diagnosis import user_rules
from traceq.diagnosis.cache import find_spared, load_judgements, save
from traceq.diagnosis.choose import choose
from traceq.diagnosis.finding import Finding
from traceq.diagnosis.judge import Judged, not_asked
from traceq.diagnosis.rules.registry import Rule, all_rules
from traceq.diagnosis.subject import Goal
from traceq.errors import UnusableTrace, WrongUse
from traceq.reports import RENDERERS, all_renderers, all_suffixes
from traceq.reports.build import build_judged
from traceq.reports.document import Block, Picture, verdict_in_a_line
from traceq.reports.model import Report, Scope
from traceq.reports.renderers.to_text import WIDTH, blocks_to_text, to_text
from traceq.reports.sections.compose import compose_evidence, compose_finding, compose_report
from traceq.reports.sections.headline import write_headline

if TYPE_CHECKING:
    import pandas as pd

    from traceq.dataset.selection import Selection


# How much of the report: the first screen, with evidence for each finding, everything.
Detail = Literal["brief", "evidence", "full"]


# More ranks that others of their job represent are told by the job alone: a report on each takes longer than all the rest.
_MOST_SPARED = 64


class ReportView(View[Report]):
    """A report on the traces of a database, which a notebook shows when it is the last line of a cell.

    `content` is the report as plain data; the database is no longer needed. DataFrames are made anew at each access, so
    that changing one changes no other; times are ns and end in `_ns`.
    """

    @property
    def traces(self) -> pd.DataFrame:
        """A row for each trace: its file, its devices, and the durations of its steps."""
        return frames.tabulate_traces(self.content)

    @property
    def findings(self) -> pd.DataFrame:
        """A row for each finding, for each trace the largest saving first, the pack extra last; times are per counted step."""
        return frames.tabulate_findings(self.content)

    @property
    def observations(self) -> pd.DataFrame:
        """A row for each observation: a remark of a rule that saves no time by itself."""
        return frames.tabulate_observations(self.content)

    @property
    def ledger(self) -> pd.DataFrame:
        """A row for each device and ledger category with time.

        The `dur_ns` of a device add up to its counted steps exactly.
        """
        return frames.tabulate_ledger(self.content)

    @property
    def steps(self) -> pd.DataFrame:
        """A row for each counted step, with a column for each ledger category; these add up to `dur_ns` exactly."""
        return frames.tabulate_steps(self.content)

    def __init__(self, content: Report, source: Source | None = None, *, is_ticket: bool = False) -> None:
        super().__init__(content)
        self._is_ticket = is_ticket
        self._source = None if source is None else str(source)

    def blocks(self) -> Iterable[Block]:
        """Return the blocks of the whole report, for plain text."""
        return compose_report(self.content)

    def markdown_blocks(self) -> Iterable[Block]:
        """Return the blocks of the whole report for Markdown, with sections that fold."""
        return compose_report(self.content, folds=True)

    def html_blocks(self) -> Iterable[Block]:
        """Return the blocks of the whole report for HTML, with sections that fold and drawings."""
        return compose_report(self.content, folds=True, draws=True)

    def to_text(
        self,
        width: int = WIDTH,
        *,
        colour: bool = False,
        detail: Detail = "brief",
        finding: str | None = None,
        sql: bool = False,
    ) -> str:
        """Return the report as text: the first screen by default, more with `detail` "evidence" or "full", or only one `finding`.

        A finding is named by F1, its id or its rule. With `sql` the queries that reproduce the numbers are included.
        """
        if finding is not None:
            blocks = compose_finding(self.content, finding, sql=sql)
        elif detail == "brief":
            return to_text(self.content, width, colour=colour, source=self._source)
        elif detail == "evidence":
            blocks = compose_evidence(self.content, self._source, sql=sql)
        else:
            blocks = compose_report(self.content, sql=sql)
        return blocks_to_text(blocks, width, colour=colour, source=quote(self._source or "DB"))

    def finding(self, name: str) -> Finding:
        """Return the finding called `name`: its number in the report (F1, E1), its id or its rule.

        Raises StoreError, with the known names, if there is none.
        """
        return choose(name, {trace.trace.trace_id: trace.every_finding for trace in self.content.traces}).finding

    @property
    def verdict(self) -> str:
        """The verdict in one line, as the report begins with it."""
        return verdict_in_a_line(write_headline(self.content).verdict)

    def to_json(self) -> str:
        """Return the result as JSON text, for programs; docs/report-json.md describes the keys."""
        return RENDERERS["json"](self.content)

    def suffixes(self) -> Mapping[str, str]:
        """Return the names of formats by file suffix ({".html": "html", ...}), including formats that other packages add."""
        return all_suffixes()

    def render(self, format_: str) -> str:
        """Return the report as text in the format: text, md, html, json, llm, or one that another package adds."""
        if format_ == "llm":
            from traceq.reports.renderers.to_llm import to_llm
            from traceq.reports.secretless import hide_secrets

            return to_llm(self.content if self._is_ticket else hide_secrets(self.content), self._source)
        if format_ == "text":
            return self.to_text()
        return all_renderers()[format_](self.content)

    def save_with_charts(self, path: Path) -> None:
        """Write the report to `path` as Markdown, and its charts as SVG files beside it."""
        from traceq.reports.charts.svg import draw_svg_file

        charts = [block for block in compose_report(self.content) if isinstance(block, Picture)]
        files = {chart.name: path.with_name(f"{path.stem}-{chart.name}.svg") for chart in charts}
        for chart in charts:
            with atomic_write(files[chart.name]) as file:
                file.write(draw_svg_file(chart.draw()))
        with atomic_write(path) as file:
            file.write(self.to_markdown({name: file.name for name, file in files.items()}).encode())

    def _repr_html_(self) -> str:
        return notebook.frame_report(self.content, self.to_html())

    def _repr_markdown_(self) -> str:
        return notebook.verdict_to_markdown(self.content)

    def __repr__(self) -> str:
        return notebook.verdict_to_text(self.content)


def report(
    source: Sources,
    top: int = 10,
    read: ReadOptions = AS_FOUND,
    *,
    goal: Goal = "throughput",
    rules: Sequence[str | Path] = (),
    store: bool = False,
    scope: Scope = "drawing",
    ticket: bool = False,
    traces: Sequence[int] = (),
    rank: int | None = None,
    cost_per_gpu_hour: float | None = None,
) -> ReportView:
    """Report on a trace database, on traces, or on several sources together; traceq.app.api.report explains the parameters.

    Of scope "screen" it has what the first screen shows, and of "drawing" also timelines, which only HTML shows. Raises
    UnusableTrace if nothing was recorded.
    """
    if not isinstance(source, str | Path):
        if store:
            raise WrongUse("--save is for a trace database: make one with traceq ingest SOURCE... -o DB.")
        with ingest_together(source, read) as database:
            bare = AS_FOUND.with_writes(*read.writes)
            view = report(
                database, top, bare, goal=goal, rules=rules, scope=scope, ticket=ticket, traces=traces, rank=rank,
                cost_per_gpu_hour=cost_per_gpu_hour,
            )  # fmt: skip
        return ReportView(view.content if ticket else replace(view.content, source=""), is_ticket=ticket)
    if cost_per_gpu_hour is not None and not 0 < cost_per_gpu_hour < float("inf"):
        raise WrongUse(f"--cost-per-gpu-hour {cost_per_gpu_hour}: must be more than 0.")
    if store and (traces or rank is not None):
        raise WrongUse("--save keeps the findings of all traces: leave --trace and --rank out.")
    if store and is_trace(source):
        raise WrongUse("--save is for a trace database: make one with traceq ingest SOURCE -o DB.")
    if store and is_dataset(source):
        raise WrongUse(
            f"--save is for a trace database, and {source} is a dataset: traceq convert makes a database of it."
        )
    chosen = user_rules.load_rules(rules)
    # what rules of users read is not known: of other ranks they shall not find less than there is
    is_whole = any(rule not in all_rules() for rule in chosen)
    with open_selection(source, traces, rank, read, whole=is_whole) as (connection, looked):
        if rules:
            lock(connection)
        wanted = list(select_traces(connection, traces, rank)) if traces or rank is not None else None
        content, judgements = report_of(connection, top, goal, chosen, scope=scope, traces=wanted, looked=looked)
        _check_recorded(connection, content, source)
    if store:
        with closing(connect(source, read_only=False)) as connection:
            save(connection, judgements, goal, chosen)
    priced = tuple(replace(trace, price=cost_per_gpu_hour) for trace in content.traces)
    content = replace(content, source=str(source), traces=priced)
    if ticket:
        from traceq.reports.redact import redact_report

        content = redact_report(content)
    return ReportView(content, source, is_ticket=ticket)


def _check_recorded(connection: duckdb.DuckDBPyConnection, content: Report, source: Source) -> None:
    """Raise UnusableTrace if the traces hold nothing to report on: no work, memory history or monitor samples."""
    traces = [trace.trace.trace_id for trace in content.traces]
    (row,) = ask(connection, statement("reports/sql/recorded.sql"), traces=traces)
    if row["is_recorded"]:
        return
    # A ticket is made from a copy, whose path nobody knows.
    name = ", ".join(trace.trace.file for trace in content.traces) or source
    raise UnusableTrace(
        f"{name}: nothing recorded: no work of a GPU or the host, no memory history, no monitor samples; was the profiler"
        " stopped too early? Record steps again: traceq record -- python train.py"
    )


def _pass_over_spared(
    connection: duckdb.DuckDBPyConnection, spared: frozenset[int]
) -> tuple[list[int] | None, frozenset[int]]:
    """Return the ids of the traces to report on (None: all), and of those among them of which no rule is asked.

    Of a large job the ranks that others represent, `spared`, are passed over but for one: a report on a single trace would
    be about that one, not about its job.
    """
    if len(spared) <= _MOST_SPARED:
        return None, spared
    one = min(spared)
    return [trace_id for trace_id in select_traces(connection) if trace_id == one or trace_id not in spared], frozenset(
        {one}
    )


def report_of(
    connection: duckdb.DuckDBPyConnection,
    top: int,
    goal: Goal,
    rules: Sequence[Rule],
    *,
    scope: Scope,
    traces: Sequence[int] | None = None,
    looked: Selection | None = None,
) -> tuple[Report, list[Judged]]:
    """Return the report on traces of an open database (all if `traces` is None), and the judgements of the rules.

    In a job of many ranks only representative ranks are judged, unless `traces` names them. `looked` is the selected
    part of a dataset, None for a database. Raises ValueError for a wrong `top` or `goal`.
    """
    if top < 1:
        raise ValueError(f"top is the number of findings to show, at least 1, not {top}")
    if goal not in get_args(Goal):
        raise ValueError(f"goal is one of {', '.join(get_args(Goal))}, not {goal!r}")

    if looked is not None and traces is None:
        traces = [piece.trace_id for piece in looked.pieces]
    jobs = None if looked is None else looked.jobs
    spared = frozenset() if looked is None else looked.spared
    if traces is None:
        traces, spared = _pass_over_spared(connection, frozenset(find_spared(connection)))

    def build() -> tuple[Report, list[Judged]]:
        found = load_judgements(connection, goal, rules, traces, spared)
        judged = [
            (subject, partial(not_asked, subject.trace_id) if subject.trace_id in spared else cache(judge))
            for subject, judge in found
        ]
        return build_judged(connection, top, judged, scope=scope, jobs=jobs), [judge() for _, judge in judged]

    return run_interruptibly(connection, build)
