"""Requests that are inferred from steps make the same batches again."""

from __future__ import annotations

from simulator.timed_load import TimedLoad

from traceq.runs.batching.infer_jobs import infer_jobs
from traceq.runs.batching.recording import ServerRecording, StepRecord


def record(steps):
    return ServerRecording(tuple(steps), 0, "vllm", (), None, 0)


def step(begin, prompts, prefill, decode):
    return StepRecord(begin, 10, begin + 10, prompts, decode, prefill, None, None, is_counted=True)


def test_requests_of_a_few_steps():
    steps = [
        step(0, 0, 0, 1),  # one was there before
        step(10, 2, 8, 1),  # filled: the second prompt goes on
        step(20, 1, 3, 2),
        step(30, 0, 0, 3),
        step(40, 0, 0, 1),
    ]
    assert [(job.arrival, job.prompt, job.output) for job in infer_jobs(record(steps), limit=9)] == [
        (0, 0, 4),
        (10, 4, 3),
        (10, 7, 3),
    ]


def test_tokens_of_a_whole_load_are_all_there():
    served = TimedLoad(requests=60, rate=14).serve()
    steps = [
        StepRecord(
            each.begin,
            each.end - each.begin,
            each.done,
            len(each.batch.prefill),
            len(each.batch.decode),
            sum(part.new for part in each.batch.prefill),
            None,
            None,
            is_counted=True,
        )
        for each in served.steps
    ]
    jobs = infer_jobs(record(steps), limit=512)
    assert len(jobs) == len(served.records)
    assert sum(job.prompt for job in jobs) == sum(one.prompt_tokens for one in served.records)
    assert sum(job.output for job in jobs) == sum(len(one.tokens) for one in served.records)
