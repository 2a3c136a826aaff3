"""Names of settings, values, quantities and changes in reports on experiments and trade-offs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from traceq.common.text import printable, shortened
from traceq.common.units import UNKNOWN, change_share, duration, rate, share, short, size
from traceq.reports.document import Name, Spans
from traceq.runs.trials.experiment import Experiment, Measure, NotTried, Predicted, Quantity, SettingDifference
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


def name_setting(name: str) -> str:
    """Return the setting's name for tables, cut to 40 characters; "the baseline" for the baseline."""
    return Name("the baseline" if name == BASELINE else shortened(printable(name), _NAME_LIMIT))


def list_settings(names: Iterable[str], most: int = 6) -> Spans:
    """Return the settings' names as text, "a, b and c"; of more than `most`, the first ones and the number of the others."""
    shown = [name_setting(name) for name in names]
    more = len(shown) - most
    kept = shown if more <= 0 else [*shown[:most], f"{more} more"]
    return tuple(_join_words(kept))


def _join_words(texts: list[str]) -> Iterator[str]:
    for place, text in enumerate(texts):
        if place:
            yield " and " if place == len(texts) - 1 else ", "
        yield text


def per_second(counted: Experiment | TradeoffTerms, throughput: float | None = None) -> str:
    """Return the throughput with its unit, as "120 samples/s"; without `throughput`, the unit alone.

    The unit is what the experiment counts as work; for a batch size it is samples.
    """
    work = "samples" if counted.work == "batch_size" else shortened(printable(counted.work), _WORK_LIMIT)
    return f"{work}/s" if throughput is None else f"{rate(throughput)} {work}/s"


def title_of(found: Experiment, quantity: Quantity) -> str:
    """Return the quantity as the title of a table column, with its unit for throughput and energy."""
    if quantity == "energy":
        unit = "sample" if found.work == "batch_size" else found.work.removesuffix("s")
        return f"energy a {shortened(printable(unit), _WORK_LIMIT)}"
    return per_second(found) if quantity == "throughput" else NAMED[quantity]


def format_amount(quantity: Quantity, value: float) -> str:
    """Return a value of the quantity with its unit: times are given in ns, memory in bytes, energy in J, shares as 0..1."""
    return _FORMATS[quantity](value)


def format_measure(quantity: Quantity, found: Measure | None) -> str:
    """Return a measured value with its interval, as "12.34 ms (12.1 to 12.5)"; a dash for None."""
    if found is None:
        return "-"
    value = format_amount(quantity, found.value)
    if found.interval is None:
        return value
    low, high = (format_amount(quantity, end) for end in found.interval)
    unit = value.rpartition(" ")[2]
    # One unit says it for all three where it is the same.
    if unit != value and low.endswith(f" {unit}") and high.endswith(f" {unit}"):
        low, high = low.removesuffix(f" {unit}"), high.removesuffix(f" {unit}")
    return value if low == high == value.removesuffix(f" {unit}") else f"{value} ({low} to {high})"


def format_change(found: SettingDifference | None) -> str:
    """Return a difference as a change with its interval, as "-12.3 % (-13.0 to -11.5 %)"; a dash for None."""
    return "-" if found is None else format_ratio(found.ratio, found.interval)


def format_ratio(value: float, interval: Interval | None) -> str:
    """Return a ratio as a change with its interval: 0.877 is "-12.3 % (-13.0 to -11.5 %)"."""
    text = change_share(value - 1)
    # Of what is the same in every run there is nothing to say.
    if interval is None or {change_share(end - 1) for end in interval} == {text}:
        return text
    return f"{text} ({format_range(*(end - 1 for end in interval))})"


def format_range(low: float, high: float) -> str:
    """Return a range of changes (shares), as "-3.1 to +2.0 %"; one number if both read alike."""
    first, last = change_share(low), change_share(high)
    return first if first == last else f"{first.removesuffix(' %')} to {last}"


