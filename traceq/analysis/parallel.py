"""Two connections at once: which analyses need not wait for each other, and who runs what when."""

from __future__ import annotations

from contextvars import copy_context
from threading import Condition, Thread
from typing import TYPE_CHECKING

import duckdb

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from traceq.analysis.flow import Flow

_PATIENCE = 0.1  # seconds

_TEMPORARY = "_"  # how the names of temporary tables begin, which only the connection sees that made them


def split_analyses(
    names: Sequence[str], flows: Mapping[str, Flow], kept: Collection[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the analyses that must share a connection, and those that can run on another one, each in the order given.

    The first are those that read or make one of the temporary tables `kept`, or share one with such an analysis.
    """
    touched = {
        name: {table for table in flows[name].reads | flows[name].makes if table.startswith(_TEMPORARY)}
        for name in names
    }
    tied = set(kept)
    while more := {table for tables in touched.values() if tables & tied for table in tables} - tied:
        tied |= more
    return (
        tuple(name for name in names if touched[name] & tied),
        tuple(name for name in names if not touched[name] & tied),
    )


def find_earlier(names: Sequence[str], flows: Mapping[str, Flow]) -> dict[str, frozenset[str]]:
    """Return for each analysis those before it in `names` that make a table that it reads or makes."""
    return {
        name: frozenset(
            other for other in names[:place] if flows[other].makes & (flows[name].reads | flows[name].makes)
        )
        for place, name in enumerate(names)
    }


class SecondConnection:
    """A connection with a thread that runs analyses on it while the main thread runs others on its own.

    Either waits for those of the other that make what its next analysis reads. When memory runs out the thread ends,
    and the connection is the main thread's, for the analyses that have not run.
    """

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        names: Sequence[str],
        earlier: Mapping[str, frozenset[str]],
        run: Callable[[duckdb.DuckDBPyConnection, Sequence[str]], None],
        done: set[str],
    ) -> None:
        """Take a connection for `names`, closed by close(); `run` runs and commits some of them.

        `done` are the analyses that have run, on either connection.
        """
        self.connection = connection
        self._left = list(names)
        self._earlier = earlier
        self._run = run
        self._done = done
        self._changed = Condition()
        self._is_stopped = False
        self._has_ended = False
        self._failure: BaseException | None = None
        self._thread = Thread(target=copy_context().run, args=[self._run_all])

    def start(self) -> None:
        """Begin to run the analyses."""
        self._thread.start()

    def wait_until_ready(self, name: str) -> bool:
        """Wait until all is made that the analysis `name` of the main thread reads; return False where it will not be.

        Raises what an analysis of the thread has raised, out of memory excepted.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._is_ready(name) or self._has_ended)
            self._raise_failure()
            return self._is_ready(name)

    def wake_thread(self) -> None:
        """Let the thread look again at what has run."""
        with self._changed:
            self._changed.notify_all()

    def finish(self) -> None:
        """Wait until the thread has ended by itself. Raises what an analysis of it has raised, out of memory excepted."""
        self._thread.join()
        self._raise_failure()

    def stop(self) -> None:
        """Let the thread end after its current analysis, and wait for that."""
        self._is_stopped = True
        self.wake_thread()
        if self._thread.ident is not None:  # it was started
            self._thread.join()

    def close(self) -> None:
        """Close the connection, and end the thread before, if it still runs, with the query that it waits for."""
        self._is_stopped = True
        self.wake_thread()
        while self._thread.is_alive():
            # what comes between two queries breaks off none
            self.connection.interrupt()
            self._thread.join(_PATIENCE)
        self.connection.close()

    def _is_ready(self, name: str) -> bool:
        """Return whether all is made that the analysis `name` reads."""
        return self._earlier[name] <= self._done

    def _run_all(self) -> None:
        """Run the analyses, always the first of those that are ready."""
        try:
            while (name := self._take_ready()) is not None:
                self._run(self.connection, (name,))
                self._done.add(name)
                self.wake_thread()
        except duckdb.OutOfMemoryException:
            self.connection.rollback()
        except BaseException as error:  # noqa: BLE001 - the main thread raises it
            self._failure = error
        finally:
            self._has_ended = True
            self.wake_thread()

    def _take_ready(self) -> str | None:
        """Wait for an analysis that is ready, and take it; None when all are taken or the thread is to stop."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_stopped or not self._left or any(map(self._is_ready, self._left)))
            name = None if self._is_stopped else next(filter(self._is_ready, self._left), None)
            if name is not None:
                self._left.remove(name)
            return name

    def _raise_failure(self) -> None:
        """Raise what an analysis of the thread has raised, if any."""
        if self._failure is not None:
            raise self._failure
