"""The words about findings: their ranking, each in full, and what else was seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from traceq.common.text import shortened
from traceq.common.units import cell, column_title, duration, share, some
from traceq.diagnosis.choose import number_findings
from traceq.diagnosis.finding import Evidence, Finding, Observation, Part, Value, Where
from traceq.reports.document import (
    Address,
    Block,
    Card,
    Facts,
    Fold,
    Heading,
    Items,
    Literal,
    Name,
    Paragraph,
    Query,
    RankedFinding,
    Ranking,
    Reference,
    Spans,
    Table,
    Title,
    Tracks,
    split_code,
)
from traceq.reports.model import HostStack, TraceReport
from traceq.reports.savings import (
    bounded_share_text,
    cumulative_text,
    saving_cost_text,
    saving_share_text,
    saving_text,
    speed_up_text,
    step_ns,
)

_NAME_WIDTH = 60

# Columns of text in which a table has to fit, between its columns, and to which names can be cut.
_ROOM, _GAP, _LEAST_OF_NAME = 98, 2, 20

# Columns of all rules that say where to look.
_FIRST = ("step", "ts", "claimed", "slice_id", "name")
_ALL_OF_IT = 0.995
# Characters of queries behind further numbers that a page shows for one finding.
_LONGEST_FURTHER = 1_000
# Frames of a stack that are shown, and characters of each.
_FRAMES, _FRAME_WIDTH = 8, 70
# What no labelled real trace has confirmed.
_EXTRA = " (extra)"


def describe_findings(report: TraceReport, *, folds: bool, draws: bool) -> Iterator[Block]:
    """Yield the section on all findings: how to read them, each finding, extra findings, other observations.

    With `draws` each finding becomes a card with timelines. With `folds` the SQL of each follows in a fold; without it,
    the SQL is left to list_finding_queries().
    """
    if report.findings:
        yield Heading(3, ("Findings",), anchor="findings")
        yield Paragraph((_how_to_read(report),))
    if report.findings_left_out:
        yield Paragraph((f"{report.findings_left_out} smaller ones are not shown; ", Literal("--top"), " shows more."))
    if report.small:
        yield Paragraph((f"Below 1 % of the {report.unit} each: {', '.join(report.small)}.",))
    for number, (place, each) in enumerate(number_findings(report.findings)):
        if draws:
            yield _make_card(number, place, each, report)
        else:
            yield from _describe_and_fold(place, each, report, folds=folds)
    if report.extra_findings:
        yield Heading(3, ("Extra findings",), anchor="extra")
    for place, each in number_findings(report.extra_findings):
        yield from _describe_and_fold(place, each, report, folds=folds)
    yield from _list_remarks(report, folds=folds)


def _describe_and_fold(place: str, finding: Finding, report: TraceReport, *, folds: bool) -> Iterator[Block]:
    yield from describe_finding(place, finding, report, sql=False)
    if folds:
        yield Fold(("SQL",), tuple(_list_queries(place, finding, whole=False)))


def _list_remarks(report: TraceReport, *, folds: bool) -> Iterator[Block]:
    if report.observations:
        yield Heading(3, ("Other observations",))
    for observation in report.observations:
        yield from describe_remark(observation, report)
        if folds:
            further = _list_further("", observation.queries, whole=False)
            yield Fold(("SQL",), (Query(observation.evidence.query), *further))


def _make_card(number: int, place: str, finding: Finding, report: TraceReport) -> Card:
    """Return the card of finding `number` (from 0), named `place` (F1), with facts, timelines, and a fold of evidence and SQL."""
    step, won = step_ns(finding), finding.saving_high_ns if finding.only_bounds else finding.saving_ns
    blocks: list[Block] = [Facts(tuple(_list_facts(finding, report)))]
    blocks += [Tracks(each) for each in report.close_ups.get(finding.finding_id, ())]
    blocks += _describe_stack(finding, report)
    evidence = (*_list_occurrences(finding, report), *_list_parts(finding, report))
    blocks.append(Fold(("Evidence and SQL",), (*evidence, *_list_queries(place, finding, whole=False))))
    return Card(rank_findings(report).rows[number], min(won / step if step else 0.0, 1.0), tuple(blocks))


def describe_finding(place: str, finding: Finding, report: TraceReport, *, sql: bool) -> Iterator[Block]:
    """Yield the finding named `place` (F1): title, facts, largest occurrences, stack of the worst; with `sql`, its queries."""
    yield from _finding_facts(place, finding, report)
    yield from _list_occurrences(finding, report)
    yield from _describe_stack(finding, report)
    yield from _list_parts(finding, report)
    if sql:
        yield from _list_queries(place, finding)


def _describe_stack(finding: Finding, report: TraceReport) -> Iterator[Block]:
    """Yield the stack of the finding's worst occurrence in a fold; nothing where it has none."""
    stack = report.stacks.get(finding.finding_id)
    if stack is not None:
        when = ", when its graph was captured" if stack.is_captured else ""
        title = f"Call stack of the worst occurrence{when}, innermost first"
        yield Fold((title,), (Items(tuple(_list_frames(stack))),))


