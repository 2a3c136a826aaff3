"""The words about the critical path: what the steps waited for, and what has most time on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from traceq.analysis.categories import PATH_KINDS, on_path
from traceq.common.units import count, duration, share
from traceq.reports.document import Block, Heading, Name, Paragraph, Query, Spans, Table, make_table
from traceq.reports.model import TraceReport
from traceq.reports.topics.critical_path import PathName, PathPart, PathSummary

_PARTS = 6
_NAMES = 5


def describe_critical_path(report: TraceReport) -> Iterator[Block]:
    """Yield the section on the critical path; nothing if the database has none."""
    facts = report.topics.critical_path
    if not facts.parts:
        return
    yield Heading(3, ("Critical path",))
    yield Paragraph((_write_headline(facts.summary, report),))
    yield _part_table(facts.parts, facts.summary, report.unit)
    yield Query(report.queries["critical_path_parts"])
    if facts.names:
        yield Paragraph(("What takes the most time on it:",))
        yield _name_table(facts.names[:_NAMES], facts.summary, report.unit)
        yield Query(report.queries["critical_path_names"])


def explain_no_critical_path(report: TraceReport) -> tuple[Spans, ...]:
    """Return a line on why there is no section on the critical path, as a tuple of one; empty if there is such a section."""
    if report.topics.critical_path.parts:
        return ()
    return (("Critical path: not in this database; ingest the trace again to compute it.",),)


def _write_headline(path: PathSummary, report: TraceReport) -> str:
    text = f"What each moment waited for. Only changes on this path can make a {report.unit} shorter."
    if path.steps < report.steps.counted:
        text += f" It covers {count(path.steps)} of {count(report.steps.counted)} counted steps."
    text += f" The trace explains {_explained_share((path.unexplained_ns or 0) / path.dur_ns)} of it."
    if report.ledger:
        text += f" {_replay_error_words(path, report.unit)}"
    return text


def _explained_share(unexplained: float) -> str:
    return f"all but {share(unexplained)}" if unexplained else "all"


def _replay_error_words(path: PathSummary, unit: str) -> str:
    """Return a sentence on how far a replay of the steps is from the recorded ones.

    It is for traces with a GPU only, as host times replay as recorded.
    """
    if path.steps == 1:
        return (
            f"A replay of each half with the latencies of the other misses the {unit} by "
            f"{share(path.largest_error_share)}."
        )
    return (
        f"A replay with the latencies of other steps misses a step by {share(path.median_error_share)} in the "
        f"median and by {share(path.largest_error_share)} at most."
    )


def _part_table(parts: Sequence[PathPart], path: PathSummary, unit: str) -> Table:
    rows = [
        (_place_in_words(each.kind), on_path(each.cause), duration(each.dur_ns / path.steps), share(each.path_share))
        for each in parts[:_PARTS]
    ]
    rest = sum(each.dur_ns for each in parts[_PARTS:])
    if rest:
        rows.append(("others", "", duration(rest / path.steps), share(rest / path.dur_ns)))
    rows.append(("sum", "", duration(path.dur_ns / path.steps), share(1.0)))
    return Table(("what", "why", _time_title(unit), "share"), tuple(rows), text_columns=(0, 1))


def _name_table(names: Sequence[PathName], path: PathSummary, unit: str) -> Table:
    has_modules = any(each.module for each in names)
    return make_table(
        names,
        {
            "name": lambda each: Name(each.name),
            "operator": lambda each: Name(each.operator) if each.operator else "-",
            **({"module": _name_module} if has_modules else {}),
            "on": lambda each: _place_in_words(each.kind),
            _time_title(unit): lambda each: duration(each.dur_ns / path.steps),
            "share": lambda each: share(each.path_share),
        },
        text=(0, 1, 2, 3) if has_modules else (0, 1, 2),
    )


def _name_module(each: PathName) -> str:
    """Return the module with most time of this name, and the number of other modules as "+2"; a dash without one."""
    if not each.module:
        return "-"
    return Name(each.module if each.modules == 1 else f"{each.module} +{each.modules - 1}")


def _place_in_words(kind: str) -> str:
    """Return where the path is; a database of others may have places of its own."""
    return PATH_KINDS.get(kind, kind)


def _time_title(unit: str) -> str:
    return "time" if unit == "window" else "per step"
