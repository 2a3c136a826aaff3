"""What `traceq ingest` does last: it asks the rules, and keeps what they say for the reports to come."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path

import click

from traceq.cli.sparing import sparing
from traceq.errors import StoreError


def keep_judgements(database: Path) -> None:
    """Fill the tables finding and judgement. Where that cannot be done the ingest stands, and stderr says so."""
    from traceq import store
    from traceq.diagnosis.kept import judged_or_kept, stamp, text_of
    from traceq.queries import interruptible
    from traceq.store.findings import KeptJudgement, save_findings

    if sys.stderr.isatty():
        click.echo("asking the rules ...", err=True)
    try:
        with closing(store.connect(database)) as connection, sparing(connection):
            name = stamp(connection)
            judged = interruptible(connection, lambda: [judge() for _, judge in judged_or_kept(connection)])
        ranked = [each for trace in judged for each in enumerate(trace.findings, 1)]
        kept = [KeptJudgement(trace.trace_id, "throughput", name, text_of(trace)) for trace in judged]
        save_findings(database, ranked, kept)
    except (StoreError, OSError) as error:
        click.echo(f"traceq: note: every report will ask the rules again: {error}", err=True)
