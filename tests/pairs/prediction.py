"""What a fix would win by a recorded trace: what the report's finding of the pair's rule says."""

from __future__ import annotations

from pairs.catalogue import Pair
from traceq.app.open import Traces
from traceq.diagnosis.finding import Finding

STEP = "select avg(dur) from step where excluded is null"


def predicted(pair: Pair, traces: Traces) -> tuple[Finding, float] | None:
    """The finding on the flaw, and the ns of a recorded step; None where no rule that may name it finds anything."""
    (trace,) = traces.report(rules=["extra"]).content.traces
    for rule in pair.rules:
        for finding in trace.every_finding:
            if finding.rule == rule:
                ((step_ns,),) = traces.sql(STEP).fetchall()
                return finding, step_ns
    return None
