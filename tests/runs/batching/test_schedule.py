"""Requests are scheduled as a server does that keeps each as an object and walks through all of them in each step."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from traceq.runs.batching.recording import RequestJob
from traceq.runs.batching.schedule import Policy, schedule_requests


def cost(prefill, decode, kv, attention):
    """A step takes 10 ns, 1 a token of prompts, 2 a decoding request; the cache and attention change it as well."""
    return 10.0 + prefill + 2 * decode + 0.25 * kv + 0.125 * attention


def job(arrival, prompt, output, cached=0):
    return RequestJob(arrival, prompt, cached, output, None)


def plain(prefill, decode, kv, attention):  # noqa: ARG001 - a cost
    return 10.0 + prefill + 2 * decode


def test_prompts_fill_what_next_tokens_leave():
    jobs = [job(0, 6, 3), job(1, 5, 2)]
    found = schedule_requests(jobs, Policy(4, None, mixes=True), plain)
    # 0-14: 4 of the first prompt. 14-28: its other 2, and 2 of the second. 28-43: a token, and 3 of the second. 43-57: two tokens
    assert found.ttfts == [28.0, 42.0]
    assert found.gaps == [(43.0, 15.0, 1), (57.0, 14.0, 1), (57.0, 14.0, 1)]
    assert (found.tokens, found.largest_tokens, found.largest_decode, found.end) == (5, 4, 2, 57.0)


def test_prompts_stop_next_tokens_where_they_are_not_mixed():
    jobs = [job(0, 4, 3), job(15, 8, 1)]
    found = schedule_requests(jobs, Policy(4, None, mixes=False), plain)
    # 0-14: the first prompt. 14-26: a token. 26-40, 40-54: the second prompt. 54-66: the last token
    assert found.ttfts == [14.0, 39.0]
    assert found.gaps == [(26.0, 12.0, 1), (66.0, 40.0, 1)]


def test_slots_bound_the_requests_at_a_time_and_tokens_come_within_a_step():
    found = schedule_requests([job(0, 4, 2), job(0, 4, 1)], Policy(100, 1, mixes=True), plain, answered=0.5)
    # 0-14: the first prompt. 14-26: its token, and nobody else. 26-40: the second prompt
    assert found.ttfts == [7.0, 33.0]


def test_a_request_whose_prompt_was_computed_before_goes_on_with_the_next_token():
    found = schedule_requests([job(0, 0, 2), job(0, 4, 1)], Policy(100, None, mixes=True), plain)
    assert found.ttfts == [None, 16.0]
    assert found.gaps == [(16.0, 16.0, 1), (28.0, 12.0, 1)]


@dataclass
class Live:
    number: int
    job: RequestJob
    computed: int = 0
    tokens: list[float] = field(default_factory=list)


def serve(jobs, policy):
    """Return when each request got its tokens, step by step."""
    now, coming = float(jobs[0].arrival), [Live(number, one) for number, one in enumerate(jobs)]
    live, done = [], []
    while coming or live:
        room = len(coming) if policy.slots is None else policy.slots - len(live)
        come = [one for one in coming if one.job.arrival <= now][:room]
        coming, live = coming[len(come) :], live + come
        if not live:
            now = float(coming[0].job.arrival)
            continue
        prompts = [one for one in live if one.computed < one.job.prompt]
        decode = [one for one in live if one.computed == one.job.prompt]
        if prompts and not policy.mixes:
            decode = []
        left = policy.limit - (len(decode) if policy.mixes else 0)
        chunks = []
        for one in prompts:
            new = min(left, one.job.prompt - one.computed)
            left -= new
            if new:
                chunks.append((one, new))
        kv = sum(one.job.cached + one.computed + new for one, new in chunks)
        kv += sum(one.job.cached + one.job.prompt + len(one.tokens) for one in decode)
        attention = sum(new * (one.job.cached + one.computed + new / 2) for one, new in chunks)
        now += cost(sum(new for _, new in chunks), len(decode), kv, attention)
        for one, new in chunks:
            one.computed += new
            if one.computed == one.job.prompt:
                one.tokens.append(now)
        for one in decode:
            one.tokens.append(now)
        done += [one for one in live if len(one.tokens) == one.job.output]
        live = [one for one in live if len(one.tokens) < one.job.output]
    return [one.tokens for one in sorted(done, key=lambda one: one.number)]


@given(
    jobs=st.lists(
        st.builds(job, st.integers(0, 300), st.integers(1, 40), st.integers(1, 8), st.integers(0, 9)),
        min_size=1,
        max_size=12,
    ),
    limit=st.integers(13, 60),
    slots=st.none() | st.integers(1, 12),
    mixes=st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_schedules_are_those_of_a_plain_server(jobs, limit, slots, mixes):
    jobs = sorted(jobs, key=lambda one: one.arrival)
    policy = Policy(limit, slots, mixes)
    tokens, found = serve(jobs, policy), schedule_requests(jobs, policy, cost)
    assert found.ttfts == pytest.approx([times[0] - one.arrival for times, one in zip(tokens, jobs, strict=True)])
    expected = Counter(
        (round(after, 6), round(after - before, 6)) for times in tokens for before, after in pairwise(times)
    )
    several = Counter()
    for end, gap, requests in found.gaps:
        several[round(end, 6), round(gap, 6)] += requests
    assert several == expected
    assert found.tokens == sum(map(len, tokens))
