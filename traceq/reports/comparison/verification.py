"""The words about a finding before and after its fix."""

from __future__ import annotations

from collections.abc import Iterator

from traceq.analysis.categories import in_words as category_in_words
from traceq.common.units import change, duration, share
from traceq.diagnosis.calibrated import ON, describe_accuracy
from traceq.reports.comparison.words import (
    both_sides,
    brief_command,
    compose_knobs,
    format_confidence,
    tell_way_out,
)
from traceq.reports.document import (
    Block,
    Facts,
    Heading,
    Literal,
    Name,
    Outcome,
    Paragraph,
    Spans,
    Table,
    Verdict,
    Warn,
)
from traceq.reports.losses import describe_losses
from traceq.reports.savings import saving_text
from traceq.runs.verify.verify import Verification, hardware_of

_STATES = {
    "gone": "The finding is gone",
    "smaller": "The finding is still there, but smaller",
    "still there": "The finding is still there",
    "cannot tell": "Cannot tell whether the finding is gone",
}
_PREDICTIONS = {
    "right": "the saving lies within what was predicted",
    "too high": "the saving is below the least that was predicted",
    "too low": "the saving is above the most that was predicted",
    "cannot tell": "whether the prediction was right is unknown",
}
_MOST = 6


def compose_verification(verification: Verification) -> Iterator[Block]:
    """Yield the report of traceq verify: whether the finding is gone, what the step gained, and whether the prediction held."""
    finding, comparison = verification.finding, verification.comparison
    yield Heading(1, ("traceq verify",))
    yield Heading(2, (finding.title,), anchor="finding")
    said = f"{_STATES[verification.state]}; {_describe_gain(verification)}; {_PREDICTIONS[verification.prediction]}."
    if verification.losses is not None and verification.losses.state == "changed":
        said = f"The results changed: {describe_losses(verification.losses)}. {said}"
    outcome = _judge_outcome(verification)
    lines = (tell_way_out(comparison),) if outcome == "cannot tell" else ()
    yield Verdict((said,), outcome, lines=lines, label="After the fix")
    if verification.reason:
        yield Warn((f"{verification.reason[0].upper()}{verification.reason[1:]}.",))
    yield from (Paragraph((f"{assumption[0].upper()}{assumption[1:]}.",)) for assumption in comparison.assumptions)
    yield from compose_knobs(comparison.made_with)
    yield Facts(tuple(_list_facts(verification)))
    if comparison.change is None:
        return
    yield Heading(3, ("What happened to the step",))
    changed = [cause for cause in comparison.causes if cause.delta_ns]
    rows = [
        (Literal(cause.category), category_in_words(cause.category), *both_sides(cause)) for cause in changed[:_MOST]
    ]
    if len(changed) > _MOST:
        rows.append((Literal("others"), "", *both_sides(*changed[_MOST:])))
    rows.append((Literal("step"), "mean", *both_sides(comparison.change)))
    yield Table(("category", "what", "before", "after", "change"), tuple(rows), text_columns=(0, 1))
    yield Paragraph(("More on the difference: ", Literal(brief_command(comparison))))


def _judge_outcome(verification: Verification) -> Outcome:
    """Return "problem" if results changed, the finding is there or the step got longer, "healthy" if it is gone and time saved.

    Otherwise return "cannot tell".
    """
    if verification.losses is not None and verification.losses.state == "changed":
        return "problem"
    if verification.comparison.verdict == "regression" or verification.state in ("smaller", "still there"):
        return "problem"
    return "healthy" if verification.state == "gone" and verification.is_saved else "cannot tell"


def _describe_gain(verification: Verification) -> str:
    """Return a clause on the time per step that the fix saved or cost, with its share of the step, or that this is unknown."""
    won = verification.won_ns
    if won is None:
        return "the saving is unknown"
    before = verification.comparison.change.base_ns if verification.comparison.change else 0
    of_step = f" ({share(abs(won) / before)} of it)" if before else ""
    if verification.is_saved:
        return f"{duration(won)} of a step were saved{of_step}"
    if won < 0 and verification.comparison.verdict == "regression":
        return f"nothing was saved, the step is {duration(-won)}{of_step} longer"
    by = f"{duration(abs(won))}{of_step} {'longer' if won < 0 else 'shorter'}" if won else "as long as before"
    return f"no saving is certain, the step is {by}"


def _list_facts(verification: Verification) -> Iterator[tuple[str, Spans]]:
    """Yield (label, text) on the fix: the finding, its predicted and measured saving, what is left, losses, accuracy, steps."""
    finding, after = verification.finding, verification.after
    yield "finding", (Name(finding.finding_id),)
    low, high = duration(finding.saving_low_ns), duration(finding.saving_high_ns)
    likely = "" if finding.only_bounds else f"{duration(finding.saving_ns)} a step, "
    yield "predicted", (f"{likely}{low} to {high}; {finding.confidence} confidence",)
    if verification.won_interval_ns is not None:
        least, most = map(change, verification.won_interval_ns)
        level = format_confidence(verification.comparison.level)
        what = "won" if verification.is_saved else "shorter by"
        yield what, (f"{change(verification.won_ns)} a step; {level} interval {least} to {most}",)
    yield "now", (f"{saving_text(after)} a step left to save" if after else "no longer found",)
    if verification.losses is not None:
        state = "" if verification.losses.state == "cannot tell" else f"{verification.losses.state}: "
        yield "results", (f"{state}{describe_losses(verification.losses)}",)
    if verification.earlier is not None:
        of = f" of this rule {ON[hardware_of(verification.comparison.base.runs)]}"
        yield "earlier", (describe_accuracy(verification.earlier, of),)
    if verification.also_gone:
        yield "also gone", (", ".join(each.rule for each in verification.also_gone),)
    sides = (verification.comparison.base, verification.comparison.new)
    yield "steps", (f"{sides[0].counted} before, {sides[1].counted} after",)