def _list_frames(stack: HostStack) -> Iterator[Spans]:
    """Yield the innermost frames of a stack, then the program's innermost line if it is further out; the rest are counted."""
    frames = stack.frames
    # that of a graph's kernel may be of its capture, while the frames are of its launch
    line = frames.index(stack.line) if stack.line in frames else len(frames)
    shown = _FRAMES if line < _FRAMES or line == len(frames) else _FRAMES - 1
    yield from ((_shorten_frame(frame),) for frame in frames[:shown])
    if shown <= line < len(frames):
        if line > shown:
            yield (f"{line - shown} more",)
        yield (_shorten_frame(frames[line]),)
        shown = line + 1
    if len(frames) > shown:
        yield (f"{len(frames) - shown} more",)


def _shorten_frame(frame: str) -> Name:
    """Return the frame's name, cut where it is long: of a line of Python the first folders are left out."""
    is_long_line = len(frame) > _FRAME_WIDTH and ".py(" in frame
    return Name(f"…{frame[1 - _FRAME_WIDTH :]}" if is_long_line else shortened(frame, _FRAME_WIDTH))


def _how_to_read(report: TraceReport) -> str:
    text = (
        f"Savings are per {report.unit}. No time counts twice: time that several rules find counts for the "
        "first, so savings can be added. Cumulative is the upper bound for fixing a finding and all those above it."
    )
    if not report.ledger:
        text += (
            " This trace has no GPU work, so nothing is replayed: time saved on the training thread shortens "
            f"the {report.unit}, unless the thread then waits for something else."
        )
    elif report.replay_error is not None and report.is_replayed:
        text += (
            " Savings are estimated by replaying the trace without the cause. Replaying it unchanged reproduces the"
            f" recorded step time to within {share(max(report.replay_error, 0.001))}."
        )
    else:
        text += (
            " Replaying this trace unchanged misses the recorded step time by too much to give a likely value: "
            "savings are bounds, ranked by their midpoint."
        )
    if len(report.ledger) > 1:
        text += (
            f" They apply to GPU {report.findings[0].where.device}, the busiest: no step can be shorter than its work."
        )
    return text


def _finding_facts(place: str, finding: Finding, report: TraceReport) -> Iterator[Block]:
    yield Heading(4, (f"{place}. {finding.title}{_EXTRA if finding.is_extra else ''}",), anchor=place)
    yield Facts(tuple(_list_facts(finding, report)))


def _list_facts(finding: Finding, report: TraceReport) -> Iterator[tuple[str, Spans]]:
    yield "saving", (_describe_saving(finding, report),)
    yield "measured", (_describe_claim(finding, report.unit),)
    yield "where", _describe_place(finding.where)
    yield "confidence", (f"{finding.confidence}. ", *split_code(finding.confidence_reason))
    yield "fix", split_code(finding.fix)
    yield "unless", split_code(finding.wrong_if)
    yield "id", (Name(finding.finding_id),)
    yield from (("see", (Address(each),)) for each in finding.references[:1])


