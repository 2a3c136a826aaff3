"""The user's SQL: cut into statements, run, and its errors located by line and column."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import copy_context
from threading import Event, Thread
from typing import TypeVar

import duckdb

from traceq.common import signals
from traceq.database.connect import is_of_files
from traceq.database.failures import without_advice
from traceq.database.fixed_settings import refuse_settings
from traceq.database.query import without_end
from traceq.errors import QueryError

Parameters = Sequence[object] | Mapping[str, object]
T = TypeVar("T")

# DuckDB's plain messages draw a caret under an excerpt, cut on long lines; its JSON says the position.
ERRORS_WITH_POSITION = "set errors_as_json = true"
ERRORS_FOR_PEOPLE = "set errors_as_json = false"

# Queries some ten thousand deep end the process, as DuckDB follows them on its stack; brackets that stay open take it the square
# of their number. Nobody nests so deeply.
_DEEPEST = 200
_OPENING, _CLOSING = (b"(", b"[", b"{"), (b")", b"]", b"}")

_SIGNALS_SEEN_EVERY = 0.1  # seconds
# How long a query that was told to stop may take for that, seconds.
_PATIENCE = 30.0

_EMPTY = "the query is empty; write one, e.g.: select * from trace"

# Statements that show something, also explained or (pivot) made of several; whatever else these two may hold is refused.
_MAY_READ = {duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN, duckdb.StatementType.MULTI}
_READING = re.compile(
    r"\s*(?:explain\s+(?:analyze\s+)?(?:\([^)]*\)\s*)?)?"
    r"[(\s]*(?:select|from|with|values|table|desc|describe|show|summarize|pivot|unpivot)\b",
    re.IGNORECASE,
)
_WRITES = "a query reads its dataset and nothing else: write results with -o"
# Of words with a blank between them.
_WRITING_PART = re.compile(
    rb"\bas (?:(?:not )?materialized )?(?:\( )+(?:copy|insert|update|delete|merge|truncate)\b"
    rb"|\) (?:insert into|delete from|merge into|update \w+ set)\b"
)

# Statements that change nothing outside the database, which is read-only but for temporary tables.
_INSIDE = {
    duckdb.StatementType.SELECT,
    duckdb.StatementType.SET,
    duckdb.StatementType.VARIABLE_SET,
    duckdb.StatementType.PRAGMA,
    duckdb.StatementType.CREATE,
    duckdb.StatementType.CREATE_FUNC,
    duckdb.StatementType.INSERT,
    duckdb.StatementType.UPDATE,
    duckdb.StatementType.DELETE,
    duckdb.StatementType.MERGE_INTO,
    duckdb.StatementType.DROP,
    duckdb.StatementType.ALTER,
    duckdb.StatementType.TRANSACTION,
    duckdb.StatementType.ANALYZE,
}

# What to say beside DuckDB's message, by a part of it.
_WAYS_OUT = {
    "attached in read-only mode": "the database is opened read-only: use select",
    "disabled by configuration": "a query reads its database and nothing else: write results with -o",
    "disabled through configuration": "a query reads its database and nothing else",
    "configuration has been locked": "settings are fixed here",
    "No magic bytes": "the file is damaged: `traceq dataset verify` says what else is",
    "ecompression failure": "the file is damaged: `traceq dataset verify` says what else is",
    "No files found that match": "what was there is dropped, or lost: open the dataset again",
    "Cannot open file": "what was there is dropped, or lost: open the dataset again",
    "regular string buffers": "take a part of each text, as substring(x, 1, 1000) does",
    "regular list buffers": "take a part of each list, as x[1:1000] does",
    "failed to allocate": "there is no more memory: query less at a time",
    "is not in the catalog, but it exists in": "traceq loads no extensions",
    "Table with name": "`traceq tables` lists what there is",
}


def run(
    connection: duckdb.DuckDBPyConnection, text: str, params: Parameters | None = None, *, is_locked: bool = True
) -> duckdb.DuckDBPyRelation:
    """Run the SQL statements of `text` and return the relation of the last one, which alone gets `params`.

    Settings of a connection that is not locked are kept from the statements by reading them.
    Nothing runs when any statement has a syntax error. Raises QueryError, with line and column if the connection was
    set to ERRORS_WITH_POSITION. The relation is lazy: read it inside `one_line_errors`.
    """
    *before, last = _check_statements(connection, text)
    for statement, values in [*((one, None) for one in before), (last, params)]:
        if not is_locked:
            refuse_settings(connection, statement, values)
        relation = _make_relation(connection, statement, values)
    return relation


def yield_results(
    connection: duckdb.DuckDBPyConnection, text: str, *, only_one: bool = False
) -> Iterator[duckdb.DuckDBPyRelation]:
    """Run the statements of `text` as `run` does, and yield the relation of each query and of the last statement.

    Each must be read before the next is asked for. With `only_one`, raises QueryError before anything runs if several
    have results.
    """
    found = _check_statements(connection, text)
    shown = [statement for statement in found[:-1] if _shows_rows(connection, statement)]
    if only_one and shown:
        raise QueryError(
            f"{len(shown) + 1} statements have results, but this format holds only one: give one, or another format"
        )
    for statement in found:
        relation = _make_relation(connection, statement, None)
        if statement in shown or statement is found[-1]:
            yield relation


def _shows_rows(connection: duckdb.DuckDBPyConnection, statement: str) -> bool:
    """Return whether the statement is one whose result is shown (select, explain, ...)."""
    return any(parsed.type in _MAY_READ for parsed in connection.extract_statements(statement))


def _check_statements(connection: duckdb.DuckDBPyConnection, text: str) -> list[str]:
    """Split `text` into statements. Raises QueryError for syntax errors, forbidden statements, or an empty text."""
    with one_line_errors(text):
        check_depth(text)
        found = split_statements(text)
        parsed = connection.extract_statements(text)
        if is_of_files(connection):
            check_reads(parsed)
    if not found:
        raise QueryError(_EMPTY)
    return found


def lock(connection: duckdb.DuckDBPyConnection) -> None:
    """Forbid queries to change settings, unless this process has other connections to the file, which still need to."""
    if connection.execute("from duckdb_connection_count()").fetchall() == [(1,)]:
        connection.execute("set lock_configuration = true")


def check_reads(parsed: Iterable[duckdb.Statement]) -> None:
    """Raise QueryError for a statement that is not known to only read, for databases whose files DuckDB would let it write."""
    for statement in parsed:
        if writes_within(statement.query):
            raise QueryError(_WRITES)
        if statement.type in _MAY_READ and _READING.match(without_end(statement.query)):
            continue
        if statement.type not in _INSIDE:
            raise QueryError(_WRITES)


def writes_within(text: str) -> bool:
    """Return whether a part of the SQL `text` writes: with x as (copy ... to ...), which DuckDB takes for a query that reads."""
    encoded = text.encode()
    words = (re.match(rb"\w+|.", encoded[offset:], re.DOTALL) for offset, _ in _read_tokens(text))
    return _WRITING_PART.search(b" ".join(word[0] for word in words if word).lower()) is not None


def check_depth(text: str) -> None:
    """Raise QueryError for brackets nested more than 200 deep."""
    encoded = text.encode()
    depth = 0
    for offset, kind in _read_tokens(text):
        if kind == duckdb.token_type.operator:
            bracket = encoded[offset : offset + 1]
            depth += (bracket in _OPENING) - (bracket in _CLOSING)
        if depth > _DEEPEST:
            raise QueryError(f"brackets are nested more than {_DEEPEST} deep: name parts of the query, using with")


def split_statements(text: str) -> list[str]:
    """Split `text` into SQL statements, without semicolons and empty ones.

    Each is preceded by blanks for all text before it, so that positions in errors stay right.
    """
    encoded = text.encode()
    found = []
    start: int | None = None
    for offset, kind in _read_tokens(text):
        if _is_semicolon(encoded, offset, kind):
            if start is not None:
                found.append((start, offset))
            start = None
        elif start is None:
            start = offset
    if start is not None:
        found.append((start, len(encoded)))
    return [_blank_out(encoded[:start].decode()) + encoded[start:end].decode() for start, end in found]


def is_complete(text: str) -> bool:
    """Return whether `text` ends with a semicolon outside strings and comments."""
    tokens = _read_tokens(text)
    return bool(tokens) and _is_semicolon(text.encode(), *tokens[-1])


@contextmanager
def one_line_errors(text: str | None = None) -> Iterator[None]:
    """Turn DuckDB's errors inside the block into a QueryError on one line, with line and column in `text` if that is given.

    Errors while a lazy relation is read have no usable position: DuckDB counts in SQL that it rewrote.
    """
    try:
        yield
    except duckdb.Error as error:
        raise query_error(error, text) from error
    except UnicodeEncodeError as error:
        raise QueryError("the query is not valid UTF-8; save or type it as UTF-8") from error


def query_error(error: Exception, text: str | None = None) -> QueryError:
    """Return DuckDB's error as a QueryError on one line, with line and column in `text` if that is given."""
    details = _parse_error(str(error))
    message = without_advice(details["exception_message"])
    way_out = next((f"; {hint}" for part, hint in _WAYS_OUT.items() if part in message), "")
    position = details.get("position") if text is not None else None
    where = _line_and_column(text, int(position)) if text is not None and position else ""
    return QueryError(f"{where}{message}{way_out}")


