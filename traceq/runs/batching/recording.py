"""Read the steps of a server and the requests to it, as far as scheduling them anew needs them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from traceq.database.query import ask
from traceq.database.sql import statement

if TYPE_CHECKING:
    import duckdb

# Of those before and after the capture; more change percentiles by little, and each limit is scheduled some fifteen times.
_MOST_OUTSIDE = 500


# A step that says more is damaged: no server computes as many requests or tokens at a time.
_MOST_REQUESTS = 1 << 17
_MOST_TOKENS = 1 << 24


class StepRecord(NamedTuple):
    """A step of a server, ns: `dur` up to the start of the next one, `done` when its own work was done.

    `kv_tokens` are the tokens whose keys and values attention reads, `attention` the pairs of a token of a prompt with one
    before it; None where the trace does not say. Steps that are
    not counted (the first ones, cut ones) say when they were, but not what a step costs.
    """

    begin: int
    dur: int
    done: int
    prefill_requests: int
    decode_requests: int
    prefill_tokens: int
    kv_tokens: int | None
    attention: float | None
    is_counted: bool

    @property
    def end_ts(self) -> int:
        """The start of the next step, ns."""
        return self.begin + self.dur


class RequestJob(NamedTuple):
    """A request to schedule: when it came (ns), tokens of its prompt to compute, tokens of it that are cached, and its answer.

    A `prompt` of 0 was computed before the recording: it goes on with the next token. `ttft` is as measured, ns; None where
    it is not known.
    """

    arrival: int
    prompt: int
    cached: int
    output: int
    ttft: int | None


class ServerRecording(msgspec.Struct, frozen=True):
    """The steps of a server in order of time, those whose annotations do not say enough, and the requests of one log.

    `jobs` are ordered by arrival, and empty where no log says enough; `log_file` is the log's name. `other_requests` of it
    failed, or lack a time or their tokens, or lie too far from the capture.
    """

    steps: tuple[StepRecord, ...]
    untold_steps: int
    dialect: str | None
    jobs: tuple[RequestJob, ...]
    log_file: str | None
    other_requests: int

    @property
    def mixes_both(self) -> bool:
        """Whether prompts are computed along with next tokens, in one step."""
        return any(step.prefill_tokens and step.decode_requests for step in self.steps)

    def tokens_of(self, step: StepRecord) -> int:
        """Return the tokens of the step that the limit counts: those of prompts alone where it does not mix them."""
        return step.prefill_tokens + (step.decode_requests if self.mixes_both else 0)


def read_recording(connection: duckdb.DuckDBPyConnection, trace_id: int) -> ServerRecording:
    """Return the trace's serving steps, and the requests of the log that says most: of a server rather than of a client."""
    rows = ask(connection, statement("runs/sql/served_step.sql"), trace_id=trace_id)
    told = [row for row in rows if _has_batch(row)]
    steps = tuple(
        StepRecord(
            row["begin_ts"],
            row["dur"],
            row["done_ts"],
            row["prefill_requests"] or 0,
            row["decode_requests"],
            row["prefill_tokens"],
            row["kv_tokens"],
            row["attention"],
            row["is_counted"],
        )
        for row in told
    )
    logged = ask(connection, statement("runs/sql/request_job.sql"), trace_id=trace_id)
    jobs, others = _take_near(logged, steps) if steps else ([], 0)
    return ServerRecording(
        steps=steps,
        untold_steps=len(rows) - len(told),
        dialect=told[0]["dialect"] if told else None,
        jobs=tuple(jobs),
        log_file=logged[0]["file"] if jobs else None,
        other_requests=others,
    )


def _has_batch(row: Mapping[str, Any]) -> bool:
    """Return whether a step says how many tokens of prompts it computes, and how many requests decode."""
    tokens, decoding = row["prefill_tokens"], row["decode_requests"]
    if tokens is None or decoding is None:
        return False
    return bool(tokens <= _MOST_TOKENS and max(decoding, row["prefill_requests"] or 0) <= _MOST_REQUESTS)


def _take_near(logged: list[dict[str, object]], steps: tuple[StepRecord, ...]) -> tuple[list[RequestJob], int]:
    """Return the requests that can be scheduled and came in the time of the steps or shortly before, and the number of others.

    Without any that came in that time there are none: a log of another time says nothing of the steps.
    """
    fields = RequestJob._fields
    jobs = [RequestJob(*(row[field] for field in fields)) for row in logged if row["is_usable"]]  # type: ignore[arg-type]
    arrivals = [job.arrival for job in jobs]
    first, after = bisect_left(arrivals, steps[0].begin), bisect_right(arrivals, steps[-1].end_ts)
    if first == after:
        return [], len(logged)
    kept = jobs[max(0, first - _MOST_OUTSIDE) : after + _MOST_OUTSIDE]
    return kept, len(logged) - len(kept)
