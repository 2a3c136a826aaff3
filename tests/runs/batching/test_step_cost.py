"""Costs of steps are those that the steps were made with; where they cannot be known, why not is said."""

from __future__ import annotations

import random

import pytest

from traceq.runs.batching.limit_study import LimitTerms
from traceq.runs.batching.recording import ServerRecording, StepRecord
from traceq.runs.batching.step_cost import fit_costs, refit_cost
from traceq.runs.batching.study_limits import study_limits
from traceq.runs.batching.usable_steps import list_usable


def step(begin, dur, *, prefill=0, decode=1, idle=0, prompts=None, attention=0.0, kv=0):
    prompts = (prefill > 0) if prompts is None else prompts
    return StepRecord(begin, dur, begin + dur - idle, int(prompts), decode, prefill, kv, attention, is_counted=True)


def make_steps(cost, amounts):
    """Steps one after another of these tokens of prompts and decoding requests, whose time is their cost."""
    now, found = 0, []
    for prefill, decode in amounts:
        found.append(step(now, round(cost(prefill, decode)), prefill=prefill, decode=decode, attention=prefill * 3.0))
        now = found[-1].end_ts
    return found


def choose_amounts(steps, seed=1):
    rng = random.Random(f"amounts {seed}")  # noqa: S311 - made-up steps
    return [(rng.choice((0, 0, rng.randint(1, 900))), rng.randint(4, 60)) for _ in range(steps)]


@pytest.mark.parametrize(
    ("cost", "terms", "per_unit"),
    [
        pytest.param(
            lambda p, d: 9e6 + 3e4 * p + 7e4 * d, ("step", "prefill", "decode"), (9e6, 3e4, 7e4), id="a plane"
        ),
        pytest.param(
            lambda p, d: 9e6 + 2e6 * (p > 0) + 3e4 * p + 7e4 * d,
            ("step", "prompts", "prefill", "decode"),
            (9e6, 2e6, 3e4, 7e4),
            id="prompts cost extra",
        ),
        pytest.param(
            lambda p, d: 9e6 + 1e4 * p + 40 * p * p + 7e4 * d,
            ("step", "prefill", "square", "decode"),
            (9e6, 1e4, 40, 7e4),
            id="prompts squared",
        ),
    ],
)
def test_the_cost_is_that_of_the_steps(cost, terms, per_unit):
    best, *_ = fit_costs(make_steps(cost, choose_amounts(400)), mixes=True, knows_context=False)
    assert best.terms == terms
    assert best.per_unit == pytest.approx(per_unit, rel=1e-3)
    assert best.left_out_error < 1e-4
    assert best.make_function()(300, 10, 0, 0.0) == pytest.approx(cost(300, 10), rel=1e-3)


def test_outliers_count_little():
    steps = make_steps(lambda p, d: 9e6 + 3e4 * p + 7e4 * d, choose_amounts(400))
    slow = [each._replace(dur=each.dur * 20) if place % 23 == 0 else each for place, each in enumerate(steps)]
    best, *_ = fit_costs(slow, mixes=True, knows_context=False)
    assert refit_cost(best, slow).per_unit_of("decode") == pytest.approx(7e4, rel=0.03)
    assert best.per_unit_of("prefill") == pytest.approx(3e4, rel=0.03)


def test_no_term_costs_less_than_nothing():
    best, *_ = fit_costs(
        make_steps(lambda p, d: 9e6 + 3e4 * p - 2e4 * d, choose_amounts(300)), mixes=True, knows_context=False
    )
    assert min(best.per_unit) == best.per_unit_of("decode") == 0


def test_steps_after_which_nobody_may_have_been_there_say_nothing():
    steps = [
        step(0, 10, decode=0, prefill=5),
        step(10, 100, decode=1, idle=90),  # its request ends, and the next prompt comes later
        step(110, 10, decode=0, prefill=5),
        step(120, 100, decode=1, idle=90),  # the server waits long, but the same request decodes next
        step(220, 10, decode=1),
        step(230, 10, decode=1),  # the last: how long it takes is not known
    ]
    assert [each.begin for each in list_usable(steps)] == [0, 110, 120, 220]


def study(steps, untold=0, **asked):
    recording = ServerRecording(tuple(steps), untold, "vllm", (), None, 0)
    return study_limits(recording, LimitTerms((256,), **asked))


STEADY = [(prefill, 16) for prefill, _ in choose_amounts(200)]
WHOLE = [(500 if prefill else 0, decode) for prefill, decode in choose_amounts(200)]
TOGETHER = [(20 * decode, decode) for _, decode in choose_amounts(200)]


@pytest.mark.parametrize(
    ("amounts", "untold", "reason", "way_out"),
    [
        pytest.param([], 0, "no step belongs to a server of language models", "annotated", id="no server"),
        pytest.param([], 50, "the annotations of 50 of 50 steps do not say", "annotations that do", id="untold"),
        pytest.param(choose_amounts(20), 0, "19 steps say what a step costs", "longer window", id="few"),
        pytest.param([(0, 4 + n % 50) for n in range(99)], 0, "0 steps compute prompts", "longer", id="decode"),
        pytest.param(STEADY, 0, "about as many requests decode in all steps (16 to 16)", "rises or falls", id="steady"),
        pytest.param(WHOLE, 0, "about as many tokens of them (500 to 500)", "other lengths", id="one length"),
        pytest.param(TOGETHER, 0, "in proportion: what each costs is not known", "rises or falls", id="together"),
    ],
)
def test_what_would_have_to_be_recorded(amounts, untold, reason, way_out):
    found = study(make_steps(lambda p, d: 9e6 + 3e4 * p + 7e4 * d, amounts), untold)
    assert reason in found.reason
    assert way_out in found.way_out
    assert found.predictions == ()


def test_steps_that_take_what_they_like_are_not_explained():
    rng = random.Random("any time")  # noqa: S311 - made-up steps
    found = study(make_steps(lambda p, d: 10 ** rng.uniform(6, 8), choose_amounts(300)))  # noqa: ARG005 - a cost
    assert "do not explain how long steps take" in found.reason


def test_limits_beyond_the_recording_are_extrapolated_or_refused():
    steps = make_steps(lambda p, d: 9e6 + 3e4 * p + 7e4 * d, choose_amounts(300))
    recording = ServerRecording(tuple(steps), 0, "vllm", (), None, 0)
    found = study_limits(recording, LimitTerms((2, 60, 500, 960, 1_500, 100_000)))
    assert found.reason is None
    told = {each.limit: (each.trust, bool(each.values)) for each in found.predictions}
    assert told[2] == told[60] == ("refused", False)
    assert all(trust != "refused" and known for trust, known in (told[500], told[960]))
    for each in found.predictions:
        for value in each.values.values():
            assert value.low <= value.value <= value.high
    assert "too far beyond the recording: chunks of at most 2 tokens" in found.predictions[0].reason
    assert "leaves nothing of it to prompts" in found.predictions[1].reason
