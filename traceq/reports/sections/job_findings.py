"""The findings of a job: who or what it is, what fixing it saves, how sure that is, and in full what to do and the proof."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from traceq.common.ranks import list_ranks
from traceq.common.units import duration, some
from traceq.diagnosis.job.finding import JobFinding
from traceq.reports.document import Block, Items, Name, Paragraph, Query, Warn, make_table, split_code
from traceq.reports.model import Job

_MOST_LISTED = 8
_MOST_IN_FULL = 16


def list_job_findings(job: Job, *, in_full: bool, most: int = _MOST_LISTED) -> Iterator[Block]:
    """Yield a table of at most `most` of a job's findings (16 with `in_full`), and the rules that cannot tell or failed.

    With `in_full` each finding has its fix and the query of its evidence.
    """
    shown = job.findings[: _MOST_IN_FULL if in_full else most]
    if shown:
        yield make_table(shown, _make_columns(job), text=(0, 1, 4, 5))
    if len(job.findings) > len(shown):
        yield Paragraph((f"{some(len(job.findings) - len(shown), 'more finding')}.",))
    if in_full:
        yield from _list_fixes(shown)
    yield from _list_unjudged_rules(job, in_full=in_full)
    if job.failed:
        yield Warn(("These checks failed with an error, which says nothing about the job:",))
        yield Items(tuple((f"{each.rule}: ", each.error) for each in job.failed))


def list_rule_findings(job: Job, rule: str) -> Iterator[Block]:
    """Yield a table of what the rule found in the job, with fixes and queries; nothing if it found nothing."""
    shown = [each for each in job.findings if each.rule == rule]
    if shown:
        yield make_table(shown, _make_columns(job), text=(0, 1, 4, 5))
        yield from _list_fixes(shown)


def _list_fixes(shown: Sequence[JobFinding]) -> Iterator[Block]:
    """Yield what to do, once for each rule, and the query of each finding's evidence."""
    told: set[str] = set()
    for each in shown:
        if each.rule not in told:
            told.add(each.rule)
            words = f" {each.fix} Confidence {each.confidence}: {each.confidence_reason}"
            yield Paragraph((f"{each.rule}, ", Name(f"{each.unit}:"), *split_code(words)))
        yield Query(each.evidence.query)


def _make_columns(job: Job) -> dict[str, Callable[[JobFinding], str]]:
    """Return the columns of the table of findings, title to cell function.

    "cumulative" is the saving with the findings above fixed too.
    """
    until: dict[int, float] = {}
    saved = 0.0
    for each in job.findings:
        if each.adds_ns is not None:
            saved += each.adds_ns
            until[id(each)] = saved

    def saving_together(each: JobFinding) -> float | None:
        return until.get(id(each), each.saving_ns)

    return {
        "finding": lambda each: each.rule,
        "on": lambda each: Name(name_unit(each)),
        "saves alone": lambda each: "-" if each.saving_ns is None else duration(each.saving_ns),
        "cumulative": lambda each: "-" if (saves := saving_together(each)) is None else duration(saves),
        "confidence": lambda each: each.confidence,
        "because": lambda each: each.because or "-",
    }


def name_unit(each: JobFinding) -> str:
    """Return the rank, host or stage that a job's finding is about, followed by its ranks if they are several."""
    return f"{each.unit}, {list_ranks(each.ranks)}" if len(each.ranks) > 1 and "rank" not in each.unit else each.unit


def _list_unjudged_rules(job: Job, *, in_full: bool) -> Iterator[Block]:
    """Yield a line on the rules that cannot tell, without those that share the job's reason in the verdict."""
    unknown = [each for each in job.not_applicable if each.reason != job.cannot_tell]
    if unknown and in_full:
        yield Paragraph(("Cannot tell ", "; ".join(f"{each.rule}: {each.reason}" for each in unknown), "."))
    elif unknown:
        yield Paragraph((f"Cannot tell {', '.join(each.rule for each in unknown)}.",))
