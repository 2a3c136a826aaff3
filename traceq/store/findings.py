"""Keeps what a report found in the table finding of its database."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import duckdb

from traceq.errors import StoreError
from traceq.findings import Finding
from traceq.sql import statement
from traceq.store.database import connect, one_line


def save_findings(path: Path, findings: Iterable[tuple[int, Finding]]) -> None:
    """Replace the rows of finding in the database at `path` by `findings`, each with its place in the ranking of its trace.

    Raises StoreError when the database cannot be written, which leaves it as it was.
    """
    rows = [_row(place, each) for place, each in findings]
    try:
        with closing(connect(path, read_only=False)) as connection:
            connection.begin()
            connection.execute("delete from finding")
            if rows:
                connection.executemany(statement("ingest/finding.sql"), rows)
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