def too_long(what: str, seconds: float) -> str:
    """Return the message that `what` was stopped after `seconds`, and how to change that."""
    return f"{what} was stopped after {seconds:g} s: ask for less at a time, or give it more with --timeout"


@contextmanager
def time_limit(connection: duckdb.DuckDBPyConnection, seconds: float, what: str) -> Iterator[None]:
    """Interrupt the connection's query if the block takes longer than `seconds`. Raises QueryError, naming `what`, then."""
    done, late = Event(), Event()

    def watch() -> None:
        if not done.wait(seconds):
            late.set()
            _interrupt(connection, lambda: done.wait(_SIGNALS_SEEN_EVERY), too_long(what, seconds))

    watcher = Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    except duckdb.InterruptException as error:
        if late.is_set():
            raise QueryError(too_long(what, seconds)) from error
        raise
    finally:
        done.set()
        watcher.join()


def run_interruptibly(
    connection: duckdb.DuckDBPyConnection,
    work: Callable[[], T],
    seconds: float | None = None,
    message: str | None = None,
    spared: Callable[[], float] = float,
) -> T:
    """Run `work` in a thread and return its result, so that Ctrl-C, TERM and HUP reach Python and stop the running query.

    Raises QueryError with the `message` when it takes longer than `seconds`, without those that `spared` returns.
    """
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(copy_context().run, work)  # with the limits of the command
        began = time.monotonic()
        try:
            # The kernel may hand the signal to any thread; Python looks for it when the main thread wakes up.
            while not future.done():
                wait([future], timeout=_SIGNALS_SEEN_EVERY)
                if seconds is not None and time.monotonic() - began - spared() > seconds:
                    told = message or f"the query was stopped after {seconds:g} s: query less at a time"
                    _stop(connection, future, told)
                    raise QueryError(told)
        except (KeyboardInterrupt, SystemExit):  # Ctrl-C; TERM and HUP, see cli/__init__.py
            _stop(connection, future)
            raise
        return future.result()


