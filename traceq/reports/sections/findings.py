"""The words about each finding, and about what else was seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from traceq.common.text import shortened
from traceq.common.units import cell, duration, share, some
from traceq.diagnosis.finding import Evidence, Finding, Observation, Part, Value, Where
from traceq.reports.document import (
    Address,
    Block,
    Facts,
    Fold,
    Heading,
    Items,
    Literal,
    Name,
    Paragraph,
    Query,
    Spans,
    Table,
    Tracks,
)
from traceq.reports.model import TraceReport
from traceq.reports.savings import speed_up, step_ns, step_share

_NAME_WIDTH = 60

# Columns of text in which a table has to fit, between its columns, and to which names can be cut.
_ROOM, _GAP, _LEAST_OF_NAME = 98, 2, 20

# Columns of all rules that say where to look.
_COUNTED = (("instances", "piece"), ("steps_with_it", "step"))
_FIRST = ("step", "ts", "claimed", "slice_id", "name")
_ALL_OF_IT = 0.995


def findings(report: TraceReport, *, folds: bool, draws: bool) -> Iterator[Block]:
    """What there is to say about each finding, then what else was seen.

    Formats that fold get the queries beside the findings, the others apart (`finding_queries`): they are long.
    """
    unit = report.unit
    if report.findings:
        yield Heading(3, ("Findings, by what a fix would likely win",), anchor="findings")
        yield Paragraph((_how_to_read(report, unit, folds=folds),))
    if report.findings_left_out:
        yield Paragraph((f"{report.findings_left_out} smaller not shown; ", Literal("--top"), " shows more."))
    if report.small:
        yield Paragraph((f"Less than 1 % of the {unit} each: {', '.join(report.small)}.",))
    for number, each in enumerate(report.findings, 1):
        yield from _finding(number, each, unit)
        if draws and each.finding_id in report.close_ups:
            yield from map(Tracks, report.close_ups[each.finding_id])
        yield from _pieces(each, unit)
        if folds:
            yield Fold(("SQL",), tuple(_queries_of(number, each)))
    if report.observations:
        yield Heading(3, ("Also to know",))
    for observation in report.observations:
        yield from _observation(observation)
        if folds:
            yield Fold(("SQL",), (Query(observation.evidence.query),))


def finding_in_full(number: int, finding: Finding, report: TraceReport, *, sql: bool) -> Iterator[Block]:
    """Finding F`number` with its evidence, and with its queries if wanted."""
    yield from _finding(number, finding, report.unit)
    yield from _pieces(finding, report.unit)
    if sql:
        yield from _queries_of(number, finding)


def _how_to_read(report: TraceReport, unit: str, *, folds: bool) -> str:
    text = (
        f"Savings are per {unit}. No time is counted twice: what several rules see is counted under the first and shown as"
        ' part of it, so that the savings may be added ("with all above" is the bound of fixing all of them so far).'
    )
    if not folds:
        text += " Their queries stand at the end."
    if not report.ledger:
        text += (
            " No GPU works in this trace, so that nothing is replayed: what goes from the training thread goes from the"
            f" {unit}, unless it then waits for something else."
        )
    elif report.replay_error is not None and report.is_replayed:
        text += (
            " A saving is what a replay of the recorded calls and kernels leaves of the time found when its cause is gone;"
            " replayed unchanged, with the latencies of other steps, the steps come out within"
            f" {share(max(report.replay_error, 0.001))} of what was recorded."
        )
    else:
        text += (
            " A replay of the recorded calls and kernels is too far off here to say what is likely: savings are bounds,"
            " ranked by their middle."
        )
    if len(report.ledger) > 1:
        text += (
            f" They are about GPU {report.findings[0].where.device}, the busiest: a step cannot get shorter than that."
        )
    return text


def _finding(number: int, finding: Finding, unit: str) -> Iterator[Block]:
    yield Heading(4, (f"F{number}. {finding.title}",), anchor=f"F{number}")
    facts: list[tuple[str, Spans]] = [
        ("saving", (_saving(finding, unit),)),
        ("measured", (_measured(finding, unit),)),
        ("where", _where(finding.where)),
        ("confidence", (f"{finding.confidence}. {finding.confidence_reason}",)),
        ("fix", (finding.fix,)),
        ("wrong if", (finding.wrong_if,)),
        ("id", (Name(finding.finding_id),)),
    ]
    facts += [("see", (Address(each),)) for each in finding.references[:1]]
    yield Facts(tuple(facts))


def _pieces(finding: Finding, unit: str) -> Iterator[Block]:
    if finding.instances.rows:
        yield Paragraph(("The pieces that cost most:",))
        yield _evidence(finding.instances, _telling(finding.instances))
    if finding.parts:
        yield Paragraph(("Of the same time or the same cause, not to be added:",))
        yield Items(tuple(_part(each, unit) for each in finding.parts))


def _part(part: Part, unit: str) -> Spans:
    return (f"{part.title} ({part.rule}): likely {duration(part.saving_ns)} per {unit}. ", part.fix)


def _evidence(evidence: Evidence, columns: Sequence[str]) -> Table:
    """As many of the columns as fit on a line, in the order given; names are cut where they are long."""
    header: list[str] = []
    cells: list[tuple[str, ...]] = []
    room = _ROOM
    for column in columns:
        place = evidence.columns.index(column)
        values = tuple(_cell(column, row[place]) for row in evidence.rows)
        title = column.removesuffix("_ns").replace("_", " ")
        room -= _GAP + max(
            len(title), *(min(len(each), _LEAST_OF_NAME) if isinstance(each, Name) else len(each) for each in values)
        )
        if room < 0 and header:
            break
        header.append(title)
        cells.append(values)
    texts = tuple(number for number, values in enumerate(cells) if any(isinstance(each, Name) for each in values))
    return Table(tuple(header), tuple(zip(*cells, strict=True)), text_columns=texts)


def _cell(column: str, value: Value) -> str:
    if value is None:
        return "-"
    return Name(shortened(value, _NAME_WIDTH)) if isinstance(value, str) else cell(column, value)


def _telling(evidence: Evidence) -> list[str]:
    """What every rule has, then what is not the same in all rows."""
    first = [column for column in _FIRST if column in evidence.columns]
    rest = [column for column in evidence.columns if column not in first]
    return first + [each for each in rest if len({row[evidence.columns.index(each)] for row in evidence.rows}) > 1]


def _observation(observation: Observation) -> Iterator[Block]:
    yield Heading(4, (observation.title,))
    yield Paragraph((observation.text,))
    yield Facts((("try", (observation.fix,)), ("id", (Name(observation.finding_id),))))
    if observation.evidence.rows:
        yield _evidence(observation.evidence, observation.evidence.columns)


def _saving(finding: Finding, unit: str) -> str:
    step = step_ns(finding)
    low, high = duration(finding.saving_low_ns), duration(finding.saving_high_ns)
    if finding.only_bounds:
        return f"{low} to {high} per {unit}: the replay of these steps is too far off to say what is likely"
    text = (
        f"likely {duration(finding.saving_ns)} per {unit} ({step_share(finding)}), {low} "
        f"to {high}: {duration(step)} would become {duration(finding.expected_step_ns)}"
    )
    half = step - finding.saving_ns / 2
    if finding.expected_step_ns > 0:
        text += f" ({speed_up(step, finding.expected_step_ns)}; half a fix {speed_up(step, half)})"
    if finding.assumed_share < 1:
        text += f". It assumes that the fix takes away {share(finding.assumed_share)} of the time found"
    if finding.owned_ns < finding.claimed_ns * _ALL_OF_IT:
        text += (
            f". It sees {duration(finding.claimed_ns)}, of which {duration(finding.claimed_ns - finding.owned_ns)}"
            " count under other findings"
        )
    return text


def _measured(finding: Finding, unit: str) -> str:
    row = dict(zip(finding.summary.columns, finding.summary.rows[0], strict=True))
    pieces, steps = (some(int(str(row[column])), noun) for column, noun in _COUNTED)
    longest = cell("longest_ns", row["longest_ns"])
    where = "" if unit == "window" else f" in {steps}"
    return f"{pieces}{where}, {duration(finding.claimed_ns)} per {unit}; the longest {longest}"


def _where(where: Where) -> Spans:
    spans: Spans = ("training thread" if where.device is None else f"GPU {where.device}",)
    if where.device_name:
        spans += (", ", Name(where.device_name))
    for label, number in (("rank", where.rank), ("stream", where.stream)):
        if number is not None:
            spans += (f", {label} {number}",)
    named = {
        "phase": where.phase,
        "annotation": where.annotation,
        "operator": where.operator,
        "line": where.source_line,
    }
    for label, value in named.items():
        if value:
            spans += (f", {label} ", Name(shortened(value, _NAME_WIDTH)))
    return spans


def finding_queries(report: TraceReport) -> Iterator[Block]:
    """The SQL behind the findings, apart from them: it is long."""
    if not report.findings and not report.observations:
        return
    yield Heading(3, ("Queries behind the findings",))
    for number, each in enumerate(report.findings, 1):
        yield from _queries_of(number, each)
    for observation in report.observations:
        yield Paragraph((f"{observation.title}:",))
        yield Query(observation.evidence.query)


def _queries_of(number: int, finding: Finding) -> Iterator[Block]:
    yield Paragraph((f"F{number}, what it claims:",))
    yield Query(finding.summary.query)
    if finding.instances.rows:
        yield Paragraph((f"F{number}, the pieces that cost most:",))
        yield Query(finding.instances.query)
    for part in finding.parts:
        yield Paragraph((f"F{number}, {part.rule}:",))
        yield Query(part.evidence.query)
