"""Whether two runs compute the same: by the losses of their first steps, and what these depend on."""

from __future__ import annotations

import random

import pytest
from msgspec.structs import replace

from traceq.runs.losses import LossRecord, choose_worst, compare_losses, read_losses

STEPS = 10
BATCH = "11111111.22222222.33333333"
BASE = LossRecord(
    tuple((2.0 - 0.01 * step,) for step in range(STEPS)),
    batches=((BATCH,),) * STEPS,
    random=("aaaa",) * STEPS,
    seed=0,
    type="float32",
)


def with_difference(*shares, base=BASE, **facts):
    """The record with losses that differ by these shares, the last of which holds for all later steps."""
    every = [*shares, *[shares[-1]] * (STEPS - len(shares))]
    losses = tuple((loss * (1 + share),) for (loss,), share in zip(base.losses, every, strict=True))
    return replace(base, losses=losses, **facts)


def with_batch(text, step=0):
    return tuple((text,) if place >= step else (BATCH,) for place in range(STEPS))


def test_equal_runs_are_the_same():
    found = compare_losses(BASE, BASE)
    assert (found.state, found.size, found.first_step, found.steps) == ("same", 0.0, None, STEPS)


@pytest.mark.parametrize(
    ("shares", "state", "first_step"),
    [
        ([1e-7], "same", None),
        # Another order of a sum, which training amplifies: twice as much from step to step.
        ([2e-7 * 2**step for step in range(STEPS)], "same", None),
        # TF32 or bf16: seen at once, small, and growing.
        ([1e-5], "slightly changed", 1),
        ([1e-5 * 3**step for step in range(STEPS)], "slightly changed", 1),
        ([0, 4e-4], "slightly changed", 2),
        # A sample fewer, another formula, and one that comes in after rounding.
        ([0, 0, 0.02], "changed", 3),
        ([1.0], "changed", 1),
        ([1e-7, 2e-7, 2e-7, 0.004], "changed", 4),
    ],
)
def test_a_difference_that_comes_in_at_once_is_a_change_and_one_that_grows_is_rounding(shares, state, first_step):
    found = compare_losses(BASE, with_difference(*shares))
    assert (found.state, found.first_step) == (state, first_step)
    assert found.size == pytest.approx(max(shares), rel=0.06)


def test_rounding_of_a_chaotic_training_is_no_change_and_jumps_are_none_of_chance():
    """Try 200 pairs whose differences grow by up to five times a step, from single-precision rounding on."""
    noise = random.Random(1)  # noqa: S311
    for _ in range(200):
        shares = [1e-7]
        for _ in range(STEPS - 1):
            shares.append(shares[-1] * noise.uniform(0.5, 5))
        assert compare_losses(BASE, with_difference(*shares)).state in ("same", "slightly changed")


def test_what_equal_runs_differ_by_is_no_change():
    new, again = with_difference(0.0, 3e-4), with_difference(0.0, 2e-4)
    assert compare_losses(BASE, new).state == "slightly changed"
    found = compare_losses(BASE, new, (BASE, again))
    assert (found.state, found.first_step) == ("same", None)
    assert found.equal == pytest.approx(2e-4)
    assert compare_losses(BASE, with_difference(0.0, 0.1), (BASE, again)).state == "changed"


def test_equal_runs_that_differ_much_leave_it_open():
    found = compare_losses(BASE, with_difference(0.01), (BASE, with_difference(0.02)))
    assert (found.state, found.reason) == ("cannot tell", "two equal runs differ as much")


@pytest.mark.parametrize(
    ("batch", "facts", "state", "reason"),
    [
        ("00000000.22222222.33333333", {"has_other_data": True}, "changed", "batches have other shapes"),
        ("00000000.22222222.33333333", {}, "changed", "batches have other shapes"),
        ("11111111.22222222.00000000", {"equals": (BASE, BASE)}, "changed", "batches have other contents"),
        ("11111111.22222222.00000000", {}, "cannot tell", "two runs per side show that"),
        ("11111111.22222222.00000000", {"has_other_data": True}, "cannot tell", "as random augmentation does"),
        ("11111111.00000000.00000000", {"has_other_data": True}, "cannot tell", "other samples, or in another order"),
    ],
)
def test_other_batches_explain_a_difference(batch, facts, state, reason):
    found = compare_losses(BASE, with_difference(0.0, 0.05, batches=with_batch(batch, 1)), **facts)
    assert found.state == state
    assert reason in found.reason


@pytest.mark.parametrize("part", range(3))
def test_batches_that_differ_in_equal_runs_explain_a_difference(part):
    """Unseeded augmentation by Python's random makes the loss of equal runs differ by chance."""
    other, again = (".".join([*BATCH.split(".")[:part], each, *BATCH.split(".")[part + 1 :]]) for each in "xy")
    new = with_difference(0.05, batches=with_batch(other))
    equals = (BASE, with_difference(1e-4, batches=with_batch(again, 4)))
    found = compare_losses(BASE, new, equals)
    assert (found.state, found.size) == ("cannot tell", pytest.approx(0.05))
    assert "those of two equal runs differ, too" in found.reason
    assert compare_losses(BASE, with_difference(0.05), equals).state == "changed", "its own batches are the same"