def _list_occurrences(finding: Finding, report: TraceReport) -> Iterator[Block]:
    if finding.instances.rows:
        is_placed = "ts" in finding.instances.columns
        yield Paragraph((f"Largest occurrences{' (at: from the start of the trace)' if is_placed else ''}:",))
        yield _evidence_table(finding.instances, _telling_columns(finding.instances), report.trace.begin_ns)


def _list_parts(finding: Finding, report: TraceReport) -> Iterator[Block]:
    if finding.parts:
        yield Paragraph(("Other views of the same time or cause; do not add their savings:",))
        yield Items(
            tuple(_describe_part(each, report.unit, is_known=not finding.only_bounds) for each in finding.parts)
        )


def _describe_part(part: Part, unit: str, *, is_known: bool) -> Spans:
    likely = f": likely {duration(part.saving_ns)} per {unit}" if is_known else ""
    return (f"{part.title} ({part.rule}{', extra' if part.is_extra else ''}){likely}. ", *split_code(part.fix))


def _evidence_table(evidence: Evidence, columns: Sequence[str], begin: int | None) -> Table:
    """Return a table of evidence with the first of `columns` that fit on a line (at least one); long names are cut.

    `begin` is the start of the trace, ns.
    """
    header: list[str] = []
    cells: list[tuple[str, ...]] = []
    room = _ROOM
    for column in columns:
        place = evidence.columns.index(column)
        values = tuple(_format_cell(column, row[place], begin) for row in evidence.rows)
        title = column_title(column)
        room -= _GAP + max(
            len(title), *(min(len(each), _LEAST_OF_NAME) if isinstance(each, Name) else len(each) for each in values)
        )
        if room < 0 and header:
            break
        header.append(title)
        cells.append(values)
    texts = tuple(number for number, values in enumerate(cells) if any(isinstance(each, Name) for each in values))
    return Table(tuple(header), tuple(zip(*cells, strict=True)), text_columns=texts)


def _format_cell(column: str, value: Value, begin: int | None) -> str:
    if value is None:
        return "-"
    return Name(shortened(value, _NAME_WIDTH)) if isinstance(value, str) else cell(column, value, begin)


def _telling_columns(evidence: Evidence) -> list[str]:
    """Return the evidence's columns to show: those that every rule has, then those whose values differ between rows."""
    first = [column for column in _FIRST if column in evidence.columns]
    rest = [column for column in evidence.columns if column not in first]
    return first + [each for each in rest if len({row[evidence.columns.index(each)] for row in evidence.rows}) > 1]


def describe_remark(observation: Observation, report: TraceReport) -> Iterator[Block]:
    """Yield an observation of the trace, which saves no time by itself: title, text, what to try, and its evidence."""
    yield Heading(4, (f"{observation.title}{_EXTRA if observation.is_extra else ''}",))
    yield Paragraph(split_code(observation.text))
    yield Facts((("try", split_code(observation.fix)), ("id", (Name(observation.finding_id),))))
    if observation.evidence.rows:
        yield _evidence_table(observation.evidence, observation.evidence.columns, report.trace.begin_ns)


def _describe_saving(finding: Finding, report: TraceReport) -> str:
    step, unit = step_ns(finding), report.unit
    low, high = duration(finding.saving_low_ns), duration(finding.saving_high_ns)
    if finding.only_bounds:
        bounds = low if low == high else f"{low} to {high}"
        return f"{bounds} per {unit}: the replay of this trace is too far off to give a likely value"
    of_step = f"{saving_share_text(finding)}{saving_cost_text(finding, report.price)}"
    text = (
        f"likely {duration(finding.saving_ns)} per {unit} ({of_step}), {low} to {high}: "
        f"{duration(step)} -> {duration(finding.expected_step_ns)}"
    )
    half = step - finding.saving_ns / 2
    if finding.expected_step_ns > 0:
        text += f", {speed_up_text(step, finding.expected_step_ns)} as fast ({speed_up_text(step, half)} if half is recovered)"
    if finding.assumed_share < 1:
        text += f". Assumes that the fix removes {share(finding.assumed_share)} of the matched time"
    if finding.owned_ns < finding.claimed_ns * _ALL_OF_IT:
        text += f". {duration(finding.claimed_ns)} match; {duration(finding.owned_ns)} of that counts here"
        # no moment counts twice: the rest is others', or the ledger does not hold as much
        own = finding.owned_by_category.keys()
        others = [
            f"F{number}"
            for number, each in enumerate(report.findings, 1)
            if each is not finding and not own.isdisjoint(each.owned_by_category)
        ]
        text += f" (see also {', '.join(others)})" if others else ""
    return text


