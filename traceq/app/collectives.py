"""Collectives: report on records that the Inspector plugins of NCCL and RCCL kept, without any trace."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import duckdb

from traceq.app.source import check_writes
from traceq.app.view import View
from traceq.database.failures import one_line
from traceq.errors import StoreError
from traceq.loading.inspected import ALONE, find_records, open_records
from traceq.reports.collectives.model import CollectivesReport
from traceq.reports.collectives.read import read_collectives
from traceq.reports.collectives.words import compose_collectives, encode_collectives
from traceq.reports.document import Block


class CollectivesView(View[CollectivesReport]):
    """The report on records of collectives; `content` is plain data, in ns, bytes and GB/s."""

    def blocks(self) -> Iterable[Block]:
        """Return the document on bandwidths, slow links and late ranks as blocks, for every format."""
        return compose_collectives(self.content)

    def to_json(self) -> str:
        """Return the report as JSON text, for programs."""
        return encode_collectives(self.content)


def report_collectives(files: Sequence[str | Path], writes: Sequence[Path] = ()) -> CollectivesView:
    """Report on records of collectives: files, folders or globs; `writes` are files that will be written.

    Raises UnknownFormat or UnusableTrace for a named file without records, NoTraces where a folder holds none.
    """
    check_writes(writes, find_records(files))
    try:
        with open_records(files) as (connection, notes, number):
            return CollectivesView(read_collectives(connection, ALONE, number, notes))
    except duckdb.Error as error:
        raise StoreError(f"the records cannot be worked out: {one_line(error)}; give fewer files") from error
