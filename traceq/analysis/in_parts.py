"""Many rows, a part of them at a time: as Python objects they take ten times as much memory as in the database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb

_ROWS = 50_000


def stream_rows(relation: duckdb.DuckDBPyRelation) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of the relation as they are asked for: until the last one the connection must do nothing else."""
    for part in relation.to_arrow_reader(_ROWS):
        yield from zip(*(column.to_pylist() for column in part.columns), strict=True)


def read_rows(relation: duckdb.DuckDBPyRelation) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of the relation, which is read at once, so that the connection can do something else meanwhile."""
    for part in relation.to_arrow_table().to_batches(_ROWS):
        yield from zip(*(column.to_pylist() for column in part.columns), strict=True)
