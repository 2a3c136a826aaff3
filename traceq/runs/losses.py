"""Compare the losses of two runs' first steps: whether a change of a program changes what it computes.

docs/experiment.md, "Same results", defines what is compared, and why.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import accumulate
from statistics import median
from typing import Any, Literal

import msgspec

LossState = Literal["same", "slightly changed", "changed", "cannot tell"]

# Relative differences from here on are more than other kernels make; smaller ones are what rounding looks like.
LARGE = 1e-3
# How much a difference may grow from step to step by itself; what grows by more came in at that step.
_JUMP = 10.0
# What another order of float32 sums comes to in the first step, and its growth from step to step.
_ROUNDING, _GROWTH = 8 * 2.0**-23, 2
# Losses that are kept in 16 bits: two of their last bits.
_LAST_BITS = {"float16": 2 * 2.0**-10, "bfloat16": 2 * 2.0**-7}
# Two equal runs show one difference of many possible ones.
_SCATTER = 3.0


# Random numbers of a dataset come from its workers, whose seeds depend on these.
OF_WORKERS = frozenset(("num_workers", "persistent_workers"))


class LossRecord(msgspec.Struct, frozen=True):
    """The losses of a run's first steps, by step: each scalar on which it called backward(), None if not finite.

    `outputs` are norms of the tensors that its models returned. `batches` are hashes of the batches that were fetched: of
    shapes, of whole numbers, and of other numbers. `random` are hashes of the random numbers' state at the end of each
    step. `seed` is PyTorch's seed after the first step, `type` the type of the losses.
    """

    losses: tuple[tuple[float | None, ...], ...]
    outputs: tuple[tuple[float | None, ...], ...] = ()
    batches: tuple[tuple[str, ...], ...] = ()
    random: tuple[str, ...] = ()
    seed: int | None = None
    type: str | None = None


class LossDifference(msgspec.Struct, frozen=True):
    """The relative differences of the losses of a run from another's.

    `size` is the largest of the first steps, at `largest_step` (from 1), None where only one of the numbers is finite;
    `first_step` is the first one beyond the `tolerance` there, None if there is none. `equal` is the largest difference
    of two equal runs, None without them. `what` is differing: the loss, or the output. `reason` says why nothing can be
    told, or what else differs.
    """

    state: LossState
    steps: int
    size: float | None = None
    largest_step: int | None = None
    first_step: int | None = None
    tolerance: float | None = None
    equal: float | None = None
    what: Literal["loss", "output"] = "loss"
    reason: str | None = None


def read_losses(facts: Any) -> LossRecord | None:
    """Return what a process kept of its losses; None if it kept none, or nothing that can be read."""
    try:
        return None if facts is None else msgspec.convert(facts, LossRecord)
    except msgspec.ValidationError:
        return None


def compare_losses(
    base: LossRecord | None,
    new: LossRecord | None,
    equals: tuple[LossRecord, LossRecord] | None = None,
    *,
    has_other_data: bool = False,
    has_other_work: bool = False,
) -> LossDifference:
    """Compare the losses of a run with those of `base`; `equals` are two runs that are equal in all, their seed included.

    `has_other_data`: the change may give workers of loaders other seeds; `has_other_work`: it may change a step's batch.
    """
    if base is None or new is None:
        both = base is None and new is None
        which = "" if both else f" of the {'first' if base is None else 'second'} run"
        return _leave_open(0, f"no loss{which} was recorded: backward() was never called on a scalar")
    steps = min(len(base.losses), len(new.losses))
    if has_other_work:
        return _leave_open(steps, "a step does other work")
    if base.seed != new.seed:
        return _leave_open(steps, "the runs have different seeds; torch.manual_seed(0) in the program makes them equal")
    found = [_compare_series(base, new, equals, "loss")]
    if any(base.outputs) and any(new.outputs):
        found.append(_compare_series(base, new, equals, "output"))
    worst = max(found, key=lambda difference: _ORDER.index(difference.state))
    return _explain_difference(worst, base, new, equals, has_other_data=has_other_data)


# From what says least to what says most.
_ORDER: tuple[LossState, ...] = ("same", "cannot tell", "slightly changed", "changed")


def choose_worst(found: Sequence[LossDifference]) -> LossDifference | None:
    """Return the difference that says most: changed before slightly changed, and the larger before the smaller."""
    return max(found, key=lambda one: (_ORDER.index(one.state), _size_of(one)), default=None)


def _size_of(found: LossDifference) -> float:
    return found.size if found.size is not None else math.inf if found.first_step else 0.0


def _leave_open(steps: int, reason: str) -> LossDifference:
    return LossDifference("cannot tell", steps, reason=reason)


def _compare_series(
    base: LossRecord, new: LossRecord, equals: tuple[LossRecord, LossRecord] | None, what: Literal["loss", "output"]
) -> LossDifference:
    """Judge the differences of the losses (or norms of outputs) step by step against what rounding and equal runs show."""
    ours, others = (_series_of(record, what) for record in (base, new))
    steps = min(len(ours), len(others))
    if not any(ours[:steps]) or not any(others[:steps]):
        return _leave_open(steps, f"no {what} of both runs is known")
    if any(len(a) != len(b) for a, b in zip(ours, others, strict=False)):
        return _leave_open(steps, "the runs call backward() a different number of times per step")
    differences = list(_list_differences(ours, others))
    equal = list(_list_differences(*(_series_of(record, what) for record in equals))) if equals else None
    tolerances = _list_tolerances(differences, equal, base.type)
    beyond = [place for place, share in enumerate(differences) if share > tolerances[place]]
    largest = max(range(steps), key=lambda place: differences[place])
    state = _judge_steps(differences, tolerances, beyond)
    weak = next((share for share in equal or () if share > LARGE), None)
    if state == "same" and weak is not None:
        state = "cannot tell"
    return LossDifference(
        state,
        steps,
        size=_only_finite(differences[largest]),
        largest_step=largest + 1,
        first_step=beyond[0] + 1 if beyond else None,
        tolerance=_only_finite(tolerances[beyond[0] if beyond else largest]),
        equal=_only_finite(max(equal, default=None)) if equal is not None else None,
        what=what,
        reason=None if state != "cannot tell" else "two equal runs differ as much",
    )


def _only_finite(value: float | None) -> float | None:
    return None if value == math.inf else value


def _series_of(record: LossRecord, what: str) -> tuple[tuple[float | None, ...], ...]:
    return record.losses if what == "loss" else record.outputs


def _list_differences(
    ours: Sequence[Sequence[float | None]], others: Sequence[Sequence[float | None]]
) -> Iterator[float]:
    """Yield the largest relative difference of each step, infinite where only one number is finite.

    It is relative to the number itself, or to the median of all steps where that is larger, so that one near 0 says no more.
    """
    sizes = [abs(number) for step in ours for number in step if number is not None]
    usual = median(sizes) if sizes else 0.0
    for one, other in zip(ours, others, strict=False):
        yield max((_divide_difference(a, b, usual) for a, b in zip(one, other, strict=False)), default=0.0)


def _divide_difference(one: float | None, other: float | None, usual: float) -> float:
    if one == other:
        return 0.0
    if one is None or other is None:
        return math.inf
    return abs(one - other) / max(abs(one), usual, math.ulp(0.0))


def _list_tolerances(differences: Sequence[float], equal: Sequence[float] | None, type_: str | None) -> list[float]:
    """Return by step the difference that says nothing: rounding, which doubles from step to step, and that of equal runs."""
    last_bits = _LAST_BITS.get(type_ or "", 0.0)
    shown = list(accumulate(equal or (), max))
    shown += [shown[-1] if shown else 0.0] * (len(differences) - len(shown))
    rounding = [_ROUNDING * _GROWTH**place + last_bits for place in range(len(differences))]
    return [max(least, _SCATTER * share) for least, share in zip(rounding, shown, strict=False)]


def _judge_steps(differences: Sequence[float], tolerances: Sequence[float], beyond: Sequence[int]) -> LossState:
    """Return "changed" where a large difference comes in within a step, "slightly changed" for others beyond the tolerance."""
    if not beyond:
        return "same"
    before = 0.0
    for share, tolerance in zip(differences, tolerances, strict=True):
        if share > max(LARGE, tolerance) and share > _JUMP * before:
            return "changed"
        before = max(before, share, tolerance)
    return "slightly changed"


def _explain_difference(
    found: LossDifference,
    base: LossRecord,
    new: LossRecord,
    equals: tuple[LossRecord, LossRecord] | None,
    *,
    has_other_data: bool,
) -> LossDifference:
    """Return the difference with what else differs up to its step; "cannot tell" where that explains it without the change."""
    if found.first_step is None:
        return found
    data = _compare_batches(base, new, found.first_step)
    chance = None if data is None else _explain_batches(data, base, equals, has_other_data=has_other_data)
    if chance is None and data != "shapes":
        chance = _explain_numbers(found, base, new, equals, has_same_data=data is None)
    if chance is not None:
        return msgspec.structs.replace(found, state="cannot tell", reason=chance)
    if data is not None:
        return msgspec.structs.replace(
            found, reason=f"batches have other {'shapes' if data == 'shapes' else 'contents'}"
        )
    return found


def _explain_batches(
    data: BatchPart, base: LossRecord, equals: tuple[LossRecord, LossRecord] | None, *, has_other_data: bool
) -> str | None:
    """Return why batches that differ in `data` may differ without the change; None if they may not.

    Without equal runs only batches whose shapes are the same in every step of `base` may not get others.
    """
    what = "shapes" if data == "shapes" else "contents"
    if equals is not None and _compare_batches(*equals, min(len(record.batches) for record in equals)) is not None:
        return f"batches have other {what}, and those of two equal runs differ, too"
    if has_other_data and data != "shapes":
        why = (
            "other samples, or in another order" if data == "whole" else "as random augmentation does with other seeds"
        )
        return f"batches have other contents: {why}"
    if equals is None and (data != "shapes" or _has_changing_shapes(base)):
        return f"batches have other {what}, perhaps by random numbers without a seed; two runs per side show that"
    return None


def _has_changing_shapes(record: LossRecord) -> bool:
    """Return whether the batches of a step have other shapes than those of another, as padding to the longest text makes."""
    return len({tuple(batch.partition(".")[0] for batch in step) for step in record.batches}) > 1


def _explain_numbers(
    found: LossDifference,
    base: LossRecord,
    new: LossRecord,
    equals: tuple[LossRecord, LossRecord] | None,
    *,
    has_same_data: bool,
) -> str | None:
    """Return why the numbers may differ without the change up to `first_step`, a finite difference; None if they may not."""
    if has_same_data and base.random[: found.first_step] != new.random[: found.first_step]:
        return "random numbers are drawn differently, as for dropout"
    if equals is not None and found.size is not None:
        shown = list(_list_differences(*(_series_of(record, found.what) for record in equals)))[: found.first_step]
        if max(shown, default=0.0) > LARGE:
            return "two equal runs differ by more than 0.1 %"
    return None


BatchPart = Literal["shapes", "whole", "other"]
_PARTS: tuple[BatchPart, ...] = ("shapes", "whole", "other")


def _compare_batches(base: LossRecord, new: LossRecord, steps: int) -> BatchPart | None:
    """Return what differs first in the batches of the first `steps`: shapes, whole numbers or others; None if nothing."""
    ours, others = ([batch for step in record.batches[:steps] for batch in step] for record in (base, new))
    for one, other in zip(ours, others, strict=False):
        for part, mine, its in zip(_PARTS, one.split("."), other.split("."), strict=False):
            if mine != its:
                return part
    return None
