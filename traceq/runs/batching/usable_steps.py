"""Select the recorded steps that say what a step costs, and judge whether they vary enough."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from traceq.runs.batching.recording import ServerRecording, StepRecord

_LEAST_STEPS = 30
_LEAST_WITH_PROMPTS = 10
# Below so many tokens and requests of the largest, a fit cannot tell what each costs.
_LEAST_SPREAD = 2.0
_MOST_ALIKE = 0.95
_MOST_UNTOLD = 0.1
# Hosts answer and schedule for as long; nobody waits for requests in that time.
_LITTLE_WAIT = 0.25


class MissingSteps(NamedTuple):
    """Why no cost of a step can be fitted, and what would have to be recorded."""

    reason: str
    way_out: str


def list_usable(steps: Sequence[StepRecord]) -> list[StepRecord]:
    """Return the counted steps whose duration is that of their work: after them the server cannot have been idle.

    It can where all requests that decode next may have had their first token since: nobody may have been there in between.
    """
    kept = []
    following = fresh = 0
    for step in reversed(steps):
        fresh += step.prefill_requests
        # `following` requests decode next, of which at most `fresh` began since
        waits_little = step.end_ts - step.done <= _LITTLE_WAIT * (step.done - step.begin)
        if step.is_counted and step.dur > 0 and following and (following > fresh or waits_little):
            kept.append(step)
        if step.decode_requests:
            following, fresh = step.decode_requests, 0
    return kept[::-1]


def find_missing(recording: ServerRecording, usable: Sequence[StepRecord]) -> MissingSteps | None:
    """Return why no cost of a step can be fitted, and what would have to be recorded; None if one can be."""
    # of each only if those before it have nothing: with too few steps, or constant ones, the later ones are not defined
    return next(chain(_list_untold(recording), _list_few(usable), _list_alike(recording, usable)), None)


def _list_untold(recording: ServerRecording) -> Iterator[MissingSteps]:
    """Yield a reason if the trace holds no steps of a server, or its annotations do not say what steps compute."""
    told, untold = len(recording.steps), recording.untold_steps
    if not told and not untold:
        yield MissingSteps(
            "no step belongs to a server of language models",
            "record a server whose steps are annotated (docs/metrics.md lists them)",
        )
    elif untold > _MOST_UNTOLD * (told + untold):
        whose = f"the annotations of {untold:,} of {told + untold:,} steps do not say how many"
        yield MissingSteps(
            f"{whose} tokens of prompts and decoding requests they compute",
            "record with annotations that do (docs/metrics.md lists them)",
        )


def _list_few(usable: Sequence[StepRecord]) -> Iterator[MissingSteps]:
    """Yield a reason if too few steps say what a step costs."""
    longer = "record a longer window under load"
    if len(usable) < _LEAST_STEPS:
        yield MissingSteps(f"{len(usable)} steps say what a step costs, and {_LEAST_STEPS} are needed", longer)
    prompts = sum(step.prefill_tokens > 0 for step in usable)
    if prompts < _LEAST_WITH_PROMPTS:
        yield MissingSteps(f"{prompts} steps compute prompts, and {_LEAST_WITH_PROMPTS} are needed", longer)


def _list_alike(recording: ServerRecording, usable: Sequence[StepRecord]) -> Iterator[MissingSteps]:
    """Yield a reason if tokens of prompts, or decoding requests, vary too little, or only together."""
    tokens = _find_range([step.prefill_tokens for step in usable])
    if tokens[1] < _LEAST_SPREAD * tokens[0]:
        alike = f"all steps with prompts compute about as many tokens of them ({tokens[0]:,} to {tokens[1]:,})"
        yield MissingSteps(
            f"{alike}, so what a token costs is not known",
            "record a window in which prompts of other lengths come",
        )
    requests = _find_range([step.decode_requests for step in usable])
    if requests[1] < _LEAST_SPREAD * requests[0]:
        alike = f"about as many requests decode in all steps ({requests[0]:,} to {requests[1]:,})"
        yield MissingSteps(
            f"{alike}, so what one costs is not known", "record a window in which the load rises or falls"
        )
    both = np.array([(step.prefill_tokens, step.decode_requests) for step in usable], dtype=float)
    if recording.mixes_both and abs(float(np.corrcoef(both.T)[0, 1])) > _MOST_ALIKE:
        yield MissingSteps(
            "steps with more tokens of prompts also decode more requests, in proportion: what each costs is not known",
            "record a window in which the load rises or falls",
        )


def _find_range(amounts: Sequence[int]) -> tuple[int, int]:
    """Return the 5th and the 95th percentile of the amounts above 0; 1 and 1 if none is."""
    known = [amount for amount in amounts if amount]
    low, high = np.quantile(known, [0.05, 0.95]) if known else (1, 1)
    return int(low), int(high)