def _stop(connection: duckdb.DuckDBPyConnection, future: Future[T], told: str | None = None) -> None:
    """Interrupt the connection's query until the future is done; `told` is as in `_interrupt`."""
    _interrupt(connection, lambda: bool(wait([future], timeout=_SIGNALS_SEEN_EVERY).done), told)


def _interrupt(connection: duckdb.DuckDBPyConnection, is_over: Callable[[], bool], told: str | None) -> None:
    """Interrupt the connection's query repeatedly until `is_over`: DuckDB forgets interrupts that come before the query begins.

    While DuckDB binds a query it ignores them; after some time the process then ends with the message `told`, if given.
    """
    end = time.monotonic() + _PATIENCE
    while not is_over():
        connection.interrupt()
        if told is not None and time.monotonic() > end:
            signals.give_up(f"traceq: error: {told}")


def _make_relation(
    connection: duckdb.DuckDBPyConnection, statement: str, params: Parameters | None
) -> duckdb.DuckDBPyRelation:
    """Return the relation of one statement, checked but not read. Raises QueryError, with line and column."""
    with one_line_errors(statement):
        try:
            relation = connection.sql(statement, params=params)
        except (duckdb.BinderException, duckdb.CatalogException):
            # Binding errors of a relation carry no position; a plain execution fails alike and says it.
            connection.execute(statement, params)
            raise
    if relation is None:  # a byte order mark is a statement to the tokenizer, and none to the parser
        raise QueryError(_EMPTY)
    return relation


def _read_tokens(text: str) -> list[tuple[int, duckdb.token_type]]:
    """Return the byte offset (UTF-8) and the kind of each SQL token in `text`, without comments."""
    return [(offset, kind) for offset, kind in duckdb.tokenize(text) if kind != duckdb.token_type.comment]


def _blank_out(text: str) -> str:
    """Return the text with a blank in place of every character but ends of lines."""
    return re.sub(r"[^\n]", " ", text)


def _is_semicolon(encoded: bytes, offset: int, kind: duckdb.token_type) -> bool:
    """Return whether the token at this byte offset is a semicolon."""
    return kind == duckdb.token_type.operator and encoded[offset : offset + 1] == b";"


def _parse_error(error: str) -> dict[str, str]:
    """Return the fields of DuckDB's error, which is JSON or text: `exception_message`, and `position` if it is JSON."""
    try:
        details = json.loads(error[error.index("{") :])
        return {"position": "", **details, "exception_message": str(details["exception_message"])}
    except (ValueError, KeyError):
        return {"exception_message": re.sub(r"^[A-Z][A-Za-z ]* Error: ", "", error)}


def _line_and_column(text: str, offset: int) -> str:
    """Return the place of the byte offset as text: "line 1, column 8: "."""
    before = text.encode()[:offset].decode(errors="ignore")
    return f"line {before.count(chr(10)) + 1}, column {len(before) - before.rfind(chr(10))}: "
