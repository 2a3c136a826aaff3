"""The words about traces that were frozen and graded, in Markdown, and what to do once they are frozen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from shlex import quote

from traceq.common.text import markdown
from traceq.common.units import duration, share, some
from traceq.diagnosis.grading.causes import all_causes
from traceq.diagnosis.grading.frozen import Frozen, FrozenTrace
from traceq.diagnosis.grading.grade import GradedResult
from traceq.diagnosis.grading.graded import Graded, GradedPair, GradedTrace
from traceq.diagnosis.grading.shares import CONFIDENCES, VERDICTS, count_findings, count_firsts

_HOW = """\
A first statement is *right* when its cause is one that the label accepts first and its size is the label's, within 30 % or
between the label's bounds; *partly* when it is true but another cause is larger, or its size differs. If the label says
that nothing can be saved, or that the capture cannot tell, no finding may be wrong. A first "cannot tell" is right if
the label says the same, and partly right if it names the label's line of the ledger. A finding is *true* by its cause and
its size. Each file was judged on its own."""

_NOT_BLIND = """\
**Not blind**: this was frozen after labels could be read. It shows how these traces are judged now, not what to
expect for others."""

_WORDS = {"right": "true", "partly": "partly", "wrong": "wrong"}

_LABEL = """\
A label is FOLDER/labels/NAME.json, NAME as the first run of traceq rules test --blind FOLDER lists it. At least:

{"judged": {"per": "step", "step_ns": 52630000,
  "bottlenecks": [{"cause": "input-loading", "size_ns": 14000000, "low_ns": 8000000, "high_ns": 16000000,
                   "fix": "load in worker processes"}],
  "first": ["input-loading"], "also_true": ["launch-bound"], "nothing": false},
 "unit": {"steps": 6}, "program": "resnet50"}

per            step, window or run: what sizes refer to; step_ns is how long that is
bottlenecks    avoidable causes, largest saving first: what the fix is likely to save, and between which bounds
first          causes that may be listed first
also_true      causes that are also acceptable, without a size of their own
nothing        true if nothing can be saved or the capture cannot tell; bottlenecks and first may then be empty
line           optional: {"categories": ["idle_data"]}, the ledger lines that contain the largest cause
unit           optional: how many whole steps there are, 0 if nothing recurs
program        optional: a name shared by all traces of one program

