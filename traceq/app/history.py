"""History: reports are shown as trends, accepted, removed, and exported for dashboards."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

from traceq.app.view import View
from traceq.common.change_points import FLOOR
from traceq.common.files import atomic_write
from traceq.common.text import printable
from traceq.errors import StoreError, WrongUse
from traceq.reports.document import Block
from traceq.reports.history.page import compose_history, compose_page
from traceq.reports.renderers.history_to_json import history_to_json, trend_rows
from traceq.runs.history.accept import Accepted, accept_changes
from traceq.runs.history.entry import HistoryReport
from traceq.runs.history.history import ShownHistory, read_history
from traceq.runs.history.series import EVERY_REPORT, SeriesChoice
from traceq.runs.history.store import WAIT, history_path, open_history, read_reports, remove_reports


class HistoryView(View[ShownHistory]):
    """A series of a history with its trends; `content` is plain data with arrays."""

    def blocks(self) -> Iterable[Block]:
        """Return the document on the trends as blocks, for plain text."""
        return compose_history(self.content)

    def html_blocks(self) -> Iterable[Block]:
        """Return the blocks for a page, which also draws each quantity."""
        return compose_page(self.content)

    def to_json(self) -> str:
        """Return the trends as JSON text, for programs; docs/history.md describes the keys."""
        return history_to_json(self.content)

    def to_csv(self) -> str:
        """Return the trends as CSV text: a row a quantity, with the columns of docs/history.md."""
        file = io.StringIO(newline="")
        rows = list(trend_rows(self.content))
        writer = csv.DictWriter(file, rows[0] if rows else ["name"], lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow(
                {name: printable(value) if isinstance(value, str) else value for name, value in row.items()}
            )
        return file.getvalue()


def history_show(
    path: Path | None = None,
    choice: SeriesChoice = EVERY_REPORT,
    *,
    quantities: Sequence[str] = (),
    floor: float = FLOOR,
) -> HistoryView:
    """Show how the quantities of a series moved; traceq.app.api.history_show describes the parameters."""
    path = path or history_path()
    with open_history(path) as connection:
        return HistoryView(read_history(connection, path, choice, quantities, floor))


def history_list(path: Path | None = None) -> tuple[HistoryReport, ...]:
    """Return the reports of the history, the latest first."""
    path = path or history_path()
    with open_history(path) as connection:
        return tuple(reversed(read_reports(connection)))


def history_accept(
    quantities: Sequence[str],
    because: str,
    path: Path | None = None,
    choice: SeriesChoice = EVERY_REPORT,
    *,
    begin: str | None = None,
    wait: float = WAIT,
) -> list[Accepted]:
    """Accept what became of the quantities (all if empty); what came before no longer counts for `traceq check`."""
    path = path or history_path()
    with open_history(path):
        pass  # else a history would be made of a name that is mistyped
    return accept_changes(path, quantities, because, choice=choice, begin=begin, wait=wait)


def history_remove(report_ids: Sequence[str], path: Path | None = None, *, wait: float = WAIT) -> int:
    """Remove reports, named by the beginning of their id, and return how many."""
    path = path or history_path()
    with open_history(path):
        pass
    return remove_reports(path, report_ids, wait)


def history_export(output: Path, path: Path | None = None) -> list[Path]:
    """Write the history as Parquet: a tidy table (a row a report and quantity) to a file, or with the facts into a folder.

    Returns the files. Raises WrongUse for a file of another suffix, StoreError where it cannot be written.
    """
    path = path or history_path()
    if output.suffix and output.suffix.lower() != ".parquet":
        raise WrongUse(f"{output}: name a file that ends in .parquet, or a folder.")
    if output.resolve() == path.resolve():
        raise WrongUse(f"{output} is the history: name another file to write.")
    tables = {"history": _TIDY, "facts": _FACTS}
    files = {output: _TIDY} if output.suffix else {output / f"{name}.parquet": query for name, query in tables.items()}
    if not output.suffix:
        try:
            output.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{output}: cannot be made: {error.strerror}; choose another folder") from error
    import pyarrow.parquet as pq

    with open_history(path) as connection:
        for file, query in files.items():
            rows = connection.sql(query).to_arrow_table()
            with atomic_write(file) as written:
                pq.write_table(rows, written)
    return list(files)


_TIDY = """select r.*, q.name as quantity, q.value, q.low, q.high, q.unit
from report as r left join quantity as q using (report_id) order by r.ran_at, r.added_at, r.report_id, q.name"""
_FACTS = """select r.report_id, r.ran_at, r.series, f.key, f.value
from report as r inner join fact as f using (report_id) order by r.ran_at, r.report_id, f.key"""
