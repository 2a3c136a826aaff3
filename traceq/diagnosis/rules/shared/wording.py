"""Numbers and names of a trace in the sentences of rules."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from traceq.analysis.categories import BY_NAME
from traceq.common.units import duration, share

if TYPE_CHECKING:
    from traceq.diagnosis.subject import Subject

_LONGEST = 80
# Of a list of shares: fewer say nothing, more are no sentence.
_LEAST = 0.01
_MOST = 3
# How Python's profiler names what is written in C: with what it belongs to, and an address that says nothing.
_BUILT_IN = re.compile(r"^<built-in (?:function|method) (\S+?)(?: of .*)?>$")


def time(nanoseconds: float | None) -> str:
    """A duration in the unit that fits."""
    return duration(nanoseconds)


def percent(value: float | None) -> str:
    """A share 0..1 in per cent."""
    return share(value)


def cut(name: Any) -> str:
    """A name from the trace, of at most 80 characters; `zoom` for `<built-in function zoom>`."""
    text = _BUILT_IN.sub(r"\1", str(name))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def names(rows: Iterable[Mapping[str, Any]], column: str = "name") -> str:
    """The different names in the rows, in their order."""
    found = dict.fromkeys(cut(row[column]) for row in rows if row[column] is not None)
    return ", ".join(found) or "nothing with a name"


def shares(rows: Iterable[Mapping[str, Any]]) -> str:
    """The first of `rows`, which have name and idle_share, as a list; what is below 1 % is left out."""
    named = [row for row in rows if row["name"] is not None and row["idle_share"] >= _LEAST]
    return (
        ", ".join(f"{cut(row['name'])} {percent(row['idle_share'])}" for row in named[:_MOST]) or "nothing with a name"
    )


def unit(row: Mapping[str, Any]) -> str:
    """A rank with its GPU, or a GPU of a capture that has no ranks."""
    return f"device {row['device']}" if row["rank"] is None else f"rank {row['rank']} (device {row['device']})"


def step_range(name: str) -> str:
    """What --step-range has to be for ranges of this name, as a shell takes it."""
    return shlex.quote(f"^{re.escape(name)}$")


def words_for(category: str) -> str:
    """A category of the ledger in a sentence: "launching on the host" for idle_launch."""
    return BY_NAME[category].words


def plural(number: float, noun: str, many: str | None = None) -> str:
    """How many: 1 kernel, 2 kernels, 0.25 matrices."""
    amount = f"{number:,.0f}" if number >= 1 else f"{number:.2g}"
    return f"{amount} {noun if amount == '1' else many or f'{noun}s'}"


def part(of: float, whole: float) -> float:
    """A share that is 0 where there is no whole."""
    return of / whole if whole else 0.0


def per_step(subject: Subject, nanoseconds: float) -> str:
    """A mean over the counted steps: "1.2 ms per step", "1.2 ms in all" where there is but one or no step is marked."""
    return f"{duration(nanoseconds)} {'in all' if subject.steps == 1 else 'per step'}"


def of_step(subject: Subject, nanoseconds: float) -> str:
    """A mean over the counted steps as a part of them: "1.2 ms of each step", "1.2 ms of the trace" where none is marked."""
    return f"{duration(nanoseconds)} of {'the trace' if subject.is_window else 'each step'}"


def times_per_step(subject: Subject, number: Any) -> str:
    """How often, of a number over all counted steps: "3 per step", "2 in 10 steps", "5 times"."""
    if subject.steps == 1:
        return "once" if number == 1 else f"{number:,} times"
    each = number / subject.steps
    return f"{each:,.0f} per step" if each >= 1 else f"{number} in {subject.steps} steps"
