"""The words about a baseline: what was measured when it was saved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction

from traceq.common.units import count, duration, rate, share, size
from traceq.reports.comparison.job import summarize_job
from traceq.reports.comparison.words import list_capture, name_gpus
from traceq.reports.document import Block, Facts, Heading, Literal, Name, Paragraph, Spans, Table, Warn, make_table
from traceq.reports.savings import saving_text
from traceq.runs.baselines import StoredBaseline
from traceq.runs.compare.side import runs_with_steps, step_ns
from traceq.runs.run import Run

_LISTED = 20
_DATE = 16  # to the minute


def compose_baseline(name: str, kept: StoredBaseline) -> Iterator[Block]:
    """Yield the report on the baseline `name`: when it was saved, then GPU, steps, ledger and findings of each of its runs."""
    yield Heading(1, ("traceq baseline ", Name(name)))
    facts: list[tuple[str, Spans]] = [("saved", (Name(kept.saved), ", by traceq ", Name(kept.traceq)))]
    runs = runs_with_steps(kept.runs)
    if runs:
        facts.append(("typical step", (duration(float(step_ns(runs, "typical"))),)))
    facts.append(("runs", (count(len(kept.runs)),)))
    yield Facts(tuple(facts))
    for run in kept.runs:
        yield from _compose_run(run)


def _compose_run(run: Run) -> Iterator[Block]:
    """Yield a run of the baseline under the name of its file: its facts, its ledger and its findings."""
    yield Heading(2, (Name(run.file),))
    yield Facts(tuple(_list_facts(run)))
    yield from _compose_ledger(run)
    yield from _compose_findings(run)


def _list_facts(run: Run) -> Iterator[tuple[str, Spans]]:
    """Yield (label, text) of a run: its GPU, capture, counted steps and their lengths, work per step, job and checksum."""
    counted = run.counted
    yield "GPU", name_gpus([run])
    yield from list_capture(run)
    yield (
        "steps",
        (
            f"{count(len(counted))} counted, {count(len(run.steps) - len(counted))} left out; found by {run.step_source}",
        ),
    )
    if counted:
        yield "typical step", (duration(float(step_ns([run], "typical"))),)
        yield "mean step", (duration(float(step_ns([run], "mean"))),)
        yield "longest", (duration(max(step.dur for step in counted)),)
    for key, value in sorted(run.payload.items()):
        yield "a step", (Name(key), f": {rate(value)}")
    if run.job is not None:
        yield "job", (summarize_job(run.job),)
    yield "SHA-256", (Name(run.sha256),)


def _compose_ledger(run: Run) -> Iterator[Block]:
    """Yield a table of the time and share of each category in the mean counted step, the largest first.

    Without a ledger or counted steps, yield a sentence that says so.
    """
    total = sum(step.dur for step in run.counted)
    held: Counter[str] = Counter()
    for step in run.counted:
        held.update(step.ledger)
    rows = sorted(((dur, category) for category, dur in held.items() if dur), key=lambda row: (-row[0], row[1]))
    if not rows or not total:
        yield Paragraph(("It has no ledger, so it is not known where its steps' time goes.",))
        return
    steps = len(run.counted)
    yield Table(
        ("category", "per step", "share"),
        tuple((Literal(category), duration(float(Fraction(dur, steps))), share(dur / total)) for dur, category in rows),
    )


def _compose_findings(run: Run) -> Iterator[Block]:
    """Yield a table of the run's first 20 findings and the number of the others, or a sentence that there are none."""
    if not run.findings:
        yield Paragraph(("There were no findings.",))
        return
    yield make_table(
        run.findings[:_LISTED],
        {
            "finding": lambda each: Name(each.title),
            "rule": lambda each: Literal(each.rule),
            "saving per step": saving_text,
            "confidence": lambda each: each.confidence,
        },
        text=(0, 1, 3),
    )
    if len(run.findings) > _LISTED:
        yield Paragraph((f"... and {count(len(run.findings) - _LISTED)} more.",))


def compose_baselines(rows: Sequence[tuple[str, StoredBaseline | str, int]]) -> Iterator[Block]:
    """Yield a table of the readable baselines, a row each, and a warning for each that cannot be read.

    `rows` are (name, content or error text, size in bytes).
    """
    readable = [(name, kept, bytes_) for name, kept, bytes_ in rows if not isinstance(kept, str)]
    if readable:
        yield Table(
            ("name", "runs", "steps", "typical step", "GPU", "saved", "size"),
            tuple(_make_row(name, kept, bytes_) for name, kept, bytes_ in readable),
            text_columns=(0, 4, 5),
        )
    for _, kept, _ in rows:
        if isinstance(kept, str):
            yield Warn((kept,))


def _make_row(name: str, kept: StoredBaseline, bytes_: int) -> tuple[str, ...]:
    """Return the table cells of a baseline: name, runs, counted steps, typical step, GPUs, date to the minute, file size."""
    runs = runs_with_steps(kept.runs)
    gpus = sorted({run.device_name for run in kept.runs if run.device_name})
    return (
        Name(name),
        count(len(kept.runs)),
        count(sum(len(run.counted) for run in runs)),
        duration(float(step_ns(runs, "typical"))) if runs else "-",
        Name(", ".join(gpus) or "-"),
        kept.saved[:_DATE],
        size(bytes_),
    )
