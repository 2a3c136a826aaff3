"""How values, rates and categories are named in the report on a trade-off."""

from __future__ import annotations

from collections.abc import Sequence

from traceq.common.text import printable, shortened
from traceq.common.units import rate, short
from traceq.reports.document import Name, Spans
from traceq.runs.tradeoff.tradeoff import Setting

_NAME_LIMIT = 24
_LISTED = 8


def number(value: float | None, *, rough: bool = False) -> str:
    """A value of the knob: 65,536 or 0.25; `rough` for what is computed, in three digits."""
    if value is None:
        return "-"
    if rough:
        value = float(short(value))
    return f"{int(value):,}" if value.is_integer() else f"{value:,.6g}"


def listed(values: Sequence[float]) -> str:
    """1, 2 and 4."""
    texts = [number(value) for value in values]
    if len(texts) > _LISTED:
        texts = [*texts[: _LISTED - 1], f"{len(texts) - _LISTED + 1} more"]
    return f"{', '.join(texts[:-1])} and {texts[-1]}" if len(texts) > 1 else "".join(texts)


def knob(setting: Setting) -> str:
    """Its name; marks may hold anything."""
    return Name(shortened(printable(setting.knob), _NAME_LIMIT))


def at(setting: Setting, value: float | None, *, capital: bool = False) -> Spans:
    """The knob and its value; of a run whose value nothing says, the run."""
    if value is None:
        return ("The run" if capital else "the run",)
    return (knob(setting), f" {number(value)}")


def per_second(setting: Setting, throughput: float | None = None) -> str:
    """samples/s, after its number if there is one. A batch is counted in samples."""
    work = "samples" if setting.work == "batch_size" else shortened(printable(setting.work), _NAME_LIMIT)
    return f"{work}/s" if throughput is None else f"{rate(throughput)} {work}/s"


def factor(value: float) -> str:
    """2.30 times."""
    return f"{rate(value)} times"
