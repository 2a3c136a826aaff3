"""The comparison as a regression ticket takes it: the verdict, what it rests on, three causes, and how to repeat it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from shlex import quote

from traceq.analysis.categories import in_words
from traceq.common.text import shortened
from traceq.common.units import change, change_share, count, duration
from traceq.reports.comparison.job import compose_for_ticket, rank_title
from traceq.reports.comparison.verdict import describe_cause, other_causes, verdict_sentence
from traceq.reports.comparison.words import both_sides, compose_knobs, format_confidence, format_interval, verdict_block
from traceq.reports.document import Block, Heading, Items, Literal, Name, Paragraph, Spans, Table, make_table
from traceq.runs.compare.comparison import Comparison, NamedCause, Side
from traceq.runs.compare.known_noise import ENOUGH_RUNS
from traceq.runs.compare.named_causes import MOST_NAMED

_MOST_RUNS = 6
_MOST_REMARKS = 5
_REMARK = 300
_NAME = 100
_FEW_STEPS = 20


def compose_ticket(comparison: Comparison) -> Iterator[Block]:
    """Yield a regression ticket: verdict, measurements, causes, advice, remarks, and the command that repeats it.

    Names and remarks are cut, and of many runs only the first are listed, so that it has at most 10 KB in Markdown.
    """
    yield Heading(1, ("traceq compare",))
    yield from compose_summary(comparison)
    yield from _compose_advice(comparison)
    if comparison.remarks:
        yield Heading(2, ("Check before you trust it",))
        yield Items(tuple((shortened(remark, _REMARK),) for remark in comparison.remarks[:_MOST_REMARKS]))
    yield from _compose_command(comparison)


def compose_summary(comparison: Comparison) -> Iterator[Block]:
    """Yield the verdict, the measurements behind it, and the causes of the change, for a ticket."""
    yield verdict_block(comparison, verdict_sentence(comparison))
    yield from _compose_grounds(comparison)
    yield from _compose_causes(comparison)


def _compose_grounds(comparison: Comparison) -> Iterator[Block]:
    """Yield what is behind the verdict: reasons, differing knobs, a table of the step by category, steps and p."""
    known = comparison.reasons[:1] if comparison.verdict == "cannot tell" else ()
    said = dict.fromkeys((*comparison.obstacles, *comparison.reasons, *comparison.assumptions))
    for each in [each for each in said if each not in known][: 2 * _MOST_REMARKS]:
        yield Paragraph((shortened(f"{each[0].upper()}{each[1:]}.", _REMARK),))
    yield from compose_knobs(comparison.made_with)
    total = comparison.change
    if total is None:
        return
    of_all = "" if comparison.job is None else " (mean rank)"
    rows = (
        ("step", *both_sides(total), change_share(total.share), format_interval(total)),
        *(
            (
                f"{cause.category}{of_all}",
                *both_sides(cause),
                change_share(cause.delta_ns / total.base_ns if total.base_ns else None),
                format_interval(cause),
            )
            for cause in comparison.causes[:_MOST_REMARKS]
            if cause.delta_ns
        ),
    )
    title = f"{format_confidence(comparison.level)} interval"
    yield Table(("", "base", "new", "change", "of the step", title), rows)
    p = "-" if total.p is None else f"{total.p:.2g}"
    found = f"; a change of {duration(total.detectable_ns)} would have been found" if total.detectable_ns else ""
    steps = f"{count(comparison.base.counted)} against {count(comparison.new.counted)} steps"
    yield Paragraph((f"{steps}; p = {p} (level {comparison.level:g}){found}.",))
    if comparison.kinds:
        yield make_table(
            comparison.kinds,
            {
                "kind of step": lambda each: Name(each.kind),
                "verdict": lambda each: each.verdict,
                "change": lambda each: "-" if each.change is None else change_share(each.change.share),
            },
            text=(0, 1),
        )


def _compose_causes(comparison: Comparison) -> Iterator[Block]:
    """Yield the ticket's section on causes: of the job first, then of the rank that is shown, sure causes before unsure ones."""
    yield Heading(2, ("What caused it",))
    if comparison.job is not None:
        yield from compose_for_ticket(comparison.job)
        if comparison.of_rank is None:
            return
        yield Heading(3, (rank_title(comparison.job),))
        comparison = comparison.of_rank
    if comparison.verdict in ("no change", "cannot tell"):
        yield from _compose_sure(comparison)
    elif comparison.named:
        yield _list_causes(comparison, comparison.named)
    else:
        yield from _compose_largest(comparison)
    if comparison.across is not None:
        yield Paragraph(list(other_causes(comparison))[-1])


def _compose_sure(comparison: Comparison) -> Iterator[Block]:
    """Yield the parts that surely changed though the step did not; those in the direction of the step's change come first.

    A sentence before them says that the step is put down to nothing, and why.
    """
    total = comparison.change
    if total is None:
        return
    if not comparison.comparable:
        yield Paragraph(("Nothing: the sides cannot be compared. The table has the measurements.",))
    elif total.interval_ns is None:
        yield Paragraph(("Nothing: too few steps to tell a change from noise. The table has the measurements.",))
        yield from _compose_largest(comparison)
    else:
        none = "" if comparison.named else ", and no part changed by more than its own noise"
        yield Paragraph((f"Nothing: it is not certain that the step changed{none}.",))
    for words, goes in (("in the direction of the step", True), ("in the other direction", False)):
        found = [each for each in comparison.named if (each.delta_ns * total.delta_ns > 0) == goes]
        if found:
            yield Paragraph((f"Nevertheless certainly changed, {words}:",))
            yield _list_causes(comparison, found)


