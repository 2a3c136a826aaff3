"""Upgrade: a database of an older version of traceq is brought to the schema of this one, and judged again."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from traceq.analysis.job.job import fill_jobs
from traceq.app.pipeline import judge_traces
from traceq.database.connect import SCHEMA_VERSION, connect
from traceq.database.migrate import upgrade as migrate
from traceq.dataset.manifest import is_dataset, open_existing
from traceq.errors import WrongUse


class Upgraded(NamedTuple):
    """The database and its schema versions before and after; `is_changed` says whether it was written.

    `not_judged` says why rules could not run, None if they did or need not.
    """

    database: Path
    before: int
    after: int
    is_changed: bool
    not_judged: str | None


def upgrade(database: Path, output: Path | None = None) -> Upgraded:
    """Upgrade `database` to this schema version, in place or into the new file `output`, and judge it again.

    Readers see the old database or the new one. Raises StoreError when a file cannot be read or written, SchemaMismatch
    when its version cannot be upgraded, as for all datasets.
    """
    if is_dataset(database):
        if output is not None:
            raise WrongUse(f"{database} is a dataset: -o is for a trace database.")
        open_existing(database)  # there is no way from another version to this one, which it says
        return Upgraded(database, SCHEMA_VERSION, SCHEMA_VERSION, is_changed=False, not_judged=None)
    before = migrate(database, output)
    is_changed = before != SCHEMA_VERSION or output is not None
    target = output or database
    not_judged = None
    if is_changed:
        with closing(connect(target, read_only=False)) as connection:
            fill_jobs(connection)
            not_judged = judge_traces(connection)
    return Upgraded(target, before, SCHEMA_VERSION, is_changed, not_judged)
