"""Convert a trace database to a dataset, or a dataset to a trace database."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from pathlib import Path
from typing import NamedTuple

from traceq.analysis.job.job import fill_jobs
from traceq.app.pipeline import judge_traces
from traceq.common.scratch import temporary_folder
from traceq.database.connect import connect, is_database
from traceq.database.failures import FAILURES, one_line, way_out
from traceq.database.publish import database_state, publish, scratch_beside
from traceq.database.user_sql import run_interruptibly
from traceq.dataset.convert import to_database, to_dataset
from traceq.dataset.manifest import is_dataset, open_existing
from traceq.dataset.place import Place, is_address
from traceq.errors import StoreError, WrongUse


class Converted(NamedTuple):
    """The dataset or database that was made, and its number of traces; `not_judged` says why rules could not run, else None."""

    target: str
    traces: int
    not_judged: str | None


def convert(source: str | Path, target: str | Path, *, wait: float = 0) -> Converted:
    """Convert a trace database `source` to a dataset `target`, or a dataset to a database, as an ingest would have made it.

    `wait` is how many seconds to wait for another writer of the dataset. Raises WrongUse when the target exists or is
    of the wrong kind, StoreError when a file cannot be read or written.
    """
    if is_dataset(source):
        _check_new(target)
        if str(target).endswith("/") or is_address(target):
            raise WrongUse(f"{source} is a dataset and becomes a database: name a file, such as job.duckdb.")
        open_existing(source)
        work = _to_database
    elif not is_address(source) and is_database(Path(source)):
        if is_database(Path(target)) or Path(target).suffix == ".duckdb":
            raise WrongUse(f"{source} is a database and becomes a dataset: name a folder, such as job/.")
        if not is_dataset(target):
            _check_new(target)
        work = partial(_to_dataset, wait=wait)
    else:
        if not is_address(source) and not Path(source).exists():
            raise StoreError(f"{source}: no such database or dataset; make one with: traceq ingest SOURCE -o {source}")
        raise WrongUse(f"{source} is neither a database nor a dataset: traceq ingest makes either from traces.")
    try:
        return work(str(source), str(target))
    except FAILURES as error:
        raise StoreError(
            f"{target}: cannot be written, {source} is unchanged: {one_line(error)}{way_out(error)}"
        ) from error


def _check_new(target: str | Path) -> None:
    """Raise WrongUse if the target is an existing file or a folder that is not empty; addresses are not checked."""
    if is_address(target):
        return
    path = Path(target)
    if path.is_file() or (path.is_dir() and any(path.iterdir())):
        raise WrongUse(f"{target} already exists: name a new file or folder.")


def _to_dataset(source: str, target: str, wait: float) -> Converted:
    """Convert the database to a dataset; `wait` is how many seconds to wait for another writer."""
    with temporary_folder() as scratch, closing(connect(source, writes=scratch)) as connection:
        traces = run_interruptibly(connection, lambda: to_dataset(connection, Place(target), scratch, wait))
    return Converted(target, traces, None)


def _to_database(source: str, target: str) -> Converted:
    """Convert the dataset to a database, match its jobs and run the rules on it."""
    path = Path(target)
    before = database_state(path)
    with scratch_beside(path) as scratch:
        finished = scratch / "converted.duckdb"
        traces = to_database(Place(source), finished)
        with closing(connect(finished, read_only=False)) as connection:
            run_interruptibly(connection, lambda: fill_jobs(connection))
            not_judged = judge_traces(connection)
        publish(finished, path, before)
    return Converted(target, traces, not_judged)
