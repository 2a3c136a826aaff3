"""Schedule requests under a limit of batched tokens, as servers with continuous batching do."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

from traceq.runs.batching.recording import RequestJob

# What a step takes, ns, by tokens of prompts, decoding requests, tokens in the cache, and pairs as in StepRecord.attention.
Cost = Callable[[int, int, int, float], float]


class Policy(NamedTuple):
    """A rule of batching: at most `limit` tokens a step, `slots` requests at a time (None: any number).

    With `mixes` decoding requests come first in each step, one token each, and prompts fill what is left of the limit
    (vLLM, SGLang with mixed chunks). Without, steps compute prompts only as long as there are any, up to the limit, and
    next tokens in between (SGLang).
    """

    limit: int
    slots: int | None
    mixes: bool


class TokenGap(NamedTuple):
    """Requests that got a next token at `end` (ns), `gap` ns after the one before."""

    end: float
    gap: float
    requests: int


class Schedule(NamedTuple):
    """The result of scheduling: `ttfts` by request, ns (None of those whose first token came before), and `gaps` between tokens.

    `begin` and `end` are those of all steps, ns; `tokens` were written. `largest_tokens` are the most that count for the
    limit in a step, `largest_decode` the most requests that decode in one.
    """

    ttfts: list[float | None]
    gaps: list[TokenGap]
    begin: float
    end: float
    tokens: int
    largest_tokens: int
    largest_decode: int


class _Chunks(NamedTuple):
    """The parts of prompts that a step computes: their tokens, tokens of their contexts, pairs, and requests that they end."""

    tokens: int
    context: int
    attention: float
    finished: list[int]


def schedule_requests(jobs: Sequence[RequestJob], policy: Policy, cost: Cost, answered: float = 1.0) -> Schedule:
    """Return the schedule of the requests, given in order of arrival and served in that order.

    Prompts are computed in chunks that the limit leaves room for; the last chunk gives the first token. A step's tokens come
    after the share `answered` of it. Nothing is preempted: the cache is taken to be large enough.
    """
    server = _Server(jobs, policy, answered)
    while server.admit_requests():
        chunks = server.take_prompts()
        server.run_step(chunks, cost)
    return Schedule(
        server.ttfts,
        server.gaps,
        float(jobs[0].arrival),
        server.now,
        server.tokens,
        server.largest_tokens,
        server.largest_decode,
    )


class _Server:
    """The state of a server: who waits, whose prompt is computed in part, who decodes, and what came so far."""

    def __init__(self, jobs: Sequence[RequestJob], policy: Policy, answered: float) -> None:
        self._jobs = jobs
        self._policy = policy
        self._answered = answered
        self._arrived = 0
        self._queue: deque[int] = deque()
        # request, and tokens of its prompt that are left
        self._partial: deque[list[int]] = deque()
        # by the turn (the number of steps that decode) that gives the last token, and the tokens in the cache by then
        self._decoding: list[tuple[int, int]] = []
        self._turn = 0
        self._cache = 0
        self._last = self.now = float(jobs[0].arrival)
        # when those that have had no second token yet had their first
        self._fresh: list[float] = []
        self.ttfts: list[float | None] = [None] * len(jobs)
        self.gaps: list[TokenGap] = []
        self.tokens = self.largest_tokens = self.largest_decode = 0

    def admit_requests(self) -> bool:
        """Take in what has come, waiting for it if nobody is there; return False once nobody is, and nobody comes."""
        if not (self._queue or self._partial or self._decoding):
            if self._arrived == len(self._jobs):
                return False
            self.now = max(self.now, float(self._jobs[self._arrived].arrival))
        while self._arrived < len(self._jobs) and self._jobs[self._arrived].arrival <= self.now:
            job = self._jobs[self._arrived]
            if job.prompt:
                self._queue.append(self._arrived)
            else:
                heappush(self._decoding, (self._turn + job.output, job.cached + job.output))
                self._cache += job.cached
            self._arrived += 1
        return True

    def take_prompts(self) -> _Chunks:
        """Return the parts of prompts that fit into the next step."""
        left = self._policy.limit - (len(self._decoding) if self._policy.mixes else 0)
        slots = self._policy.slots
        tokens, context, attention = 0, 0, 0.0
        finished: list[int] = []
        while left > 0:
            if not self._partial:
                if not self._queue or (slots is not None and len(self._decoding) + len(finished) >= slots):
                    break
                self._partial.append([self._queue[0], self._jobs[self._queue.popleft()].prompt])
            number, rest = self._partial[0]
            chunk = min(left, rest)
            left -= chunk
            tokens += chunk
            known = self._jobs[number].cached + self._jobs[number].prompt - (rest - chunk)
            context += known
            attention += chunk * (known - chunk / 2)
            self._partial[0][1] = rest - chunk
            if rest == chunk:
                finished.append(number)
                self._partial.popleft()
        return _Chunks(tokens, context, attention, finished)

    def run_step(self, chunks: _Chunks, cost: Cost) -> None:
        """Compute these parts of prompts, and next tokens of all that decode, or, where they are not mixed, one of both."""
        mixes = self._policy.mixes
        decode = 0 if chunks.tokens and not mixes else len(self._decoding)
        read = (self._cache + decode if decode else 0) + chunks.context
        took = cost(chunks.tokens, decode, read, chunks.attention)
        came = self.now + self._answered * took
        self.now += took
        self.largest_tokens = max(self.largest_tokens, chunks.tokens + (decode if mixes else 0))
        self.largest_decode = max(self.largest_decode, decode)
        if decode:
            self._give_tokens(decode, came)
        for number in chunks.finished:
            self._start_decoding(number, came)

    def _give_tokens(self, decode: int, came: float) -> None:
        """Give each decoding request a token, and let go those for whom it is the last."""
        self._turn += 1
        self.tokens += decode
        self._cache += decode
        if decode > len(self._fresh):
            self.gaps.append(TokenGap(came, came - self._last, decode - len(self._fresh)))
        self.gaps += [TokenGap(came, came - first, 1) for first in self._fresh]
        self._fresh.clear()
        self._last = came
        while self._decoding and self._decoding[0][0] <= self._turn:
            self._cache -= heappop(self._decoding)[1]

    def _start_decoding(self, number: int, came: float) -> None:
        """Give a request its first token."""
        job = self._jobs[number]
        self.ttfts[number] = came - job.arrival
        self.tokens += 1
        if job.output > 1:
            known = job.cached + job.prompt
            heappush(self._decoding, (self._turn + job.output - 1, known + job.output - 1))
            self._cache += known
            self._fresh.append(came)