def _list_causes(comparison: Comparison, causes: Sequence[NamedCause]) -> Items:
    """Return a list of the causes, each in words with its interval and its part's time and count on both sides."""
    return Items(tuple((*describe_cause(cause), "; ", *_describe_evidence(comparison, cause)) for cause in causes))


def _compose_largest(comparison: Comparison) -> Iterator[Block]:
    """Yield the largest changes of categories where too few steps tell which are sure, or that there is nothing to name.

    If intervals are known, yield only the sentence that no part changed by more than its noise.
    """
    if any(cause.interval_ns is not None for cause in comparison.causes):
        yield Paragraph(("No part of the step changed in that direction by more than its own noise.",))
        return
    largest = [cause for cause in comparison.causes if cause.delta_ns][:MOST_NAMED]
    if largest:
        yield Paragraph(("A side has too few steps to tell which parts certainly changed. The largest changes:",))
        yield Items(
            tuple((f"{in_words(each.category)} ({each.category}, {change(each.delta_ns)})",) for each in largest)
        )
    elif comparison.change is None:
        yield Paragraph(("Nothing: the two sides have different kinds of steps.",))
    else:
        yield Paragraph(("Nothing: no part of the step changed.",))


def _describe_evidence(comparison: Comparison, cause: NamedCause) -> Spans:
    """Return the interval of a cause, and the time, count and shape of its part per step before and now."""
    level = format_confidence(comparison.level)
    sure = "its certainty is not known" if cause.interval_ns is None else f"{level} interval {format_interval(cause)}"
    part = cause.part
    if part is None:
        return (sure,)
    base, new = (
        f"{duration(ns)} in {count(round(calls)) if calls >= 1 else f'{calls:.2g}'}" if calls else duration(ns)
        for ns, calls in ((part.base_ns, part.base_count), (part.new_ns, part.new_count))
    )
    shape = (", ", Name(shortened(part.shape, _NAME))) if part.shape else ()
    return (f"{sure}; the part: {base} before, {new} now, per step", *shape)


def _compose_advice(comparison: Comparison) -> Iterator[Block]:
    """Yield the section on what to capture for a surer comparison; nothing if there is no advice."""
    found = tuple((each,) for each in list_advice(comparison))
    if found:
        yield Heading(2, ("What would make it more certain",))
        yield Items(found)


def list_advice(comparison: Comparison) -> Iterator[str]:
    """Yield phrases on what to capture for a surer comparison (more runs, more steps, ...); nothing if it is sure enough."""
    base, new = comparison.base, comparison.new
    runs = (len(base.runs), len(new.runs))
    if comparison.obstacles:
        yield "runs that can be compared: the same GPU, settings, shapes and steps on both sides"
    if comparison.assumptions or min(runs) < ENOUGH_RUNS:
        yield (
            f"{ENOUGH_RUNS} or more runs per side ({runs[0]} against {runs[1]} now), taken in turns: run-to-run noise is then "
            "measured instead of assumed"
        )
    fewest = min(base.counted, new.counted)
    if fewest < _FEW_STEPS:
        yield f"{_FEW_STEPS} or more counted steps per side ({count(base.counted)} against {count(new.counted)} now)"
    if base.drifts or new.drifts:
        yield "the same steps on both sides, captured later, when they no longer drift"
    if any(run.lost for side in (base, new) for run in side.runs):
        yield "captures that lost no events"


def _compose_command(comparison: Comparison) -> Iterator[Block]:
    """Yield the section on how to repeat the comparison: the command, and a table of traces with their checksums."""
    yield Heading(2, ("To repeat it",))
    yield Paragraph((Literal(compare_command(comparison)),))
    rows = tuple(
        (name, Name(shortened(run.file, _NAME)), Literal(run.sha256))
        for name, side in (("base", comparison.base), ("new", comparison.new))
        for run in side.runs[:_MOST_RUNS]
    )
    yield Table(("side", "trace", "SHA-256"), rows, text_columns=(0, 1, 2))
    left = sum(max(len(side.runs) - _MOST_RUNS, 0) for side in (comparison.base, comparison.new))
    if left:
        yield Paragraph((f"... and {count(left)} more runs.",))


def compare_command(comparison: Comparison) -> str:
    """Return the `traceq compare` command that makes the comparison again; it names at most the first 6 files of a side."""
    sides = {name: _quote_files(side) for name, side in (("base", comparison.base), ("new", comparison.new))}
    several = any(len(files) > 1 for files in sides.values())
    words = [f"--{name} {' '.join(files)}" if several else " ".join(files) for name, files in sides.items()]
    options = [
        f"--level {comparison.level * max(len(comparison.kinds), 1):g}",
        f"--least {100 * comparison.floor_share:g}%",
    ]
    if comparison.change is not None:
        options.append(f"--by {comparison.change.statistic}")
    return f"traceq compare {' '.join(words)} {' '.join(options)}"


def _quote_files(side: Side) -> list[str]:
    """Return the file names of a side's first 6 runs, shortened and quoted for a shell."""
    return [quote(shortened(run.file, _NAME)) for run in side.runs[:_MOST_RUNS]]