def test_shapes_that_change_from_step_to_step_tell_nothing_without_equal_runs():
    padded = replace(BASE, batches=tuple((f"{step}.2.3",) for step in range(STEPS)))
    new = with_difference(0.05, base=padded, batches=padded.batches[::-1])
    assert compare_losses(padded, new).state == "cannot tell"
    assert compare_losses(padded, new, (padded, padded)).state == "changed"


def test_equal_runs_that_differ_before_leave_a_larger_difference_open():
    """Unseeded random numbers of NumPy do that, and no state that is kept shows them."""
    equals = (BASE, with_difference(0.01))
    found = compare_losses(BASE, with_difference(0.05), equals)
    assert (found.state, found.reason) == ("cannot tell", "two equal runs differ by more than 0.1 %")
    assert compare_losses(BASE, with_difference(0.05, batches=with_batch("0.2.3")), equals).state == "changed"
    assert compare_losses(BASE, with_difference(0.05), (BASE, with_difference(0.0, 0.01))).state == "changed"
    endless = replace(BASE, losses=((None,),) * STEPS)
    assert compare_losses(BASE, endless, equals).state == "changed"


def test_batches_after_the_difference_do_not_explain_it():
    new = with_difference(0.05, batches=with_batch("11111111.22222222.00000000", 3))
    assert compare_losses(BASE, new, has_other_data=True).state == "changed"


def test_other_random_numbers_leave_it_open():
    found = compare_losses(BASE, with_difference(0.05, random=("bbbb",) * STEPS))
    assert (found.state, found.reason) == ("cannot tell", "random numbers are drawn differently, as for dropout")
    assert compare_losses(BASE, replace(BASE, random=("bbbb",) * STEPS)).state == "same"


@pytest.mark.parametrize(
    ("base", "new", "facts", "reason"),
    [
        (BASE, None, {}, "no loss of the second run was recorded"),
        (None, BASE, {}, "no loss of the first run was recorded"),
        (None, None, {}, "no loss was recorded"),
        (BASE, replace(BASE, seed=1), {}, "the runs have different seeds"),
        (BASE, BASE, {"has_other_work": True}, "a step does other work"),
        (BASE, replace(BASE, losses=((1.0, 1.0),) * STEPS), {}, "a different number of times"),
        (BASE, replace(BASE, losses=((),) * STEPS), {}, "no loss of both runs is known"),
    ],
)
def test_what_cannot_be_compared_says_why(base, new, facts, reason):
    found = compare_losses(base, new, **facts)
    assert found.state == "cannot tell"
    assert reason in found.reason


def test_a_loss_that_is_no_longer_finite_is_a_change():
    losses = (*BASE.losses[:3], *[(None,)] * 7)
    found = compare_losses(BASE, replace(BASE, losses=losses))
    assert (found.state, found.size, found.first_step) == ("changed", None, 4)
    assert compare_losses(replace(BASE, losses=losses), replace(BASE, losses=losses)).state == "same"


def test_a_loss_near_zero_is_measured_by_the_others():
    base = replace(BASE, losses=(*BASE.losses[:9], (1e-9,)))
    assert compare_losses(base, replace(base, losses=(*BASE.losses[:9], (2e-9,)))).state == "same"


def test_the_last_bits_of_losses_in_16_bits_say_nothing():
    assert compare_losses(BASE, with_difference(0.008)).state == "changed"
    half = replace(BASE, type="bfloat16")
    assert compare_losses(half, with_difference(0.008, base=half)).state == "same"


def test_outputs_tell_what_the_loss_hides():
    base = replace(BASE, outputs=((10.0,),) * STEPS)
    found = compare_losses(base, replace(base, outputs=((10.0,), *[(11.0,)] * 9)))
    assert (found.state, found.what, found.first_step) == ("changed", "output", 2)
    assert compare_losses(base, replace(BASE, outputs=((),) * STEPS)).what == "loss"


def test_the_difference_that_says_most_is_chosen():
    found = [compare_losses(BASE, each) for each in (BASE, with_difference(1e-5), with_difference(0.0, 0.1), None)]
    assert choose_worst(found).state == "changed"
    assert choose_worst(found[::3]).state == "cannot tell"
    assert choose_worst([]) is None


def test_what_cannot_be_read_is_no_record():
    assert read_losses(None) is None
    assert read_losses({"losses": "none"}) is None
    assert read_losses({"losses": [[1.5], [None]]}) == LossRecord(((1.5,), (None,)))
