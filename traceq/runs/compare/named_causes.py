"""Put a change down to the categories and parts whose own change is beyond noise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from traceq.runs.compare.comparison import AcrossTheBoard, Cause, ChangePart, How, NamedCause

MOST_NAMED = 3

_MOSTLY = 0.5  # of the category's change: from here on a part stands for it
_BY_ITSELF = 0.7  # of the part's change: from here on calls or the time of a call alone explain it
_MATTERS = 0.05  # of the change of the step: less is not worth a name
_MUCH = 0.2  # the same where nothing says how sure it is

_ALIKE = 0.25  # of the change of the usual kernel
_LEAST_FACTOR = 0.02
_LEAST_KERNELS, _LEAST_SHARE = 5, 0.8
_SAME_CALLS = 0.01


def choose_sure_causes(causes: Sequence[Cause], delta_ns: int) -> tuple[NamedCause, ...]:
    """Return at most MOST_NAMED causes that surely changed in the direction of `delta_ns`, the step's change; largest first."""
    found = [
        cause
        for cause in causes
        if _is_sure(cause.interval_ns, delta_ns) and abs(cause.delta_ns) >= _MATTERS * abs(delta_ns)
    ]
    return tuple(_name_sure_part(cause) for cause in sorted(found, key=lambda cause: -abs(cause.delta_ns))[:MOST_NAMED])


def choose_likely_causes(causes: Sequence[Cause], delta_ns: int) -> tuple[NamedCause, ...]:
    """Return at most MOST_NAMED causes of a likely change of the step by `delta_ns`, whether sure or not; largest first.

    Each went the way of the step, by a fifth of its change or more.
    """
    found = [
        cause if _is_sure(cause.interval_ns, delta_ns) else replace(cause, interval_ns=None)
        for cause in causes
        if cause.delta_ns * delta_ns > 0 and abs(cause.delta_ns) >= _MUCH * abs(delta_ns)
    ]
    largest = sorted(found, key=lambda cause: -abs(cause.delta_ns))[:MOST_NAMED]
    return tuple(_name_cause(cause, _largest_part(cause.parts, cause.delta_ns)) for cause in largest)


def significant_without_verdict(
    causes: Sequence[Cause], strict: Mapping[str, tuple[int, int]], least_ns: float
) -> tuple[NamedCause, ...]:
    """Return the first MOST_NAMED causes that surely changed by `least_ns` or more, though the step did not surely change.

    `strict` are intervals by category that contain all true changes at once.
    """
    found = [
        cause
        for cause in causes
        if _is_sure(strict.get(cause.category), cause.delta_ns) and abs(cause.delta_ns) >= least_ns
    ]
    return tuple(map(_name_sure_part, found[:MOST_NAMED]))


def _is_sure(interval: tuple[int, int] | None, delta_ns: int) -> bool:
    """Return whether the interval excludes 0 on the side of the change's sign; False without an interval."""
    return interval is not None and (interval[0] > 0 if delta_ns > 0 else interval[1] < 0)


def _name_sure_part(cause: Cause) -> NamedCause:
    """Return the cause to be named, with its largest surely changed part if that explains half of the change or more."""
    return _name_cause(
        cause,
        _largest_part([part for part in cause.parts if _is_sure(part.interval_ns, cause.delta_ns)], cause.delta_ns),
    )


def _largest_part(parts: Sequence[ChangePart], delta_ns: int) -> ChangePart | None:
    """Return the named part that changed most in the direction of `delta_ns`; None if none did."""
    found = [part for part in parts if part.name is not None and part.delta_ns * delta_ns > 0]
    return max(found, key=lambda part: abs(part.delta_ns), default=None)


def _name_cause(cause: Cause, first: ChangePart | None) -> NamedCause:
    """Return the cause to be named, with its part `first` if that explains half of the change or more."""
    if first is None or abs(first.delta_ns) < _MOSTLY * abs(cause.delta_ns):
        return NamedCause(cause.category, cause.delta_ns, cause.interval_ns)
    calls = per_call = None
    if first.kind == "same" and first.base_count and first.new_count and first.base_ns:
        calls = first.new_count / first.base_count
        per_call = (first.new_ns / first.new_count) / (first.base_ns / first.base_count)
    return NamedCause(
        cause.category, cause.delta_ns, cause.interval_ns, first, _describe_how(first, calls, per_call), per_call, calls
    )


def _describe_how(part: ChangePart, calls: float | None, per_call: float | None) -> How:
    """Return how the part changed: by its kind of match.

    Else by the time of a call or the number of calls (new over base). `calls` and `per_call` are None where the part is
    on one side only.
    """
    if part.kind != "same":
        return part.kind
    if calls is None or per_call is None:
        return "new" if part.delta_ns > 0 else "vanished"
    by_calls = (part.new_count - part.base_count) * part.base_ns / part.base_count
    if abs(part.delta_ns - by_calls) >= _BY_ITSELF * abs(part.delta_ns) and abs(by_calls) <= abs(part.delta_ns):
        return "slower" if part.delta_ns > 0 else "faster"
    if _BY_ITSELF * abs(part.delta_ns) <= abs(by_calls) and by_calls * part.delta_ns > 0:
        return "more" if part.delta_ns > 0 else "fewer"
    return "both"


def find_common_factor(causes: Sequence[Cause]) -> AcrossTheBoard | None:
    """Return the factor (new over base) by which most kernels with the same name, shape and calls changed, as with other clocks.

    None if there is no common factor, or it is below 2 %.
    """
    parts = list(_same_kernels(causes))
    total = sum(part.base_ns for part in parts)
    if len(parts) < _LEAST_KERNELS or not total:
        return None
    factor = _usual_factor(parts, total)
    if abs(factor - 1) < _LEAST_FACTOR:
        return None
    alike = [part for part in parts if abs(part.new_ns / part.base_ns - factor) <= _ALIKE * abs(factor - 1)]
    share = sum(part.base_ns for part in alike) / total
    if len(alike) < _LEAST_KERNELS or share < _LEAST_SHARE:
        return None
    return AcrossTheBoard(factor, len(alike), len(parts), share)


def _same_kernels(causes: Sequence[Cause]) -> Iterator[ChangePart]:
    """Yield the kernels with the same name, shape and number of calls (within 1 %) on both sides, if `compute` surely changed."""
    for cause in causes:
        if cause.category == "compute" and _is_sure(cause.interval_ns, cause.delta_ns):
            for part in cause.parts:
                is_as_often = abs(part.new_count - part.base_count) <= _SAME_CALLS * part.base_count
                if part.kind == "same" and part.name is not None and part.base_ns and is_as_often:
                    yield part


def _usual_factor(parts: Sequence[ChangePart], total: int) -> float:
    """Return the median of the parts' ratios new over base, weighted by time on the base; `total` is the sum of that time, ns."""
    seen = 0
    for factor, weight in sorted((part.new_ns / part.base_ns, part.base_ns) for part in parts):
        seen += weight
        if 2 * seen >= total:
            return factor
    raise ValueError("no part has any time")
