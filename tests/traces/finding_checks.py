"""What has to hold of every finding and every table of a report, whatever the trace: no more is said than there is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import duckdb
from recounts import World

from traceq.common.units import UNKNOWN
from traceq.database import user_sql
from traceq.diagnosis.finding import Finding
from traceq.reports.document import Block, Card, Facts, Fold, Items, Paragraph, Ranking, Table
from traceq.reports.model import Report, TraceReport
from traceq.reports.sections.compose import compose_report

_UNITS = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}
_DURATION = re.compile(r"(?<![\w.,])(\d[\d,]*(?:\.\d+)?) (ns|µs|ms|s)\b")
# Rounding to four digits.
_ROUNDED = 1.0006
# What stands in a cell, first that fits; a column of numbers has one of them.
_KINDS = {
    "nothing": re.compile(rf"-?|{UNKNOWN}"),
    "duration": re.compile(r"(<= )?-?\d[\d,.]* (ns|µs|ms|s)"),
    "share": re.compile(r"((<=|<) ?)?\d+\.\d %"),
    "size": re.compile(r"(< )?-?\d[\d,.]* (B|KiB|MiB|GiB|TiB)"),
    "times": re.compile(r"\d[\d.e+]*x"),
    "number": re.compile(r"-?\d[\d,.]*"),
}


def wrong_of_findings(trace: TraceReport, connection: duckdb.DuckDBPyConnection) -> Iterator[str]:
    """List what findings say that cannot be: more than the window, more calls than there are, others that are not there."""
    numbered = {f"F{number}": each for number, each in enumerate(trace.findings, 1)}
    for name, finding in numbered.items():
        for problem in (
            *_beyond_the_step(trace, finding),
            *_more_than_there_are(trace, finding, connection),
            *_at_worst(trace, finding, connection),
            *_of_copies(trace, finding, connection),
            *_of_others(finding, numbered, trace),
        ):
            yield f"{name} {finding.rule}: {problem}"


def _beyond_the_step(trace: TraceReport, finding: Finding) -> Iterator[str]:
    step, longest = trace.steps.mean_ns or 0, trace.steps.max_ns or 0
    for what in ("claimed_ns", "owned_ns", "saving_ns", "saving_high_ns"):
        if getattr(finding, what) > step * (1 + 1e-9):
            yield f"{what} {getattr(finding, what):,.0f} of a step of {step:,.0f} ns"
    if not 0 <= finding.saving_low_ns <= finding.saving_ns <= finding.saving_high_ns:
        yield f"bounds {finding.saving_low_ns}, {finding.saving_ns}, {finding.saving_high_ns}"
    if finding.owned_ns > finding.claimed_ns * (1 + 1e-9):
        yield "it owns more than it claims"
    row = dict(zip(finding.summary.columns, finding.summary.rows[0], strict=True))
    # a piece of work that was launched in a step may last beyond it
    if float(str(row["longest_ns"])) > (trace.steps.total_ns or longest):
        yield f"the longest is {row['longest_ns']} of {trace.steps.total_ns} ns"
    total = (trace.steps.total_ns or 0) * _ROUNDED
    for text in (finding.fix, finding.confidence_reason):
        for number, unit in _DURATION.findall(text):
            if float(number.replace(",", "")) * _UNITS[unit] > total:
                yield f"{number} {unit} in {text!r}"


def _more_than_there_are(trace: TraceReport, finding: Finding, connection: duckdb.DuckDBPyConnection) -> Iterator[str]:
    """Count the slices that the claim is on, each once: they are in the trace, and where there is none, gaps."""
    query = re.sub(r"limit \d+\s*$", "", finding.instances.query)
    pieces = user_sql.run(connection, query)
    rows = [dict(zip(pieces.columns, row, strict=True)) for row in pieces.fetchall()]
    slices = {row["slice_id"] for row in rows if row["claimed"] > 0} - {None}
    without = sum(row["slice_id"] is None and row["claimed"] > 0 for row in rows)
    there = World(connection, trace.trace.trace_id, None).value(
        "select count(*) from (select slice_id from cpu_slice where trace_id = $t union all select slice_id from"
        " gpu_slice where"
        " trace_id = $t) where slice_id in (select unnest($slices))",
        slices=list(slices),
    )
    said = finding.occurrences or 0
    if there != len(slices) or not max(len(slices), 1) <= said <= len(slices) + without:
        yield f"{said} occurrences of {there} slices and {without} gaps"


def _at_worst(trace: TraceReport, finding: Finding, connection: duckdb.DuckDBPyConnection) -> Iterator[str]:
    """Compare what calls are said to take at worst with the longest call of these names."""
    world = World(connection, trace.trace.trace_id, finding.where.device)
    at = finding.instances.columns.index("slice_id")
    slices = [row[at] for row in finding.instances.rows]
    found = world.rows(
        "select max(dur) from cpu_slice where trace_id = $t and name in (select name from cpu_slice where trace_id"
        " = $t and"
        " slice_id in (select unnest($slices))) having count(distinct name) = $names",
        slices=slices,
        names=len({row[finding.instances.columns.index("name")] for row in finding.instances.rows}),
    )
    for number, unit in re.findall(rf"{_DURATION.pattern} at worst", finding.fix):
        if found and float(number.replace(",", "")) * _UNITS[unit] > found[0][0] * _ROUNDED:
            yield f"{number} {unit} at worst, where the longest of these calls takes {found[0][0]} ns"


_WAYS = {"to the device": "h2d", "to the host": "d2h", "within the device": "d2d", "between devices": "p2p"}
_COPIES = re.compile(r"([\d.,]+) (?:copy|copies) (to the device|to the host) \(.*? in all(?:, ([\d.,e+]+) GB/s)?\)")
_BEST = re.compile(r"best copy (to the device|to the host) of such size and memory reaches ([\d.e+]+) GB/s")


def _of_copies(trace: TraceReport, finding: Finding, connection: duckdb.DuckDBPyConnection) -> Iterator[str]:
    """Compare what a fix says of copies with all copies of that direction in the trace."""
    world = World(connection, trace.trace.trace_id, finding.where.device)
    for number, way, speed in _COPIES.findall(finding.fix):
        copies = world.counted(
            "select c.step, g.bytes, g.dur from copy_overlap as c inner join gpu_slice as g using (trace_id,"
            " slice_id)"
            " where c.trace_id = $t and c.device = $d and c.direction = $way",
            way=_WAYS[way],
        )
        if float(number.replace(",", "")) > len(copies) / len(world.steps) + 0.5:
            yield f"{number} copies {way} per step of {len(copies)} in all"
        speeds = [moved / dur for _, moved, dur in copies if moved and dur]
        if speed and not min(speeds) * 0.99 <= float(speed) <= max(speeds) * 1.01:
            yield f"{speed} GB/s {way}, from {min(speeds)} to {max(speeds)}"
    for way, speed in _BEST.findall(finding.fix):
        # of so much memory as the slowest and of that direction none may be faster
        best = world.value(
            "select max(bytes / nullif(dur, 0)) from gpu_slice where trace_id = $t and copy_kind = $way and bytes"
            " >= 1048576",
            way=_WAYS[way],
        )
        if float(speed) > best * 1.01:
            yield f"{speed} GB/s {way}, where the best of all reaches {best}"


def _of_others(finding: Finding, numbered: dict[str, Finding], trace: TraceReport) -> Iterator[str]:
    """Look at what a report says of time that other findings own."""
    said = _list_texts(block for block in compose_report(Report((trace,), "")) if isinstance(block, Facts))
    for text in said:
        for name in re.findall(r"\bF\d+\b", text.partition("see also")[2]):
            if name not in numbered:
                yield f"it names {name}, which is not there"
    if finding.owned_ns >= finding.claimed_ns and finding.occurrences and len(numbered) == 1:
        return
    if any("already counts in other findings" in text for text in said):
        yield "it says what counts in other findings"


def wrong_of_tables(trace: TraceReport) -> Iterator[str]:
    """List tables with a column of several scales, shares above all, and bounds beside shares of likely values."""
    for block in _walk_blocks(compose_report(Report((trace,), ""))):
        if isinstance(block, Table):
            yield from _of_table(block)
        if isinstance(block, Ranking):
            for row in block.rows:
                if row.saves.startswith("<=") != row.share.startswith("<="):
                    yield f"{row.anchor}: {row.saves} | {row.share}"
                if row.saves.startswith("<=") and row.cumulative != "-":
                    yield f"{row.anchor}: {row.cumulative} as fast, though only bounds are known"
    for text in _list_texts(compose_report(Report((trace,), ""))):
        for part, whole in re.findall(
            r"(?<![\d.,])(\d[\d,]*) of (?:the )?(\d[\d,]*)(?![\d.,]| (?:ns|µs|ms|s|%)\b|\.\d)", text
        ):
            if _parse_whole(part) > _parse_whole(whole):
                yield f"{part} of {whole} in {text!r}"


def _parse_whole(number: str) -> int:
    return int(number.rstrip(",").replace(",", ""))


def _of_table(table: Table) -> Iterator[str]:
    for place, title in enumerate(table.columns):
        cells = [row[place] for row in table.rows]
        kinds = {_read_kind(cell) for cell in cells} - {"nothing"}
        if place not in table.text_columns and len(kinds) > 1 and kinds != {"number", "text"}:
            yield f"column {title!r} has {sorted(kinds)}: {cells[:4]}"
        if "share" in title:
            yield from (
                f"{cell} in column {title!r}" for cell in cells if _read_kind(cell) == "share" and _above_all(cell)
            )


def _above_all(cell: str) -> bool:
    return float(re.sub(r"[<= %]", "", cell)) > 100


def _read_kind(cell: str) -> str:
    return next((kind for kind, pattern in _KINDS.items() if pattern.fullmatch(cell)), "text")


def _walk_blocks(blocks: Iterable[Block]) -> Iterator[Block]:
    for block in blocks:
        yield block
        if isinstance(block, Fold | Card):
            yield from _walk_blocks(block.blocks)


def _list_texts(blocks: Iterable[Block]) -> Iterator[str]:
    """Yield the sentences of the blocks."""
    for block in _walk_blocks(blocks):
        if isinstance(block, Paragraph):
            yield "".join(block.spans)
        elif isinstance(block, Items):
            yield from ("".join(spans) for spans in block.items)
        elif isinstance(block, Facts):
            yield from ("".join(spans) for _, spans in block.rows)
