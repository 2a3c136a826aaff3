"""How settings, values, quantities and changes are named in reports on experiments and trade-offs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from traceq.common.text import printable, shortened
from traceq.common.units import UNKNOWN, change_share, duration, rate, share, short, size
from traceq.reports.document import Name, Spans
from traceq.runs.trials.experiment import Difference, Experiment, Measure, Quantity
from traceq.runs.trials.tradeoff import TradeoffTerms
from traceq.runs.trials.trial import BASELINE

Interval = tuple[float, float]

_WORK_LIMIT = 24
_NAME_LIMIT = 40
# From here on a per cent is exact enough.
_WHOLE = 0.0995

NAMED: Mapping[Quantity, str] = {
    "step": "step",
    "throughput": "throughput",
    "p50": "p50",
    "p95": "p95",
    "p99": "p99",
    "gpu_memory": "GPU memory",
    "host_memory": "host memory",
    "gpu_share": "GPU busy",
    "energy": "energy",
}


def setting(name: str) -> str:
    """As a table shows it."""
    return Name("the baseline" if name == BASELINE else shortened(printable(name), _NAME_LIMIT))


def listed(names: Iterable[str], most: int = 6) -> Spans:
    """a, b and c."""
    shown = [setting(name) for name in names]
    more = len(shown) - most
    kept = shown if more <= 0 else [*shown[:most], f"{more} more"]
    return tuple(_between(kept))


def _between(texts: list[str]) -> Iterator[str]:
    for place, text in enumerate(texts):
        if place:
            yield " and " if place == len(texts) - 1 else ", "
        yield text


def per_second(counted: Experiment | TradeoffTerms, throughput: float | None = None) -> str:
    """Return the unit of throughput, samples/s, after the number if there is one. A batch is counted in samples."""
    work = "samples" if counted.work == "batch_size" else shortened(printable(counted.work), _WORK_LIMIT)
    return f"{work}/s" if throughput is None else f"{rate(throughput)} {work}/s"


def titled(found: Experiment, quantity: Quantity) -> str:
    """The quantity as the title of a column."""
    if quantity == "energy":
        unit = "sample" if found.work == "batch_size" else found.work.removesuffix("s")
        return f"energy a {shortened(printable(unit), _WORK_LIMIT)}"
    return per_second(found) if quantity == "throughput" else NAMED[quantity]


def amount(quantity: Quantity, value: float) -> str:
    """A number with its unit."""
    return _FORMATS[quantity](value)


def measured(quantity: Quantity, found: Measure | None) -> str:
    """A number with its interval: 12.34 ms (12.1 to 12.5)."""
    if found is None:
        return "-"
    value = amount(quantity, found.value)
    if found.interval is None:
        return value
    low, high = (amount(quantity, end) for end in found.interval)
    unit = value.rpartition(" ")[2]
    # One unit says it for all three where it is the same.
    if unit != value and low.endswith(f" {unit}") and high.endswith(f" {unit}"):
        low, high = low.removesuffix(f" {unit}"), high.removesuffix(f" {unit}")
    return value if low == high == value.removesuffix(f" {unit}") else f"{value} ({low} to {high})"


def changed(found: Difference | None) -> str:
    """A ratio as a change with its interval: -12.3 % (-13.0 to -11.5 %)."""
    return "-" if found is None else ratio(found.ratio, found.interval)


def ratio(value: float, interval: Interval | None) -> str:
    """As `changed`."""
    text = change_share(value - 1)
    # Of what is the same in every run there is nothing to say.
    if interval is None or {change_share(end - 1) for end in interval} == {text}:
        return text
    return f"{text} ({between(*(end - 1 for end in interval))})"


def between(low: float, high: float) -> str:
    """Shares: -3.1 to +2.0 %; one where both read alike."""
    first, last = change_share(low), change_share(high)
    return first if first == last else f"{first.removesuffix(' %')} to {last}"


def shares(value: float | None, interval: Interval | None) -> str:
    """A share with its interval: 31.2 % (30.1 to 32.0 %)."""
    if interval is None:
        return _share(value)
    low, high = map(_share, interval)
    return f"{_share(value)} ({low.removesuffix(' %')} to {high})"


def _share(value: float | None) -> str:
    return share(value) if value is None or value >= 0 else change_share(value)


def rough(value: float | None, interval: Interval | None) -> str:
    """As `shares`, in whole per cent from 10 % on: 31 % (30 to 32 %)."""
    if value is None:
        return UNKNOWN
    texts = [f"{100 * each:.0f}" if abs(each) >= _WHOLE else f"{100 * each:.1f}" for each in (value, *(interval or ()))]
    return f"{texts[0]} %" if interval is None else f"{texts[0]} % ({texts[1]} to {texts[2]} %)"


def _joules(value: float) -> str:
    return f"{rate(value)} J"


_FORMATS: Mapping[Quantity, Callable[[float], str]] = {
    "step": lambda ns: duration(round(ns)),
    "throughput": rate,
    **dict.fromkeys(("p50", "p95", "p99"), lambda ns: duration(round(ns))),
    **dict.fromkeys(("gpu_memory", "host_memory"), lambda value: size(round(value))),
    "gpu_share": share,
    "energy": _joules,
}


_KNOB_LIMIT = 24
_LISTED = 8


def number(value: float | None, *, rough: bool = False) -> str:
    """A value of the knob: 65,536 or 0.25; `rough` for what is computed, in three digits."""
    if value is None:
        return "-"
    if rough:
        value = float(short(value))
    return f"{int(value):,}" if value.is_integer() else f"{value:,.6g}"


def list_values(values: Sequence[float]) -> str:
    """Return the values of a knob as text: 1, 2 and 4."""
    texts = [number(value) for value in values]
    if len(texts) > _LISTED:
        texts = [*texts[: _LISTED - 1], f"{len(texts) - _LISTED + 1} more"]
    return "".join(_between(texts))


def knob(setting: TradeoffTerms) -> str:
    """Its name; marks may hold anything."""
    return Name(shortened(printable(setting.knob), _KNOB_LIMIT))


def at(setting: TradeoffTerms, value: float | None, *, capital: bool = False) -> Spans:
    """The knob and its value; of a run whose value nothing says, the run."""
    if value is None:
        return ("The run" if capital else "the run",)
    return (knob(setting), f" {number(value)}")


def factor(value: float) -> str:
    """2.30 times."""
    return f"{rate(value)} times"
