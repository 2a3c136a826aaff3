"""State that the analyses of one trace share, and the memory limit of DuckDB meanwhile."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import duckdb
import msgspec

from traceq.analysis.steps.choice import AS_FOUND, Choice
from traceq.common.units import parse_size

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from traceq.analysis.graphs.captured import Captured
    from traceq.analysis.kernels.compiled import Compiled, CompiledGraph


def do_nothing() -> None:
    """Do nothing: the default for calls that only large traces need."""


class AnalysisState(msgspec.Struct):
    """Input of the analyses of a trace, and results that later analyses need.

    In large traces analyses may `commit` on their way, and call `free_memory` before they make large arrays. `done` holds the
    names of the analyses that have run.
    """

    trace_id: int
    choice: Choice = AS_FOUND
    captures: Sequence[Captured] = ()
    compiled: Sequence[Compiled] = ()
    compiled_graphs: Sequence[CompiledGraph] = ()
    # found by nesting: slices that outlast the one around them, within rounding and beyond
    cut: int = 0
    overlapping: int = 0
    # found by steps
    has_step_range: bool = True
    has_window: bool = True
    commit: Callable[[], None] = do_nothing
    free_memory: Callable[[], None] = do_nothing
    # waits until no analysis runs on another connection
    run_alone: Callable[[], None] = do_nothing
    # DuckDB's limit, to be set again when the analysis is done
    memory_limit: str | None = None
    done: set[str] = msgspec.field(default_factory=set)

    def parameters(self) -> dict[str, object]:
        """Return the parameters that SQL files of analyses may use, by name."""
        return {
            name: getattr(self, name) for name in ("trace_id", "cut", "overlapping", "has_step_range", "has_window")
        }


def set_memory_limit(connection: duckdb.DuckDBPyConnection, state: AnalysisState, memory: int) -> None:
    """Set DuckDB's memory limit to `memory` bytes, and keep the limit from before in `state` to be restored."""
    if state.memory_limit is None:
        ((state.memory_limit,),) = connection.execute("select current_setting('memory_limit')").fetchall()
    connection.execute(f"set memory_limit = '{memory}B'")


def commit_and_begin(connection: duckdb.DuckDBPyConnection) -> None:
    """Commit the transaction, and begin another one."""
    connection.commit()
    connection.begin()


def free_memory(connection: duckdb.DuckDBPyConnection, state: AnalysisState) -> None:
    """Commit, and halve DuckDB's memory limit to make room for Python's arrays; restore_memory_limit() undoes it.

    Where DuckDB cannot give back so much memory, not even alone, the limit stays.
    """
    ((limit,),) = connection.execute("select current_setting('memory_limit')").fetchall()
    connection.commit()
    # DuckDB refuses where it cannot give back so much, as what runs beside it holds memory, and goes on as before.
    try:
        set_memory_limit(connection, state, parse_size(limit) // 2)
    except duckdb.OutOfMemoryException:
        state.run_alone()
        with suppress(duckdb.OutOfMemoryException):
            set_memory_limit(connection, state, parse_size(limit) // 2)
    connection.begin()


def restore_memory_limit(connection: duckdb.DuckDBPyConnection, state: AnalysisState) -> None:
    """Restore DuckDB's memory limit from before set_memory_limit() or free_memory(); without these nothing is done."""
    if state.memory_limit is not None:
        connection.execute(f"set memory_limit = '{state.memory_limit}'")
        state.memory_limit = None
