"""Many rows, a part of them at a time: as Python objects they take ten times as much memory as in the database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb

_ROWS = 50_000


def stream_rows(relation: duckdb.DuckDBPyRelation) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of the relation as tuples while they are read, part by part.

    Until the last row the connection must run no other query.
    """
    for part in relation.to_arrow_reader(_ROWS):
        yield from zip(*(column.to_pylist() for column in part.columns), strict=True)


def read_rows(relation: duckdb.DuckDBPyRelation) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of the relation as tuples, after all were read into Arrow memory.

    The connection may run other queries meanwhile.
    """
    for part in relation.to_arrow_table().to_batches(_ROWS):
        yield from zip(*(column.to_pylist() for column in part.columns), strict=True)