def _describe_claim(finding: Finding, unit: str) -> str:
    row = dict(zip(finding.summary.columns, finding.summary.rows[0], strict=True))
    claimed = min(float(str(row["claimed_ns"])), step_ns(finding))
    text = f"{duration(claimed)} per {unit}"
    if finding.occurrences is not None:
        where = "" if unit == "window" else f" in {some(int(str(row['steps_with_it'])), 'step')}"
        text = f"{some(finding.occurrences, 'occurrence')}{where}, {text}"
    text += f"; the longest piece {cell('longest_ns', row['longest_ns'])}"
    if finding.claimed_ns > claimed / _ALL_OF_IT:
        text += f"; with other time that the same fix saves, at least {duration(finding.claimed_ns)} per {unit}"
    return text


def _describe_place(where: Where) -> Spans:
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


def list_finding_queries(report: TraceReport) -> Iterator[Block]:
    """Yield the section with the SQL of all findings and observations; nothing if there are none."""
    if not report.every_finding and not report.observations:
        return
    yield Heading(3, ("Queries behind the findings",))
    for place, each in number_findings(report.every_finding):
        yield from _list_queries(place, each)
    for observation in report.observations:
        yield Paragraph((f"{observation.title}:",))
        yield Query(observation.evidence.query)
        yield from _list_further("", observation.queries, whole=True)


def _list_further(place: str, queries: Sequence[str], *, whole: bool) -> Iterator[Block]:
    """Yield the queries of further numbers in an advice; without `whole`, the command that prints them if they are long."""
    if not whole and sum(map(len, queries)) > _LONGEST_FURTHER:
        command = f"traceq report TRACE --finding {place} --sql" if place else "traceq report TRACE --sql"
        yield Paragraph(("Queries of further numbers of the advice: ", Literal(command)))
        return
    for query in queries:
        yield Paragraph((f"{place}, further numbers of its advice:" if place else "Further numbers of its advice:",))
        yield Query(query)


def _list_queries(place: str, finding: Finding, *, whole: bool = True) -> Iterator[Block]:
    """Yield the queries of a finding; without `whole`, those of further numbers only where they are short."""
    yield Paragraph((f"{place}, the time it matches:",))
    yield Query(finding.summary.query)
    if finding.instances.rows:
        yield Paragraph((f"{place}, its largest occurrences:",))
        yield Query(finding.instances.query)
    yield from _list_further(place, finding.queries, whole=whole)
    for part in finding.parts:
        yield Paragraph((f"{place}, {part.rule}:",))
        yield Query(part.evidence.query)


def rank_findings(report: TraceReport, most: int | None = None) -> Ranking:
    """Return the ranking of the first `most` findings, all for None; a row has saving, share, confidence and what to do.

    A row's `cumulative` is the upper bound of the speed-up if this finding and all above it are fixed.
    """
    found = report.findings[:most]
    return Ranking(tuple(_rank_finding(found, number) for number in range(len(found))), report.unit)


def _rank_finding(found: Sequence[Finding], number: int) -> RankedFinding:
    each = found[number]
    return RankedFinding(
        Reference(f"F{number + 1}"),
        Title(each.title),
        saving_text(each),
        bounded_share_text(each),
        cumulative_text(found[: number + 1]),
        each.confidence,
        split_code(each.deed),
    )
