"""Labels: files that say what is true of a trace, as its raw file shows it. docs/measuring.md describes the fields."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec

from traceq.analysis.categories import BY_NAME
from traceq.diagnosis.grading.causes import all_causes
from traceq.diagnosis.grading.truth import Bottleneck, Truth
from traceq.errors import UnusableLabel

# What a label's `unit.may_also_be` lists to be refused, or as a part of the unit.
_NO_UNIT = re.compile("wrong|the layer")


class LabelledCause(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An avoidable cause in a label, with the likely time per step that a fix wins and its bounds, ns."""

    cause: str
    size_ns: float
    low_ns: float
    high_ns: float
    fix: str
    what: str = ""
    evidence: Any = None


class LabelledLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The categories of the ledger that hold the largest cause, and patterns for the names of slices that show it."""

    categories: tuple[str, ...]
    names: tuple[str, ...] = ()


class Refused(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A statement that would be wrong for a trace, the causes that a report would name in it, and why it is wrong."""

    what: str
    causes: tuple[str, ...]
    why: str = ""


class LabelledJudgement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A person's judgement on a trace: its bottlenecks, the causes that may stand first, and causes that are also true.

    `step_ns` is the length of the step, window or run (`per`) that sizes are of. `nothing`: there is nothing to win.
    """

    per: Literal["step", "window", "run"]
    step_ns: float
    bottlenecks: tuple[LabelledCause, ...]
    first: tuple[str, ...]
    also_true: tuple[str, ...]
    nothing: bool
    line: LabelledLine = LabelledLine(())
    busy_ns: float | None = None
    must_not_say: tuple[Refused, ...] = ()
    cannot_tell: Any = None
    note: str | None = None


class LabelledUnit(msgspec.Struct, frozen=True):
    """The number of complete steps in a trace by its label; 0 or None where nothing recurs.

    `may_also_be` are other units that are right too, each with its `steps` or `kind`, and `why`.
    """

    steps: int | None = None
    may_also_be: tuple[dict[str, Any], ...] = ()

    def accepts(self, steps: int) -> bool:
        """Return whether the label accepts `steps` as the report's number of steps; 0 stands for a window without steps."""
        others = [other for other in self.may_also_be if not _NO_UNIT.match(other.get("why", ""))]
        none = {0 for other in others if other.get("kind") == "none"}
        return steps in {self.steps or 0, *none, *(other["steps"] for other in others if "steps" in other)}


class Label(msgspec.Struct, frozen=True):
    """A label of a trace. `program` names the program that was traced, which other labels may share."""

    judged: LabelledJudgement
    unit: LabelledUnit | None = None
    program: str | dict[str, Any] | None = None


def parse_label(content: bytes, where: str) -> Label:
    """Return the label in a file's `content`.

    Raises UnusableLabel, with a text that begins with `where`, for content that is no label or contradicts itself.
    """
    try:
        label = msgspec.json.decode(content, type=Label)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UnusableLabel(f"{where}: is not a label: {error}; traceq rules test --causes shows one") from error
    if faults := list(_find_faults(label.judged)):
        raise UnusableLabel(f"{where}: {'; '.join(faults)}")
    return label


def truth_of(label: Label, name: str, path: Path) -> Truth:
    """Return what the label says of the trace `name` at `path` as its truth, with sizes as shares (0..1) of the step."""
    judged = label.judged
    step_ns = judged.step_ns or 1
    return Truth(
        name=name,
        path=path,
        bottlenecks=tuple(
            Bottleneck(
                bottleneck.cause,
                bottleneck.size_ns / step_ns,
                bottleneck.low_ns / step_ns,
                bottleneck.high_ns / step_ns,
                step_ns,
            )
            for bottleneck in judged.bottlenecks
        ),
        first=frozenset(judged.first),
        also_true=frozenset(judged.also_true),
        nothing=judged.nothing,
        line=frozenset(judged.line.categories),
    )


def _find_faults(judged: LabelledJudgement) -> Iterator[str]:
    """Yield a sentence for each unknown word, contradiction and wrong size in a label, mostly with the way out."""
    named = {*judged.first, *judged.also_true, *(bottleneck.cause for bottleneck in judged.bottlenecks)}
    refused = {cause for entry in judged.must_not_say for cause in entry.causes}
    for cause in sorted((named | refused) - all_causes().keys()):
        yield f"{cause!r} is no cause{_suggest_causes(cause)}; traceq rules test --causes lists the words"
    for cause in sorted(named & refused):
        yield f"{cause!r} is both true and in must_not_say; take it out of one"
    for category in sorted(set(judged.line.categories) - BY_NAME.keys()):
        yield f"line: {category!r} is no category of the ledger; traceq tables lists them"
    if not judged.nothing and not (judged.first and judged.bottlenecks):
        yield "bottlenecks and first: neither may be empty unless nothing is true"
    for bottleneck in judged.bottlenecks:
        if not 0 <= bottleneck.low_ns <= bottleneck.size_ns <= bottleneck.high_ns <= judged.step_ns:
            yield f"{bottleneck.cause!r}: sizes must be 0 <= low_ns <= size_ns <= high_ns <= step_ns"


def _suggest_causes(cause: str) -> str:
    """Return " (did you mean X or Y?)" with the words for causes most like `cause`; "" if none is like it."""
    found = difflib.get_close_matches(cause, all_causes(), n=2)
    return f" (did you mean {' or '.join(found)}?)" if found else ""