Causes, what they mean, and the rules that name them:
"""


def label_help() -> Iterator[str]:
    """Yield the lines that explain labels, and one for each word for a cause: its meaning and the rules that find it."""
    yield _LABEL
    for word, cause in all_causes().items():
        yield f"{word}: {cause.what} ({', '.join(cause.rules) or 'no rule'})"


def next_steps(folder: Path, place: Path, frozen: Frozen) -> Iterator[str]:
    """Yield the lines on which traces were frozen or refused, and on how to label and grade them next.

    `folder` is where the traces are; `place` is where frozen.json is written.
    """
    refused = [each for each in frozen.traces if each.error is not None]
    known = [each.name for each in frozen.traces if each.name in frozen.labels]
    yield f"{place}: the results on {some(len(frozen.traces) - len(refused), 'trace')} are frozen."
    for each in refused:
        yield f"Refused, which is graded if {each.name} gets a label: {each.error}"
    if frozen.after is not None:
        command = f"traceq rules test --blind {quote(str(folder))} --again {frozen.after}"
        yield f"Not blind: frozen as after {frozen.after}. Grade it: {command}"
        return
    if known:
        yield f"Not blind, as there are labels: {', '.join(known)}"
    yield "Next:"
    yield f"  1. Keep {place / 'frozen.json'} as it is: commit it, or make it read-only. It is never written again."
    yield "  2. Read the raw files (with sqlite3 or json, not with traceq), and write down what is true of them in"
    for each in frozen.traces:
        if each.name not in frozen.labels and each.error is None:
            yield f"       {folder / 'labels' / each.name}.json"
    yield "     traceq rules test --causes shows a label, and the words for causes."
    yield f"  3. traceq rules test --blind {quote(str(folder))} grades the frozen results by these labels."


def write_page(name: str, graded: Graded, blind: Graded | None = None) -> Iterator[str]:
    """Yield the lines of the Markdown page of grades of the traces in folder `name`.

    `blind` has the earlier grades, made before labels were known, where this set was frozen anew.
    """
    frozen = graded.frozen
    commit = f", commit {frozen.commit}" if frozen.commit else ""
    yield f"# How right traceq is on {markdown(name)}{f', after: {frozen.after}' if frozen.after else ''}"
    yield ""
    yield f"Frozen {frozen.frozen} by traceq {frozen.traceq}{commit}; {some(len(graded.traces), 'trace')} labelled."
    yield ""
    if frozen.after is not None:
        yield _NOT_BLIND
        yield ""
    elif told := [each.trace.name for each in graded.traces if not each.is_blind]:
        yield f"**Not blind**, as there were labels when this was frozen: {_list(told)}. They are counted separately."
        yield ""
    if graded.unlabelled:
        yield f"Without a label, and not counted: {_list(graded.unlabelled)}."
        yield ""
    if graded.gone:
        yield f"No longer there, so it is not known whether they were changed: {_list(graded.gone)}."
        yield ""
    yield _HOW
    yield ""
    yield from _list_totals(graded, blind)
    yield from _list_traces(graded.traces)
    yield from _list_findings(graded.traces)
    yield from _list_rules([each.result for each in graded.traces])
    yield from _list_pairs(graded.pairs)


def _list(names: Sequence[str]) -> str:
    return ", ".join(map(markdown, names))


def _list_totals(graded: Graded, blind: Graded | None) -> Iterator[str]:
    after = graded.frozen.after
    groups = {
        "blind": [each for each in (graded if blind is None else blind).traces if each.is_blind],
        "not blind": [each for each in graded.traces if not each.is_blind and after is None],
        f"after {after}": [each for each in graded.traces if after is not None],
    }
    yield "| | traces | first statement | findings | of high confidence | of medium | of low | bottlenecks found | units right |"
    yield "|---|---:|---|---|---|---|---|---|---|"
    for name, traces in groups.items():
        if traces:
            yield f"| {name} | {len(traces)} | {' | '.join(_format_total(traces))} |"
    yield ""


def _format_total(traces: Sequence[GradedTrace]) -> Iterator[str]:
    results = [each.result for each in traces]
    right, partly, wrong = count_firsts(results)
    yield f"{right} right, {partly} partly, {wrong} wrong"
    yield _list_counts(count_findings(results))
    yield from (_list_counts(count_findings(results, each)) for each in CONFIDENCES)
    yield f"{sum(each.found for each in results)} of {sum(len(each.truth.bottlenecks) for each in results)}"
    units = [each.has_unit for each in traces if each.has_unit is not None]
    yield f"{sum(units)} of {len(units)}" if units else "not labelled"


def _list_counts(counted: tuple[int, int, int]) -> str:
    true, partly, wrong = counted
    return f"{true} true, {partly} partly, {wrong} wrong" if sum(counted) else "none"


def _list_traces(traces: Sequence[GradedTrace]) -> Iterator[str]:
    yield "## Traces"
    yield ""
    yield "| trace | unit | first | said first | size | true of it | size | findings true, partly, wrong |"
    yield "|---|---|---|---|---:|---|---:|---|"
    for each in traces:
        largest = each.result.truth.largest
        true = f"{largest.cause} | {share(largest.size)}" if largest else "nothing to save |"
        counted = " ".join(map(str, count_findings([each.result])))
        blind = "" if each.is_blind else " (not blind)"
        first = f"{each.result.first} | {_said_first(each.trace)}"
        yield f"| {markdown(each.trace.name)}{blind} | {_format_unit(each)} | {first} | {true} | {counted} |"
    yield ""


def _format_unit(graded: GradedTrace) -> str:
    trace = graded.trace
    if trace.error is not None:
        return "refused"
    words = some(trace.steps, "step") if trace.steps else "a window"
    return words if graded.has_unit is None else f"{words}: {'right' if graded.has_unit else 'wrong'}"


def _said_first(trace: FrozenTrace) -> str:
    """Return two Markdown cells on a trace's first finding: its rule (or "refused", "cannot tell") and its share of the step."""
    output = trace.output
    if trace.error is not None:
        return "refused |"
    if output.unknown is not None:
        return f"cannot tell: {output.unknown} |"
    if output.findings:
        return f"{output.findings[0].rule} | {share(output.findings[0].share)}"
    return f"{', '.join(output.remarks[:1]) or 'nothing'} |"


def _list_findings(traces: Sequence[GradedTrace]) -> Iterator[str]:
    if not any(each.result.said for each in traces):
        return
    yield "## Findings"
    yield ""
    yield "| trace | | finding | rule | confidence | likely | share | low to high | it is |"
    yield "|---|---|---|---|---|---:|---:|---|---|"
    for each in traces:
        for number, (finding, said) in enumerate(zip(each.trace.output.findings, each.result.said, strict=True), 1):
            saving = f"{duration(finding.saving_ns)} | {share(finding.share)}"
            bounds = f"{duration(finding.saving_low_ns)} to {duration(finding.saving_high_ns)}"
            of = f"{markdown(each.trace.name)} | F{number} | {markdown(finding.title)} | {finding.rule}"
            yield f"| {of} | {finding.confidence} | {saving} | {bounds} | {_WORDS[said.verdict]} |"
    yield ""


def _list_rules(results: Sequence[GradedResult]) -> Iterator[str]:
    rules = sorted({said.rule for each in results for said in each.said})
    if not rules:
        return
    yield "## Rules"
    yield ""
    yield "| rule | findings | true | partly | wrong |"
    yield "|---|---:|---:|---:|---:|"
    for rule in rules:
        verdicts = [said.verdict for each in results for said in each.said if said.rule == rule]
        counted = " | ".join(str(verdicts.count(each)) for each in VERDICTS)
        yield f"| {rule} | {len(verdicts)} | {counted} |"
    yield ""


def _list_pairs(pairs: Sequence[GradedPair]) -> Iterator[str]:
    if not pairs:
        return
    yield "## Pairs"
    yield ""
    yield "| base | new | said | | true |"
    yield "|---|---|---|---|---|"
    for each in pairs:
        pair = each.pair
        said = f"{pair.verdict or 'refused'} | {'right' if each.is_right else 'wrong'}"
        blind = "" if each.is_blind else " (not blind)"
        true = " or ".join(each.accepted)
        yield f"| {markdown(pair.base)} | {markdown(pair.new)}{blind} | {said} | {true} |"
    yield ""
