"""Records of names and values, as JSON, CSV, W&B and TensorBoard have them, become the values of a training log."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from msgspec.structs import replace

from traceq.importers.monitors.reading import SECOND, parse_time
from traceq.importers.training_logs.reading import (
    END_OF_TIME,
    MOST_STEP,
    Clock,
    LogEvent,
    LogValue,
    TrainingLog,
    convert_value,
)


class _NameMeaning(NamedTuple):
    quantity: str
    unit: str | None = None


_STEP = ("step", "global_step", "iteration", "iter", "num_updates", "update", "steps", "training_step", "batch")
_TIME = ("timestamp", "wall_time", "datetime", "ts", "time", "date", "created_at")
# Names by what they mean, in small letters with _ between words, and without what stands before the last names of _PREFIX.
_NAMES = {
    _NameMeaning(
        "step_time"
    ): "step_time step_time_s step_time_sec step_time_seconds iter_time iteration_time step_duration time_per_step"
    " time_per_iteration time_per_iter sec_per_step seconds_per_step step_timing_in_s step_timing s_per_step sec_per_iter"
    " time_metrics_end_to_end_s",
    _NameMeaning(
        "step_time", "ms"
    ): "step_time_ms iter_time_ms iteration_time_ms elapsed_time_per_iteration_ms ms_per_step"
    " time_per_step_ms dt_ms ms_per_iter",
    _NameMeaning(
        "step_time", "it/s"
    ): "steps_per_sec it_per_sec iterations_per_sec batches_per_sec it_s throughput_batches_per_sec",
    _NameMeaning(
        "loss"
    ): "loss lm_loss total_loss reduced_train_loss loss_train nll_loss ce_loss loss_metrics_global_avg_loss",
    _NameMeaning("gradient_norm"): "grad_norm gradient_norm gnorm global_grad_norm l2_norm_grad_global",
    _NameMeaning("learning_rate"): "lr learning_rate lr_0 lr_group0 lr_adamw lr_decoupledadamw_group0",
    _NameMeaning(
        "throughput", "tokens/s"
    ): "tokens_per_second tokens_per_sec tokens_s tok_s tps throughput_tps throughput_tokens_per_sec",
    _NameMeaning("throughput", "tokens/s/GPU"): "tokens_per_sec_per_gpu tokens_per_second_per_gpu tokens_s_gpu"
    " throughput_device_tokens_per_sec",
    _NameMeaning(
        "throughput", "samples/s"
    ): "samples_per_second samples_per_sec samples_s examples_per_second images_per_sec throughput_samples_per_sec",
    _NameMeaning(
        "memory", "GiB"
    ): "memory_max_active_gib memory_max_reserved_gib memory_gib peak_memory_gib gpu_memory_gib",
    _NameMeaning("memory", "GB"): "memory_gb peak_memory_gb gpu_memory_gb gpu_mem_gb",
    _NameMeaning("memory", "B"): "peak_memory_usage memory_allocated memory_bytes",
    _NameMeaning("mfu", "share"): "mfu",
    _NameMeaning("mfu", "percent"): "mfu_percent mfu_pct",
    _NameMeaning(
        "tokens"
    ): "tokens num_tokens tokens_seen consumed_tokens num_input_tokens_seen n_tokens total_tokens time_token",
    _NameMeaning("samples"): "samples consumed_samples samples_seen num_samples time_sample",
    _NameMeaning("epoch"): "epoch time_epoch",
}
_MEANINGS = {name: meaning for meaning, names in _NAMES.items() for name in names.split()}
_PREFIX = re.compile(r"^(?:train|training|trainer|metrics|perf|performance|model)_")
# Of an evaluation, or of the whole run at its end.
_OTHER = re.compile(
    r"^(?:eval|evaluation|val|valid|validation|test|dev)_|_(?:val|valid|eval|test)$|^train_(?:loss|runtime)_total$"
)
_EVALUATION_TIME = ("eval_runtime",)
# Of other names so many are kept.
_MOST_NAMES = 50
_DEEPEST = 3
# A bare step_time from this on may be of seconds or milliseconds.
_MAY_BE_MS = 100.0
# A step takes no longer than the time between two of them: so many times as long is another unit.
_OTHER_UNIT = 30
# Times from 2001 on are of day, s since 1970; a hundred times as many are of milliseconds. No evaluation takes as long.
_IN_2001 = _LONGEST = 1e9


class RecordLog:
    """Collector of the values of a log whose records have names; `line` counts records or lines, from 1."""

    def __init__(self, form: str) -> None:
        self.left_out = 0
        self.lines = 0
        self._form = form
        self._values: list[LogValue] = []
        self._bare: list[int] = []
        self._events: list[LogEvent] = []
        self._is_utc: set[bool] = set()
        self._names: set[str] = set()

    def add_record(self, line: int, record: Mapping[str, object], at_ns: int | None = None) -> None:
        """Add a record; its step and time are found by their names, `at_ns` (UTC) comes first."""
        flat = _flatten_record(record)
        named = {_simplify_name(name): value for name, value in flat.items()}
        step = find_step(named)
        if at_ns is None and (stamp := _find_time(named)) is not None:
            at_ns = stamp[0]
            self._is_utc.add(stamp[1])
        elif at_ns is not None:
            self._is_utc.add(True)
        for name, value in flat.items():
            self._add_value(line, at_ns, step, name, value)
        self.lines = max(self.lines, line)

    def _add_value(self, line: int, at_ns: int | None, step: int | None, name: str, value: object) -> None:
        simple = _simplify_name(name)
        if simple in _EVALUATION_TIME and (seconds := _parse_number(value)) is not None and 0 <= seconds < _LONGEST:
            duration = round(seconds * SECOND)
            begin = None if at_ns is None else max(0, at_ns - duration)
            self._events.append(LogEvent(line, begin, duration, "interval", "evaluation", step))
            return
        meaning = meaning_of(name)
        if meaning is None and (
            is_step_name(name) or simple in _TIME or isinstance(value, str) or name.startswith("_")
        ):
            return
        number = _parse_number(value)
        if number is None:
            self.left_out += meaning is not None and value not in (None, "")
            return
        if meaning is None:
            self._names.add(name)
            if len(self._names) > _MOST_NAMES:
                return
        quantity, unit = meaning or _NameMeaning(name)
        converted = convert_value(quantity, number, unit or ("s" if quantity == "step_time" else None))
        if converted is None:
            self.left_out += 1
            return
        if meaning == ("step_time", None) and not simple.endswith(("_s", "_sec", "_seconds")):
            self._bare.append(len(self._values))
        self._values.append(LogValue(line, at_ns, step, quantity, *converted))

    def add_event(self, event: LogEvent) -> None:
        """Add an event."""
        self._events.append(event)

    def finish_log(self, gpus: int | None = None, rank: int | None = None) -> TrainingLog:
        """Return the log of all records."""
        self._decide_units()
        times = any(value.at_ns is not None for value in self._values)
        clock: Clock = "none" if not times else "utc" if self._is_utc == {True} else "local"
        return TrainingLog(
            format=self._form,
            clock=clock,
            values=self._values,
            events=self._events,
            gpus=gpus,
            rank=rank,
            lines=self.lines,
            left_out=self.left_out,
        )

    def _decide_units(self) -> None:
        """Decide what names without a unit leave open: whether shares are percent, and step times milliseconds."""
        # of a step: more than all that the GPU can do would be more than 1
        if any(value.quantity == "mfu" and value.value > 1 for value in self._values):
            self._values = [
                replace(value, value=value.value / 100) if value.quantity == "mfu" else value for value in self._values
            ]
        if not self._bare:
            return
        typical = median(self._values[place].value for place in self._bare)
        between = _time_between(self._values)
        is_clear = typical < _MAY_BE_MS * SECOND if between is None else typical < _OTHER_UNIT * between
        is_ms = between is not None and typical / 1000 < _OTHER_UNIT * between
        if is_clear:
            return
        for place in self._bare:
            value = self._values[place]
            self._values[place] = (
                replace(value, value=value.value / 1000) if is_ms else replace(value, quantity="step_time?", unit=None)
            )


def _time_between(values: list[LogValue]) -> float | None:
    """Return the median time a step between records with a time and a step, ns; None without any."""
    first: dict[int, int] = {}
    for value in values:
        if value.step is not None and value.at_ns is not None:
            first.setdefault(value.step, value.at_ns)
    gaps = [
        (first[after] - first[before]) / (after - before)
        for before, after in pairwise(sorted(first))
        if first[after] > first[before]
    ]
    return median(gaps) if gaps else None


def meaning_of(name: str) -> tuple[str, str | None] | None:
    """Return (quantity, unit) of a name; None where it is not one of traceq's, as of an evaluation."""
    simple = _simplify_name(name)
    if _OTHER.search(simple):
        return None
    return _MEANINGS.get(simple) or _MEANINGS.get(_PREFIX.sub("", simple))


