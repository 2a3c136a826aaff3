"""Keeps what the rules found in the tables finding and judgement of their database."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import duckdb

from traceq.errors import StoreError
from traceq.findings import Finding
from traceq.sql import statement
from traceq.store.database import connect, one_line


class KeptJudgement(NamedTuple):
    """A row of judgement."""

    trace_id: int
    goal: str
    stamp: str
    content: str


def save_findings(
    path: Path, findings: Iterable[tuple[int, Finding]], judgements: Iterable[KeptJudgement] | None = None
) -> None:
    """Replace the rows of finding in the database at `path`, each given with its place in the ranking of its trace.

    `judgements` replace the rows of judgement; None leaves them.
    Raises StoreError when the database cannot be written, which leaves it as it was.
    """
    rows = [_row(place, each) for place, each in findings]
    kept = None if judgements is None else [each._asdict() for each in judgements]
    try:
        with closing(connect(path, read_only=False)) as connection:
            connection.begin()
            connection.execute("delete from finding")
            if rows:
                connection.executemany(statement("ingest/finding.sql"), rows)
            if kept is not None:
                connection.execute("delete from judgement")
            if kept:
                connection.executemany(statement("ingest/judgement.sql"), kept)
            connection.commit()
    except (duckdb.Error, OSError) as error:
        raise StoreError(
            f"{path}: findings cannot be saved: {one_line(error)}; is the database open elsewhere?"
        ) from error


def _row(place: int, finding: Finding) -> dict[str, object]:
    return {
        "trace_id": finding.where.trace_id,
        "finding_id": finding.finding_id,
        "rule": finding.rule,
        "title": finding.title,
        "rank_order": place,
        "saving": finding.saving_ns,
        "saving_low": finding.saving_low_ns,
        "saving_high": finding.saving_high_ns,
        "confidence": finding.confidence,
        "device": finding.where.device,
        "step_share": finding.saving_ns / (finding.expected_step_ns + finding.saving_ns),
        "fix": finding.fix,
        "query": finding.summary.query,
    }
