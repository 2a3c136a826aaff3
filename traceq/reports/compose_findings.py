"""The words about findings, and about rules that found nothing or cannot tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from traceq.reports.document import Block, Facts, Heading, Items, Literal, Name, Paragraph, Query, Spans, Table, Warn
from traceq.reports.names import shortened
from traceq.units import cell, count, duration, share

if TYPE_CHECKING:
    from traceq.findings import Clean, Evidence, Finding, NotApplicable, Observation, Part, Value, Where
    from traceq.reports.report import DeviceLedger, TraceReport

_NAMED = 3
_NAME_WIDTH = 60

# Columns of text in which a table has to fit, between its columns, and to which names can be cut.
_ROOM, _GAP, _LEAST_OF_NAME = 98, 2, 20

# Columns of all rules that say where to look.
_COUNTED = (("instances", "piece"), ("steps_with_it", "step"))
_FIRST = ("step", "ts", "claimed", "slice_id", "name")
_ALL_OF_IT = 0.995


def headline(report: TraceReport) -> Iterator[Block]:
    """The answer in a few lines: how long a step takes, and what to change first."""
    unit = _unit(report)
    steps = report.steps
    if not report.ledger:
        reason = report.not_applicable[0].reason if report.not_applicable else "no GPU activity in this trace"
        yield Warn((f"The GPU ledger is not applicable: {reason}.",))
    if steps.source is None:
        return
    if unit == "trace":
        text = f"The trace lasts {duration(steps.p50)}."
    else:
        # Savings are shares of the mean: the sum of all steps is what a run takes.
        text = f"A step takes {duration(steps.mean)} (mean of {steps.counted}, median {duration(steps.p50)})."
    yield Paragraph((text + _computing(report.ledger),))
    if report.findings:
        yield Items(tuple(_first_lines(report.findings, unit)))
    elif report.ledger and not report.failed:
        yield Paragraph((f"Nothing found that would win 1 % of the {unit} or more.",))


def _first_lines(findings: Sequence[Finding], unit: str) -> Iterator[Spans]:
    for number, each in enumerate(findings[:_NAMED]):
        words = "Most to win: " if number == 0 else "Then: "
        yield (
            words,
            each.title,
            f": likely {duration(each.saving_ns)} per {unit} ({_step_share(each)}), {each.confidence} confidence.",
        )


def _computing(ledger: Sequence[DeviceLedger]) -> str:
    shares = [sum(part.share for part in device.parts if part.category == "compute") for device in ledger]
    if not shares:
        return ""
    if len(shares) == 1:
        return f" GPU {ledger[0].device} computes {share(shares[0])} of the time."
    return f" {len(shares)} GPUs compute {share(min(shares))} to {share(max(shares))} of the time."


def findings(report: TraceReport) -> Iterator[Block]:
    """The ranked table and what there is to say about each finding in it, then what else was seen."""
    unit = _unit(report)
    if report.findings:
        yield Heading(3, ("Findings, by what a fix would likely win",))
        yield _ranking(report.findings, unit)
        yield Paragraph((_how_to_read(report, unit),))
    if report.findings_left_out:
        yield Paragraph(
            (
                f"{report.findings_left_out} smaller not shown; ",
                Literal("--top"),
                " shows more.",
            )
        )
    if report.small:
        yield Paragraph((f"Less than 1 % of the {unit} each: {', '.join(report.small)}.",))
    for number, each in enumerate(report.findings, 1):
        yield from _finding(number, each, unit)
    if report.observations:
        yield Heading(3, ("Also to know",))
    for observation in report.observations:
        yield from _observation(observation)


def _ranking(found: Sequence[Finding], unit: str) -> Table:
    rows = []
    left = _step_ns(found[0])
    for number, each in enumerate(found, 1):
        left -= each.saving_ns
        faster = _speed_up(_step_ns(found[0]), left)
        title = Name(each.title)
        rows.append((f"F{number}", title, duration(each.saving_ns), _step_share(each), faster, each.confidence))
    header = ("", "finding", f"per {unit}", "share", "with all above", "confidence")
    return Table(header, tuple(rows), text_columns=(0, 1, 5))


def _speed_up(before: float, after: float) -> str:
    return f"{before / after:.3g}x" if after > 0 else "-"


def _range(finding: Finding) -> str:
    return f"{duration(finding.saving_low_ns)} to {duration(finding.saving_high_ns)}"


def _how_to_read(report: TraceReport, unit: str) -> str:
    text = (
        f"Savings are per {unit}. No time is counted twice: what several rules see is counted under the first and shown as"
        ' part of it, so that the savings may be added ("with all above" is the bound of fixing all of them so far).'
        " Their queries stand at the end."
    )
    if report.replay_error is not None and report.is_replayed:
        text += (
            " A saving is what a replay of the recorded calls and kernels leaves of the time found when its cause is gone;"
            f" replayed unchanged, with usual latencies, the steps come out within {share(max(report.replay_error, 0.001))}"
            " of what was recorded."
        )
    else:
        text += " The steps cannot be replayed, so that half of the time found counts as likely."
    if len(report.ledger) > 1:
        text += (
            f" They are about GPU {report.findings[0].where.device}, the busiest: a step cannot get shorter than that."
        )
    return text


def _finding(number: int, finding: Finding, unit: str) -> Iterator[Block]:
    yield Heading(4, (f"F{number}. {finding.title}",))
    facts: list[tuple[str, Spans]] = [
        ("saving", (_saving(finding, unit),)),
        ("measured", (_measured(finding, unit),)),
        ("where", _where(finding.where)),
        ("confidence", (f"{finding.confidence}. {finding.confidence_reason}",)),
        ("fix", (finding.fix,)),
        ("wrong if", (finding.wrong_if,)),
        ("id", (Name(finding.finding_id),)),
    ]
    facts += [("see", (each,)) for each in finding.references[:1]]
    yield Facts(tuple(facts))
    if finding.instances.rows:
        yield Paragraph(("The pieces that cost most:",))
        yield _evidence(finding.instances, _telling(finding.instances))
    if finding.parts:
        yield Paragraph(("Of the same time, not to be added:",))
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
    step = _step_ns(finding)
    text = (
        f"likely {duration(finding.saving_ns)} per {unit} ({_step_share(finding)}), {_range(finding)}:"
        f" {duration(step)} would become {duration(finding.expected_step_ns)}"
    )
    half = step - finding.saving_ns / 2
    if finding.expected_step_ns > 0:
        text += f" ({_speed_up(step, finding.expected_step_ns)}; half a fix {_speed_up(step, half)})"
    if finding.owned_ns < finding.claimed_ns * _ALL_OF_IT:
        text += (
            f". It sees {duration(finding.claimed_ns)}, of which {duration(finding.claimed_ns - finding.owned_ns)}"
            " count under other findings"
        )
    return text


def _measured(finding: Finding, unit: str) -> str:
    row = dict(zip(finding.summary.columns, finding.summary.rows[0], strict=True))
    pieces, steps = (_some(int(str(row[column])), noun) for column, noun in _COUNTED)
    longest = cell("longest_ns", row["longest_ns"])
    where = "" if unit == "trace" else f" in {steps}"
    return f"{pieces}{where}, {duration(finding.claimed_ns)} per {unit}; the longest {longest}"


def _some(number: int, noun: str) -> str:
    return f"{count(number)} {noun if number == 1 else f'{noun}s'}"


def _where(where: Where) -> Spans:
    spans: Spans = (f"GPU {where.device}",)
    if where.device_name:
        spans += (", ", Name(where.device_name))
    if where.rank is not None:
        spans += (f", rank {where.rank}",)
    if where.stream is not None:
        spans += (f", stream {where.stream}",)
    named = (
        ("phase", where.phase),
        ("annotation", where.annotation),
        ("operator", where.operator),
        ("line", where.source_line),
    )
    for label, value in named:
        if value:
            spans += (f", {label} ", Name(shortened(value, _NAME_WIDTH)))
    return spans


def _step_ns(finding: Finding) -> float:
    return finding.expected_step_ns + finding.saving_ns


def _step_share(finding: Finding) -> str:
    step = _step_ns(finding)
    return share(finding.saving_ns / step if step else None)


def _unit(report: TraceReport) -> str:
    return "trace" if report.steps.is_whole_trace else "step"


def finding_queries(report: TraceReport) -> Iterator[Block]:
    """The SQL behind the findings, apart from them: it is long."""
    if not report.findings and not report.observations:
        return
    yield Heading(3, ("Queries behind the findings",))
    for number, each in enumerate(report.findings, 1):
        yield Paragraph((f"F{number}, what it claims:",))
        yield Query(each.summary.query)
        if each.instances.rows:
            yield Paragraph((f"F{number}, the pieces that cost most:",))
            yield Query(each.instances.query)
        for part in each.parts:
            yield Paragraph((f"F{number}, {part.rule}:",))
            yield Query(part.evidence.query)
    for observation in report.observations:
        yield Paragraph((f"{observation.title}:",))
        yield Query(observation.evidence.query)


def outcomes(report: TraceReport) -> Iterator[Block]:
    """The rules that found nothing, cannot tell, or failed: silence must not read as "no problem"."""
    if report.clean:
        yield Heading(3, ("Looked for and not found",))
        yield Items(_by_reason(report.clean))
    if report.not_applicable:
        yield Heading(3, ("Cannot tell",))
        yield Items(_by_reason(report.not_applicable))
    if report.failed:
        yield Heading(3, ("Failed",))
        yield Warn(("These checks broke; that says nothing about the trace:",))
        yield Items(tuple((f"{each.rule}: ", each.error) for each in report.failed))


def _by_reason(outcomes: Sequence[Clean | NotApplicable]) -> tuple[Spans, ...]:
    rules: dict[str, list[str]] = {}
    for each in outcomes:
        rules.setdefault(each.reason, []).append(each.rule)
    return tuple((f"{', '.join(names)}: {reason}",) for reason, names in rules.items())