def find_step(named: Mapping[str, object]) -> int | None:
    """Return the number of the step among values by their simple names; None without one."""
    # of W&B, `_step` counts calls of log; a step of the trainer is more
    for name in ("global_step", "train_global_step", "trainer_global_step", *_STEP):
        number = _parse_number(named.get(name))
        if number is not None and number.is_integer() and 0 <= number < MOST_STEP:
            return int(number)
    return None


def has_values(record: Mapping[str, object]) -> bool:
    """Return whether the record is of a step: it has its number, and a quantity that traceq knows."""
    flat = _flatten_record(record)
    return find_step({_simplify_name(name): value for name, value in flat.items()}) is not None and any(
        meaning is not None and meaning[0] != "epoch" and _parse_number(value) is not None
        for name, value in flat.items()
        if (meaning := meaning_of(name))
    )


def is_step_name(name: str) -> bool:
    """Return whether the name is that of the number of a step."""
    simple = _simplify_name(name)
    return simple in _STEP or _PREFIX.sub("", simple) == "global_step"


def _simplify_name(name: str) -> str:
    """Return the name in small letters, with _ between words: train/Loss is train_loss, _step is step."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower().replace("%", " percent")).strip("_")


def _flatten_record(record: Mapping[str, object], depth: int = _DEEPEST) -> dict[str, object]:
    """Return the values of records within the record as its own, their names joined by a slash."""
    flat: dict[str, object] = {}
    for name, value in record.items():
        if isinstance(value, Mapping) and depth:
            flat |= {f"{name}/{inner}": each for inner, each in _flatten_record(value, depth - 1).items()}
        else:
            flat[str(name)] = value
    return flat


def _find_time(named: Mapping[str, object]) -> tuple[int, bool] | None:
    """Return (ns since 1970, whether it is UTC for certain) of a record; None without a time of day."""
    for name in _TIME:
        value = named.get(name)
        if isinstance(value, str) and (stamp := parse_time(value)) is not None and 0 <= stamp[0] < END_OF_TIME:
            return stamp
        number = _parse_number(value)
        # another time than one of day: of seconds since the start
        if number is not None and number >= _IN_2001:
            at = round(number * (SECOND if number < 100 * _IN_2001 else SECOND / 1000))
            return (at, True) if at < END_OF_TIME else None
    return None


def _parse_number(value: object) -> float | None:
    """Return the number, also one written as text; None for what is none, NaN and infinite ones included."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
