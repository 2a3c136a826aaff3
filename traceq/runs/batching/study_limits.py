"""Predict what other limits of batched tokens would give: requests scheduled anew, with the cost of the recorded steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from msgspec.structs import replace

from traceq.runs.batching.cost_models import CostModel, list_models
from traceq.runs.batching.infer_jobs import infer_jobs
from traceq.runs.batching.limit_study import (
    QUANTITIES,
    Bounded,
    LimitPrediction,
    LimitQuantity,
    LimitStudy,
    LimitTerms,
)
from traceq.runs.batching.recording import ServerRecording
from traceq.runs.batching.schedule import Policy, Schedule, schedule_requests
from traceq.runs.batching.step_cost import fit_costs
from traceq.runs.batching.token_times import compare_replay, measure_schedule
from traceq.runs.batching.usable_steps import find_missing, list_usable

_MOST_ERROR = 0.25
# A schedule that far from what was recorded is not the server's.
_MOST_REPLAY_FACTOR = 2.0
# Two runs at one limit differ by as much.
_LEAST_FACTOR = 1.01
_FILLED = 3
_MORE_SPREAD = 0.25
_MOST_BEYOND = 2.0
_LITTLE_BEYOND = 1.1
_MOST_SMALLER = 16

_Scheduler = Callable[[Policy, Sequence[CostModel]], list[Schedule]]


def study_limits(recording: ServerRecording, asked: LimitTerms) -> LimitStudy:
    """Predict the time to first token, between tokens and the throughput at each limit asked for, or say why not.

    Each limit is scheduled several times: by each cost that fits about as well as the best, by costs refitted to resampled
    stretches of steps, and by the best cost scaled by its error in the worst stretch. The least and the most of these are
    the bounds, widened by a quarter of their (logarithmic) distance at both ends, because so few schedules do not show the
    extremes, and by as much as schedules at the recorded limit miss what was recorded.
    """
    usable = list_usable(recording.steps)
    study = LimitStudy(asked, None, "", recording.dialect, recording.mixes_both, len(recording.steps), len(usable))
    missing = find_missing(recording, usable)
    if missing is not None:
        return replace(study, reason=missing.reason, way_out=missing.way_out)
    costs = fit_costs(usable, mixes=recording.mixes_both, knows_context=bool(recording.jobs))
    study = replace(study, cost=costs[0], residual_error=costs[0].left_out_error)
    if costs[0].left_out_error > _MOST_ERROR:
        return replace(
            study,
            reason="tokens and requests do not explain how long steps take: a fit misses them by"
            f" {costs[0].left_out_error:.0%}",
            way_out="record a longer window, without profiler settings that slow the host",
        )
    return _predict_all(recording, replace(study, **_describe_recording(recording, asked)), list_models(costs, usable))


def _describe_recording(recording: ServerRecording, asked: LimitTerms) -> dict[str, object]:
    """Return what the study says of the recording: its largest steps, slots and the log.

    Without slots given they are the most requests of a step, if 2 % of the steps (and 3) have as many.
    """
    sizes = [recording.tokens_of(step) for step in recording.steps]
    at_a_time = [step.decode_requests + step.prefill_requests for step in recording.steps]
    most = max(at_a_time)
    has_slots = at_a_time.count(most) >= max(_FILLED, len(at_a_time) // 50)
    return {
        "recorded_limit": max(sizes),
        "is_filled": sizes.count(max(sizes)) >= _FILLED,
        "most_decoding": max(step.decode_requests for step in recording.steps),
        "slots": asked.slots or (most if has_slots else None),
        "log_file": recording.log_file,
        "other_requests": recording.other_requests,
    }


def _predict_all(recording: ServerRecording, study: LimitStudy, models: Sequence[CostModel]) -> LimitStudy:
    """Schedule the requests at the recorded limit, and at each that is asked for unless that differs from what was recorded."""
    recorded = study.recorded_limit or 1
    jobs = recording.jobs or infer_jobs(recording, recorded)
    ratios = [min(1.0, (step.done - step.begin) / step.dur) for step in recording.steps if step.is_counted and step.dur]
    answered = float(np.median(ratios))

    def schedule_all(policy: Policy, models: Sequence[CostModel]) -> list[Schedule]:
        costs = [model.make_cost(seed) for seed, model in enumerate(models)]
        return [schedule_requests(jobs, policy, cost, answered) for cost in costs]

    policy = Policy(max(recorded, study.slots or 1), study.slots, study.mixes)
    replay = compare_replay(recording, jobs, schedule_all(policy, models))
    study = replace(study, requests=len(jobs), replay=replay)
    worst = max(replay, key=lambda found: found.replay_factor)
    if worst.replay_factor > _MOST_REPLAY_FACTOR:
        return replace(
            study,
            reason=f"scheduled anew at the recorded limit, the {worst.quantity_words} is {worst.replay_factor:.1f} times"
            " off what was recorded: this server batches otherwise, or the log does not have all of its requests",
            way_out="give --max-num-seqs as the server had it, and a log of all requests with --with",
        )
    factors = {found.quantity: max(found.replay_factor, _LEAST_FACTOR) for found in replay}
    predictions = (
        _predict_limit(policy._replace(limit=limit), study, models, schedule_all, factors)
        for limit in sorted(set(study.asked.limits))
    )
    return replace(study, predictions=tuple(predictions))


def _predict_limit(
    policy: Policy,
    study: LimitStudy,
    models: Sequence[CostModel],
    schedule: _Scheduler,
    factors: Mapping[LimitQuantity, float],
) -> LimitPrediction:
    """Return what the limit would give; refused far beyond the recorded steps.

    Beyond the recording the error of the fit is taken to be one of all steps: the best cost is scaled by it as well.
    """
    limit, known = policy.limit, max(study.most_decoding or 1, policy.slots or 0)
    recorded = study.recorded_limit or 1
    if limit * _MOST_SMALLER < recorded:
        chunks = f"chunks of at most {limit:,} tokens, of {recorded:,} recorded"
        return LimitPrediction(limit, "refused", f"too far beyond the recording: {chunks}", {}, None)
    if policy.mixes and limit <= known:
        return _refuse_limit(limit, f"up to {known:,} requests decode at a time", None)
    found = schedule(policy, models)
    largest = max(one.largest_tokens for one in found)
    most = max(one.largest_decode for one in found)
    if policy.mixes and most >= limit:
        return _refuse_limit(limit, f"up to {most:,} requests would decode at a time", largest)
    beyond = _describe_beyond(study, limit, largest, most)
    reason = " and ".join(text for text, _ in beyond)
    if any(is_far for _, is_far in beyond):
        return LimitPrediction(limit, "refused", f"too far beyond the recording: {reason}", {}, largest)
    if beyond:
        error = study.residual_error or 0.0
        found += schedule(policy, [models[0]._replace(scale=scale) for scale in (1 + error, 1 / (1 + error))])
    measured = [measure_schedule(one) for one in found]
    bounded: dict[LimitQuantity, Bounded] = {}
    for quantity in QUANTITIES:
        several = [values[quantity] for values in measured if quantity in values]
        if several and quantity in factors:
            factor = factors[quantity]
            # so few schedules do not show the extremes
            factor *= (max(several) / max(min(several), 1e-9)) ** _MORE_SPREAD
            bounded[quantity] = Bounded(float(np.median(several)), min(several) / factor, max(several) * factor)
    return LimitPrediction(limit, "extrapolated" if beyond else "within", reason, bounded, largest)


def _refuse_limit(limit: int, why: str, largest: int | None) -> LimitPrediction:
    """Return the refusal of a limit that is too small for the requests that decode."""
    return LimitPrediction(limit, "refused", f"{why}, which leaves nothing of it to prompts", {}, largest)


def _describe_beyond(study: LimitStudy, limit: int, largest: int, most: int) -> list[tuple[str, bool]]:
    """Return in what the schedule is beyond the recorded steps, in words, and whether too far to say anything."""
    recorded, decoding = study.recorded_limit or 1, study.most_decoding or 1
    found = [
        (f"steps of up to {largest:,} tokens, of {recorded:,} recorded", largest / recorded),
        (f"up to {most:,} requests decoding at a time, of {decoding:,} recorded", most / decoding),
    ]
    told = [(text, factor > _MOST_BEYOND) for text, factor in found if factor > _LITTLE_BEYOND]
    if study.is_filled and limit * _MOST_BEYOND < recorded:
        told.append((f"chunks of at most {limit:,} tokens of long prompts, of {recorded:,} recorded", False))
    return told
