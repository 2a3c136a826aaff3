"""Infer requests from the steps of a server alone: where no log says when they came, how long they were and what they got."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from traceq.runs.batching.recording import RequestJob, ServerRecording, StepRecord


@dataclass
class _Inferred:
    """A request as far as the steps up to now show it: the first of them, tokens of its prompt, tokens that it got."""

    begin: int
    prompt: int = 0
    output: int = 0


def infer_jobs(recording: ServerRecording, limit: int) -> list[RequestJob]:
    """Return requests that make the recorded batches, in order of arrival: as many decode, as many tokens are computed.

    A request comes with the first step that computes a part of it: how long it queued before is not known. Prompts of one
    step are taken to be of one length. One goes on in the next step that computes prompts if its step was filled up to
    `limit`. Those that decode longest end first. Requests that are there at the end get no more tokens than were recorded.
    """
    every: list[_Inferred] = []
    running: deque[_Inferred] = deque()
    partial: _Inferred | None = None
    for step in recording.steps:
        if step.decode_requests:
            partial = _match_decoding(step, running, every, partial)
        if step.prefill_tokens and step.prefill_requests:
            taken = [] if partial is None else [partial]
            new = [_Inferred(step.begin) for _ in range(step.prefill_requests - len(taken))]
            every += new
            taken += new
            share, rest = divmod(step.prefill_tokens, len(taken))
            for place, request in enumerate(taken):
                request.prompt += share + (place < rest)
            partial = taken.pop() if recording.tokens_of(step) >= limit else None
            for request in taken:
                request.output = 1
            running += taken
    if partial is not None:
        partial.output = max(partial.output, 1)
    every.sort(key=lambda request: request.begin)
    return [RequestJob(one.begin, one.prompt, 0, one.output, None) for one in every if one.output]


def _match_decoding(
    step: StepRecord, running: deque[_Inferred], every: list[_Inferred], partial: _Inferred | None
) -> _Inferred | None:
    """Let as many requests run as decode in the step, and give each a token; return whose prompt is still not at its end.

    Where more decode than are known, the prompt that seemed to go on was at its end, or they came before the recording.
    """
    while len(running) > step.decode_requests:
        running.popleft()
    if len(running) < step.decode_requests and partial is not None:
        partial.output = 1
        running.append(partial)
        partial = None
    while len(running) < step.decode_requests:
        every.append(_Inferred(step.begin))
        running.append(every[-1])
    for request in running:
        request.output += 1
    return partial
