"""Batch limits: what another limit of batched tokens would give for the requests to a server."""

from __future__ import annotations

from collections.abc import Iterable

from traceq.app.read_options import AS_FOUND, LOWEST, ReadOptions, Which
from traceq.app.source import Source, open_source
from traceq.app.trace_selection import select_traces
from traceq.app.view import View
from traceq.database.user_sql import run_interruptibly
from traceq.errors import StoreError, WrongUse
from traceq.reports.document import Block
from traceq.reports.renderers.batch_limits_to_json import batch_limits_to_json
from traceq.reports.trials.batch_limits import compose_batch_limits
from traceq.runs.batching.limit_study import LimitStudy, LimitTerms
from traceq.runs.batching.recording import read_recording
from traceq.runs.batching.study_limits import study_limits


class BatchLimitsView(View[LimitStudy]):
    """Predictions for other limits of batched tokens; `content` is plain data, times are ns."""

    def blocks(self) -> Iterable[Block]:
        """Return the document on the predictions as blocks (headings, verdicts, tables, ...), for every format."""
        return compose_batch_limits(self.content)

    def to_json(self) -> str:
        """Return the predictions as JSON text, for programs."""
        return batch_limits_to_json(self.content)


def predict_batch_limits(
    source: Source, terms: LimitTerms, which: Which = LOWEST, read: ReadOptions = AS_FOUND
) -> BatchLimitsView:
    """Predict what limits of batched tokens would give; traceq.app.api.batch_limits explains the parameters.

    Raises WrongUse for limits or a number of requests below 1, StoreError for a trace that is not there.
    """
    if not terms.limits or min(terms.limits) < 1:
        raise WrongUse("--batched-tokens: name limits of at least 1 token, as 256,512.")
    if terms.slots is not None and terms.slots < 1:
        raise WrongUse("--max-num-seqs: a server computes at least 1 request at a time.")
    with open_source(source, "examined", read) as connection:

        def study_trace() -> LimitStudy:
            chosen = select_traces(connection, () if which.trace is None else (which.trace,), which.rank)
            if not chosen:
                raise StoreError(f"{source}: holds no traces; ingest some: traceq ingest SOURCE -o {source}")
            # ranks of a server compute the same batches
            return study_limits(read_recording(connection, next(iter(chosen))), terms)

        return BatchLimitsView(run_interruptibly(connection, study_trace))
