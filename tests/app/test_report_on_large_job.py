"""A report on a job of very many ranks: of the traces only those are read that stand for the others."""

from __future__ import annotations

import pytest
from handmade_job import rank_trace

from traceq.app import report as app_report
from traceq.app.api import report as make_report
from traceq.loading.ingest import ingest
from traceq.reports.renderers.to_text import blocks_to_text, to_text
from traceq.reports.sections.compose import compose_report

RANKS = 8


@pytest.fixture(scope="module")
def job_database(tmp_path_factory):
    """A job of eight ranks of which rank 1 is late."""
    folder = tmp_path_factory.mktemp("large")
    for rank in range(RANKS):
        (folder / f"rank{rank}.json").write_text(rank_trace(rank, {1: 400}, ranks=RANKS), "utf-8")
    ingest([folder], folder / "job.duckdb")
    return folder / "job.duckdb"


def test_ranks_that_others_represent_are_told_by_the_job_alone(job_database, monkeypatch):
    whole = make_report(str(job_database)).content
    assert len(whole.traces) == RANKS
    monkeypatch.setattr(app_report, "_MOST_SPARED", 2)
    short = make_report(str(job_database)).content
    asked = {each.trace.trace_id: each.rules_asked for each in short.traces}
    # The late rank, the usual one, and one of the others, so that the report is on a job.
    assert len(asked) == 3
    assert sorted(asked.values()) == [False, True, True]
    assert {each.trace.trace_id for each in short.traces if each.rules_asked} == {
        each.trace.trace_id for each in whole.traces if each.rules_asked
    }
    assert to_text(short) == to_text(whole)
    assert short.jobs == whole.jobs
    shown = " ".join(blocks_to_text(compose_report(short), 100).split())
    assert "6 more ranks were not analysed one by one" in shown
    (one,) = make_report(str(job_database), rank=5).content.traces
    assert (one.trace.rank, one.rules_asked) == (5, True)