def format_share(value: float | None, interval: Interval | None) -> str:
    """Return a share (0..1) with its interval, as "31.2 % (30.1 to 32.0 %)"."""
    if interval is None:
        return _share_with_sign(value)
    low, high = map(_share_with_sign, interval)
    return f"{_share_with_sign(value)} ({low.removesuffix(' %')} to {high})"


def _share_with_sign(value: float | None) -> str:
    """Return a share as per cent, with a sign only if it is negative."""
    return share(value) if value is None or value >= 0 else change_share(value)


def format_roughly(value: float | None, interval: Interval | None) -> str:
    """Return a share (0..1) with its interval, in whole per cent from 10 % on, as "31 % (30 to 32 %)"; "unknown" for None."""
    if value is None:
        return UNKNOWN
    texts = [f"{100 * each:.0f}" if abs(each) >= _WHOLE else f"{100 * each:.1f}" for each in (value, *(interval or ()))]
    return f"{texts[0]} %" if interval is None else f"{texts[0]} % ({texts[1]} to {texts[2]} %)"


def describe_promise(found: Predicted) -> Spans:
    """Return a prediction in words, as "50 % (0 to 74 %) of a step predicted, for synchronous-loader"."""
    saving = format_roughly(found.share, (found.low_share, found.high_share))
    return (f"{saving} of a step predicted, for ", Name(found.rule))


_WHY = {
    "the budget": "the budget left no time for it",
    "no knob acts": "the knob finds nothing to act on",
    "by hand": "no knob does it, so change it by hand",
}


def describe_not_tried(untried: NotTried) -> Spans:
    """Return what was not tried, its prediction and why, in a line."""
    predicted, setting = untried.predicted, untried.setting
    what = Name(predicted.title) if setting is None and predicted else name_setting(setting or "")
    promise = () if predicted is None else ("; ", *describe_promise(predicted))
    return (what, f" ({_WHY[untried.why]}", *promise, ")")


def has_losses(found: Experiment) -> bool:
    """Return whether the losses of any setting could be compared."""
    return any(result.losses is not None and result.losses.steps for result in found.results)


_FORMATS: Mapping[Quantity, Callable[[float], str]] = {
    "step": lambda ns: duration(round(ns)),
    "throughput": rate,
    **dict.fromkeys(("p50", "p95", "p99"), lambda ns: duration(round(ns))),
    **dict.fromkeys(("gpu_memory", "host_memory"), lambda value: size(round(value))),
    "gpu_share": share,
    "energy": lambda value: f"{rate(value)} J",
}


_KNOB_LIMIT = 24
_LISTED = 8


def format_value(value: float | None, *, rough: bool = False) -> str:
    """Return a value of the knob, as "65,536" or "0.25"; a dash for None. With `rough` it has three digits, for computed ones."""
    if value is None:
        return "-"
    if rough:
        value = float(short(value))
    return f"{int(value):,}" if value.is_integer() else f"{value:,.6g}"


def list_values(values: Sequence[float]) -> str:
    """Return the knob's values as text, as "1, 2 and 4"; of more than 8, the first 7 and the number of the others."""
    texts = [format_value(value) for value in values]
    if len(texts) > _LISTED:
        texts = [*texts[: _LISTED - 1], f"{len(texts) - _LISTED + 1} more"]
    return "".join(_join_words(texts))


def name_knob(setting: TradeoffTerms) -> str:
    """Return the name of the knob, made printable and cut to 24 characters."""
    return Name(shortened(printable(setting.knob), _KNOB_LIMIT))


def name_value(setting: TradeoffTerms, value: float | None, *, capital: bool = False) -> Spans:
    """Return the knob and its value as words, "batch_size 8"; "the run" if the value is unknown. `capital` is for "The run"."""
    if value is None:
        return ("The run" if capital else "the run",)
    return (name_knob(setting), f" {format_value(value)}")


def format_factor(value: float) -> str:
    """Return a factor as text, as "2.30 times"."""
    return f"{rate(value)} times"
