"""A trace in a line: slices given by hand, joined up and analysed, asked with SQL.

    trace = TraceBuilder()
    trace.annotation("ProfilerStep#1", 0, 100)
    trace.kernel("gemm", 10, 20, launched=(2, 5))
    trace.fill("time_ledger")
    assert trace.rows("select category, dur from time_ledger order by all") == [...]

`fill` runs the analyses that a test is about, in memory; `build` does a whole ingest, into a file.
Times are ns, (ts, dur) as in the tables. The main thread is 0.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
from tables import filled, filled_as_by_ingest, put_together

from traceq.analysis.steps.choice import Choice, choice_of
from traceq.app.pipeline import judge_traces
from traceq.database.connect import connect
from traceq.database.publish import database_state, merge, publish
from traceq.loading.build import Task, build
from traceq.loading.sources import Source


def judge_database(database: Path) -> None:
    """Run the rules on the database, which keeps what they find."""
    with closing(connect(database, read_only=False)) as connection:
        assert judge_traces(connection) is None


class TraceBuilder:
    """Collects rows as an importer would deliver them."""

    NAME = "made up"

    def __init__(self) -> None:
        self._rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self._slices = 0
        self._correlations = 0
        self._connection = None
        self._others: list[TraceBuilder] = []

    # ---- rows

    def _slice(self, table: str, **columns: Any) -> int:
        slice_id = self._slices
        self._slices += 1
        self._rows[table].append({"slice_id": slice_id, **columns})
        return slice_id

    def cpu(self, kind: str, name: str, ts: int, dur: int, thread: int = 0, **columns: Any) -> int:
        return self._slice("cpu_slice", thread_id=thread, kind=kind, name=name, ts=ts, dur=dur, **columns)

    def annotation(self, name: str, ts: int, dur: int, thread: int = 0, **columns: Any) -> int:
        return self.cpu("annotation", name, ts, dur, thread, **columns)

    def op(self, name: str, ts: int, dur: int, thread: int = 0, **columns: Any) -> int:
        return self.cpu("op", name, ts, dur, thread, **columns)

    def call(self, name: str, ts: int, dur: int, correlation: int | None = None, thread: int = 0) -> int:
        return self.cpu("runtime", name, ts, dur, thread, correlation_id=correlation)

    def gpu(
        self, kind: str, name: str, ts: int, dur: int, launched: tuple[int, int] | None = None, **columns: Any
    ) -> int:
        """A GPU slice; `launched` adds its launching call (ts, dur) on `thread`."""
        thread = columns.pop("thread", 0)
        if launched is not None:
            self._correlations += 1
            columns["correlation_id"] = self._correlations
            self.call("cudaLaunchKernel", *launched, self._correlations, thread)
        columns = {"device": 0, "stream": 7, **columns}
        return self._slice("gpu_slice", kind=kind, name=name, ts=ts, dur=dur, **columns)

    def kernel(self, name: str, ts: int, dur: int, launched: tuple[int, int] | None = None, **columns: Any) -> int:
        return self.gpu("kernel", name, ts, dur, launched, **columns)

    def memcpy(self, copy_kind: str, ts: int, dur: int, launched: tuple[int, int] | None = None, **columns: Any) -> int:
        return self.gpu("memcpy", f"Memcpy {copy_kind}", ts, dur, launched, copy_kind=copy_kind, **columns)

    def add(self, table: str, **columns: Any) -> None:
        self._rows[table].append(columns)

    def other_rank(self) -> TraceBuilder:
        """Another rank of the job, for the same database; `add("trace", rank=...)` says which."""
        self._others.append(TraceBuilder())
        return self._others[-1]

    # ---- the importer's side

    def sniff(self, _: Path) -> bool:
        return True

    def read(self, _path: Path | None, _progress: Any = None, _jobs: int = 1) -> Any:
        yield from self._batches()

    def _batches(self) -> Iterator[tuple[str, pa.RecordBatch]]:
        """The rows, those of the same columns and types together."""
        threads = {row["thread_id"] for row in self._rows["cpu_slice"]}
        described = {row["thread_id"] for row in self._rows["thread"]}
        for thread_id in sorted(threads - described):
            self.add("thread", thread_id=thread_id, pid=1, tid=100 + thread_id)
        if not self._rows["trace"]:
            self.add("trace", producer="tests")
        alike = defaultdict(list)
        for table, rows in self._rows.items():
            for row in rows:
                alike[table, tuple((column, type(value)) for column, value in row.items())].append(row)
        for (table, _), rows in alike.items():
            yield table, pa.RecordBatch.from_pylist(rows)

    # ---- asking

    def fill(self, *analyses: str, **steps: str) -> TraceBuilder:
        """Join the rows up and run the analyses named, each with those before it in its topic."""
        self._connection = filled(self._batches(), *analyses, format_=self.NAME, choice=choice_of(**steps))
        return self

    def fill_all(self, without: Collection[str] = (), graphs: Sequence[Any] = ()) -> TraceBuilder:
        """Join the rows up and run all analyses that an ingest would run, but for those named in `without`.

        `graphs` are those of torch.compile.
        """
        traces = enumerate((self, *self._others), start=1)
        self._connection = put_together(
            [filled_as_by_ingest(each._batches(), self.NAME, number, without, graphs) for number, each in traces]
        )
        return self

    def build(self, folder: Path, **steps: str) -> TraceBuilder:
        parts = [
            each._build(folder, number, choice_of(**steps))
            for number, each in enumerate((self, *self._others), start=1)
        ]
        database = folder / "trace.duckdb"
        publish(merge(parts, database, folder), database, database_state(database))
        self._connection = connect(database)
        return self

    def _build(self, folder: Path, number: int, choice: Choice) -> Path:
        path, database = folder / f"made-up-{number}.json", folder / f"part-{number}.duckdb"
        path.write_text("made up")
        task = Task(Source((path,), self), database, folder, number, None, f"{number - 1:064}", choice, 1, 1, 256 << 20)
        build(task, lambda _state: None)
        return database

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        return self._connection.execute(query).fetchall()

    def text(self, query: str) -> str:
        """The result as a little table: a line per row, columns separated by blanks, NULL as -."""
        lines = [" ".join("-" if value is None else str(value) for value in row) for row in self.rows(query)]
        return "\n".join(lines)
