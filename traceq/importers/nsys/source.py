"""One nsys SQLite export, opened so that it cannot be changed, read as Arrow batches.

The file is opened with `mode=ro&immutable=1`: SQLite then takes no lock and writes no journal, so nothing
appears beside the user's file. Tables and columns are looked up before they are read: exports hold only
tables that have rows, and columns come and go with the version.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import adbc_driver_manager
import pyarrow as pa
from adbc_driver_sqlite import StatementOptions, dbapi

from traceq.errors import UnusableTrace
from traceq.importers.nsys.files import READ_WHAT_IS_THERE
from traceq.importers.nsys.versions import choose_table
from traceq.importers.sqlite import IS_TABLE, IS_VIEW, LEAST_ROW, limit_steps, quote_name, read_only_uri

if TYPE_CHECKING:
    from typing import Any, Self

    from traceq.importers.rows import Notes


def find_filled_columns(path: Path, table: str, columns: Iterable[str]) -> set[str]:
    """Return which of these columns of the table have a value in some row; all of them when the file is damaged.

    Exports declare every column there could be, most NULL throughout, and reading a NULL costs as much as reading a
    number: a search for the first value costs less.
    """
    empty = list(columns)
    filled: set[str] = set()
    with closing(sqlite3.connect(read_only_uri(path), uri=True)) as connection:
        limit_steps(connection, path)
        try:
            connection.execute(READ_WHAT_IS_THERE)
            while empty:
                tests = [f"{quote_name(name)} is not null" for name in empty]
                query = f"select {', '.join(tests)} from {quote_name(table)} where {' or '.join(tests)} limit 1"  # noqa: S608
                row = connection.execute(query).fetchone()
                if row is None:
                    break
                filled.update(name for name, has_value in zip(empty, row, strict=True) if has_value)
                empty = [name for name in empty if name not in filled]
        except sqlite3.Error:
            filled.update(empty)
    return filled


BATCH_ROWS = 61_440
_RESCUE_ROWS = 256
_READ_ERRORS = (OSError, pa.ArrowException, adbc_driver_manager.Error, sqlite3.Error)


class NsysExport:
    """One opened nsys export: its tables and columns, and readers of their rows. A context manager."""

    def __init__(self, path: Path, shown: Path, notes: Notes) -> None:
        """Open the SQLite file `path`; messages name `shown`, the user's file. Raises UnusableTrace if it is damaged."""
        self.shown = shown
        self.notes = notes
        self.on_rows: Callable[[int], None] = lambda _rows: None
        self._touched: set[str] = set()
        self._path = path
        self._most_rows = path.stat().st_size // LEAST_ROW
        self._uri = read_only_uri(path)
        self._small = sqlite3.connect(self._uri, uri=True, check_same_thread=False)
        limit_steps(self._small, path)
        # Names come from anywhere; a byte that is no UTF-8 must not stop the import.
        self._small.text_factory = lambda raw: raw.decode("utf-8", "replace")
        self._views: set[str] = set()
        self._columns = self._read_columns()
        self._own: dict[str, str] = {}
        self._unread: dict[str, str] = {}
        self._filled: dict[str, dict[str, bool]] = {}
        self._searcher = ThreadPoolExecutor(1)
        self._searches: dict[str, Future[dict[str, bool]]] = {}
        self._large = dbapi.connect(self._uri)
        with closing(self._large.cursor()) as cursor:
            cursor.execute(READ_WHAT_IS_THERE)
            cursor.execute("pragma trusted_schema = off")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._searcher.shutdown()
        self._large.close()
        self._small.close()

    def _read_columns(self) -> dict[str, dict[str, bool]]:
        """Return each table's columns, with whether they are declared NOT NULL. Raises UnusableTrace for a damaged file."""
        # Its own list leaves out generated columns, which are expressions of the file.
        query = (
            f"with tables as materialized (select name from sqlite_master where {IS_TABLE}"  # noqa: S608
            " and name not like 'sqlite\\_%' escape '\\')"
            ' select m.name, c.name, c."notnull" from tables m, pragma_table_info(m.name) c'
        )
        columns: dict[str, dict[str, bool]] = {}
        try:
            self._small.execute(READ_WHAT_IS_THERE)
            self._small.execute("pragma trusted_schema = off")
            for table, column, not_null in self._small.execute(query):
                columns.setdefault(table, {})[column] = bool(not_null)
            self._views.update(
                name
                for (name,) in self._small.execute(f"select name from sqlite_master where {IS_VIEW}")  # noqa: S608
            )
        except sqlite3.Error as error:
            self._small.close()
            raise UnusableTrace(
                f"{self.shown}: the SQLite file is damaged ({error}); export it again with nsys export"
            ) from error
        return columns

    @property
    def untouched(self) -> list[str]:
        """Names of the tables that no reader has read yet."""
        return [table for table in self._columns if table not in self._touched]

    def columns_of(self, table: str, names: Iterable[str] = ()) -> dict[str, bool]:
        """Return the table's columns by name, with whether they are declared NOT NULL; {} when there is no such table.

        The table may have a version behind its name, and it and columns of these names may be spelled in another case, which
        leaves a note. A view is not read.
        """
        if table not in self._own:
            self._find_table(table)
        columns = self._columns.get(table, {})
        self._rename_to_wanted(f"{table}.", names, columns)
        return columns

    def _find_table(self, table: str) -> None:
        """Choose the table of the file that is read as nsys' `table`, and keep its name and those of its other versions.

        A note says where it is another name, or that the file has but a view of the name.
        """
        found, others = choose_table(table, self._columns, self._has_rows)
        self._own[table] = found or table
        if found is None and table in self._views:
            self.notes.data_loss(
                "view_not_read",
                1,
                f"{table} is a view, not a table, and a view runs SQL from the file; export the report again.",
            )
        self._unread.update(dict.fromkeys(others, table))
        if found is None or found == table:
            return
        if table in self._columns:
            # It is empty.
            del self._columns[table]
        if found.lower() == table.lower():
            self._rename_to_wanted("", [table], self._columns)
        else:
            self._columns[table] = self._columns.pop(found)
            self.notes.info("table_version", 1, f"{found} is read as {table}, by the columns that both have.")

    def _has_rows(self, own: str) -> bool:
        """Return whether the table, by its name in the file, has a row; True where that cannot be read."""
        try:
            return self._small.execute(f"select 1 from {quote_name(own)} limit 1").fetchone() is not None  # noqa: S608
        except sqlite3.Error:
            return True

    def count_unread(self, own: str) -> tuple[str, int, int] | None:
        """Return the table that is read instead of this version, the rows of this one, and those that the other lacks.

        None if `own` is not another version of a table that is read. A row is lacking if no row of the other starts then.
        """
        table = self._unread.get(own)
        if table is None:
            return None
        rows = self.fetch_scalar(own, "count(*)") or 0
        if not all("start" in {column.lower() for column in self._columns[name]} for name in (table, own)):
            return table, rows, rows
        read = f'select "start" from {quote_name(self._own[table])} where "start" is not null'  # noqa: S608
        return table, rows, self.fetch_scalar(own, f'count(*) filter (where "start" not in ({read}))') or 0

    def _rename_to_wanted(self, place: str, wanted: Iterable[str], have: dict[str, Any]) -> None:
        """Rename keys of `have` that differ from a wanted name by case only, with a note: SQLite takes both for one.

        `place` is "" for tables, "TABLE." for its columns.
        """
        missing = {name.lower(): name for name in wanted if name not in have}
        for found in [own for own in have if own.lower() in missing] if missing else []:
            name = missing[found.lower()]
            have[name] = have.pop(found)
            self.notes.info("spelled_otherwise", 1, f"{place}{found} is read as {name}, which nsys calls it.")

    def _quote_own(self, table: str) -> str:
        """Return the name that the table has in the file, as SQL writes it."""
        return quote_name(self._own.get(table, table))

    def fetch_rows(self, table: str, wanted: Sequence[str], where: str = "true") -> list[tuple[object, ...]]:
        """Return the wanted columns of a table's rows, as tuples in the file's order; a column the file lacks is None.

        `where` is a condition in SQL that traceq wrote. [] without the table, or when it is damaged (noted). All rows are
        in memory at once: meant for descriptions, not for events.
        """
        have = self.columns_of(table, wanted)
        if not have:
            return []
        self._touched.add(table)
        picked = ", ".join(quote_name(name) if name in have else "null" for name in wanted)
        query = f"select {picked} from {self._quote_own(table)} where {where} order by rowid"  # noqa: S608
        try:
            return self._small.execute(query).fetchall()
        except sqlite3.Error as error:
            self._note_damage(table, 0, error)
            return []

    def estimate(self, table: str) -> int:
        """Return about how many rows the table has, by its highest rowid, which costs no scan; 0 if unknown."""
        if not self.columns_of(table):
            return 0
        try:
            (found,) = self._small.execute(f"select max(rowid) from {self._quote_own(table)}").fetchone()  # noqa: S608
        except sqlite3.Error:
            return 0
        # A column of a damaged file may be called so.
        return max(found, 0) if isinstance(found, int) else 0

    def filled_columns(self, table: str, wanted: Sequence[str]) -> set[str]:
        """Return which of the wanted columns hold a value in some row; all that exist when the table is damaged."""
        known = self._filled.setdefault(table, {})
        if table in self._searches:
            known.update(self._searches.pop(table).result())
        self.columns_of(table, wanted)
        known.update(self._search(table, [name for name in wanted if name not in known]))
        return {name for name in wanted if known[name]}

    def search_ahead(self, table: str, columns: Sequence[str]) -> None:
        """Begin to search in the background for what `filled_columns` will be asked about this table."""
        self.columns_of(table, columns)
        self._searches[table] = self._searcher.submit(self._search, table, columns)

    def _search(self, table: str, columns: Sequence[str]) -> dict[str, bool]:
        """Return for each column whether some row may have a value in it; False for columns that do not exist."""
        have = self._columns.get(table, {})
        filled = find_filled_columns(
            self._path, self._own.get(table, table), [name for name in columns if have.get(name) is False]
        )
        return {name: have.get(name, False) or name in filled for name in columns}

    def fetch_scalar(self, table: str, expression: str) -> int | None:
        """Return the integer value of an SQL expression over the table; None for NULL or a damaged table (noted)."""
        try:
            found = self._small.execute(f"select {expression} from {self._quote_own(table)}").fetchone()  # noqa: S608
        except sqlite3.Error as error:
            self._note_damage(table, 0, error)
            return None
        return None if found[0] is None else int(found[0])

    def read(
        self,
        table: str,
        integers: Sequence[str],
        texts: Sequence[str] = (),
        computed: dict[str, str | None] | None = None,
        order: str = "rowid",
    ) -> Iterator[pa.RecordBatch]:
        """Yield a table's rows in batches, in the order of the SQL term `order`; nothing when there is no such table.

        `integers` are columns to read as int64, NULL where the file lacks one; `texts` as binary, empty for NULL.
        `computed` are SQL expressions by column name, which yield text and never NULL (None: '' throughout). Of a damaged
        table the rows that can be read are yielded, and a note is left.
        """
        if not self.columns_of(table):
            return
        self._touched.add(table)
        done = 0
        # Casting every value costs a fifth of the time, so it is left for files whose columns mix types; and
        # a damaged page takes its whole batch with it, so the last try goes by small ones.
        for cast, batch_rows in ((False, BATCH_ROWS), (True, BATCH_ROWS), (True, _RESCUE_ROWS)):
            query, schema = self._build_query(table, integers, texts, computed or {}, cast=cast)
            try:
                rest = f"{query} order by {order} limit -1 offset {done}"
                for batch in self._stream_query(rest, batch_rows):
                    complete = _complete_columns(batch, schema)
                    done += batch.num_rows
                    if done > self._most_rows:
                        raise sqlite3.DatabaseError("it has more rows than bytes")
                    yield complete
                    self.on_rows(batch.num_rows)
            except _READ_ERRORS as error:
                failure = error
            else:
                return
        self._note_damage(table, done, failure)

    def _build_query(
        self, table: str, integers: Sequence[str], texts: Sequence[str], computed: dict[str, str | None], *, cast: bool
    ) -> tuple[str, pa.Schema]:
        """Return SQL that selects those of the columns that hold values, and the Arrow schema of all of them.

        `cast` casts integers in SQL, for files whose columns mix types.
        """
        have = self.filled_columns(table, [*integers, *texts])
        wanted = {
            name: f"cast({quote_name(name)} as integer)" if cast else quote_name(name)
            for name in integers
            if name in have
        }
        # Never NULL: the reader takes a column's type from its first rows and fails on later ones.
        wanted |= {name: f"coalesce(cast({quote_name(name)} as blob), x'')" for name in texts if name in have}
        wanted |= {name: f"cast({expression} as blob)" for name, expression in computed.items() if expression}
        fields = [(name, pa.int64()) for name in integers] + [(name, pa.binary()) for name in (*texts, *computed)]
        picked = ", ".join(f"{expression} as {quote_name(name)}" for name, expression in wanted.items())
        return f"select {picked or '0 as none'} from {self._quote_own(table)}", pa.schema(fields)  # noqa: S608

    def _stream_query(self, query: str, batch_rows: int) -> Iterator[pa.RecordBatch]:
        """Yield the query's result in batches of at most `batch_rows` rows, reading the next one in the background."""
        with closing(self._large.cursor()) as cursor:
            cursor.adbc_statement.set_options(**{StatementOptions.BATCH_ROWS.value: batch_rows})
            cursor.execute(query)
            # SQLite reads the next batch while this one is worked on.
            with cursor.fetch_record_batch() as reader, ThreadPoolExecutor(1) as ahead:
                coming = ahead.submit(next, reader, None)
                while (batch := coming.result()) is not None:
                    coming = ahead.submit(next, reader, None)
                    if batch.num_rows:
                        yield batch

    def _note_damage(self, table: str, done: int, error: BaseException) -> None:
        """Add a data-loss note that the table could be read up to row `done` only, with the first line of the error."""
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        self.notes.data_loss(
            "table_damaged", 1, f"{table} could be read only up to row {done} ({reason}); export the report again."
        )


def _complete_columns(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return the batch with exactly the columns of `schema`: missing integers NULL, missing texts empty."""
    have = set(batch.schema.names)
    columns = []
    for field in schema:
        if field.name in have:
            columns.append(batch.column(field.name).cast(field.type))
        elif pa.types.is_binary(field.type):
            columns.append(pa.repeat(pa.scalar(b"", pa.binary()), batch.num_rows))
        else:
            columns.append(pa.nulls(batch.num_rows, field.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)
