"""Check reports against a history: creeps and changes of level that no comparison of two runs sees."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

from msgspec.structs import replace

from traceq.app.history_add import HistoryOptions, summarize_source
from traceq.app.read_options import ReadOptions
from traceq.app.source import Source
from traceq.errors import WrongUse
from traceq.reports.history.gate import explain_failure
from traceq.runs.budgets.budget import Budget, JudgedBudget
from traceq.runs.budgets.judge import cannot_judge
from traceq.runs.history.entry import HistoryEntry
from traceq.runs.history.gate import add_to_series, find_starts, judge_history, match_series
from traceq.runs.history.history import explain_changes
from traceq.runs.history.series import SeriesSummary, list_series, read_series
from traceq.runs.history.store import history_path, open_history
from traceq.runs.history.trend import name_step

_WORD = "history"


def parse_against(text: str) -> Path:
    """Return the path of the history in `history` or `history:FILE`. Raises WrongUse for anything else."""
    word, sign, path = text.partition(":")
    if word != _WORD or (sign and not path):
        raise WrongUse(f"--against takes history or history:FILE, not {text!r}.")
    return Path(path) if path else history_path()


def check_history(
    sources: Sequence[Source],
    path: Path,
    read: ReadOptions,
    *,
    quantities: Sequence[str] = (),
    max_regression: Fraction | None = None,
    program: str | None = None,
) -> list[JudgedBudget]:
    """Judge the quantities (the step if empty) of the sources, as the latest reports of their series in the history.

    `max_regression` is how much worse a quantity may have become since it was accepted; None for the default.
    """
    options = HistoryOptions(program=program)
    entries = [
        entry for source in sources for entry in summarize_source(source, read, options, is_alone=len(sources) == 1)
    ]
    with open_history(path) as connection:
        found = list_series(connection)
        judged: list[JudgedBudget] = []
        together: dict[str, tuple[SeriesSummary, list[HistoryEntry]]] = {}
        for entry in entries:
            matched = match_series(found, entry.report)
            if isinstance(matched, str):
                budget = Budget("history", ", ".join(quantities) or "step", ())
                judged.append(cannot_judge(budget, f"{path}: {matched}"))
            else:
                together.setdefault(matched.series, (matched, []))[1].append(entry)
        for summary, new in together.values():
            series = read_series(connection, summary)
            stored = set(series.report_ids)
            for entry in new:
                series = add_to_series(series, entry)
            names = quantities or [name_step(series) or "step.typical"]
            starts = find_starts(connection, series, names)
            added = [entry for entry in new if entry.report.report_id not in stored]
            for name in names:
                verdict = judge_history(series, name, starts[name], str(path), max_regression=max_regression)
                trends = [] if verdict.trend is None else [verdict.trend]
                explained = (
                    explain_changes(connection, series, trends, starts, added) if verdict.budget.state == "fail" else {}
                )
                reason = explain_failure(verdict, explained.get(name, ()), is_timed=series.is_timed)
                judged.append(replace(verdict.budget, reason=reason))
    return judged
