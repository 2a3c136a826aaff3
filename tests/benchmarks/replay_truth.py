"""How close replays come to real traces: each step predicted from the other half of the steps, beside what was recorded.

    python tests/benchmarks/replay_truth.py [--write] [--work DIR] [TRACE ...]

Without names all nsys exports and Chrome traces of ../shared. Prints a table, a row a trace; --write puts it into its section of
docs/accuracy.md. Traces are ingested once into DIR.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import NamedTuple

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "traces")]

from trace_files import SHARED, strip_container  # noqa: E402

from traceq.analysis.replay.savings import MOST_ERROR, MOST_UNEXPLAINED  # noqa: E402
from traceq.database.connect import connect  # noqa: E402
from traceq.errors import TraceqError  # noqa: E402
from traceq.loading.ingest import ingest  # noqa: E402

PAGE = TESTS.parent / "docs" / "accuracy.md"
BEGIN, END = "<!-- replay: begin -->", "<!-- replay: end -->"
SUFFIXES = (".sqlite", ".sqlite.gz", ".json", ".json.gz")

QUERY = """
select
    t.trace_id,
    (select count(*) from replay_step as s where s.trace_id = t.trace_id) as steps,
    (select median(error) from replay_step as s where s.trace_id = t.trace_id) as error,
    (select max(error) from replay_step as s where s.trace_id = t.trace_id) as largest,
    (select max(r.unexplained) from replay as r where r.trace_id = t.trace_id) as unexplained,
    (select count(*) from gpu_slice as g where g.trace_id = t.trace_id) as slices,
    (
        select list((saved_high - saved_low) / saved) from replay as r
        where r.trace_id = t.trace_id and saved >= 0.01 * (select sum(dur) from replay_step as s where s.trace_id = t.trace_id)
    ) as widths
from trace as t
"""


class Row(NamedTuple):
    """A trace: counted steps, median and largest error of a step, unexplained share of the path, relative widths of bounds."""

    name: str
    steps: int
    slices: int
    error: float
    largest: float
    unexplained: float
    widths: tuple[float, ...]

    @property
    def gives_bounds_only(self) -> bool:
        """Whether savings of this trace have no likely value."""
        return self.error > MOST_ERROR or self.unexplained > MOST_UNEXPLAINED


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", nargs="*", type=Path)
    parser.add_argument("--write", action="store_true", help="into docs/accuracy.md")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "traceq-replay")
    asked = parser.parse_args()
    rows = sorted(_rows(asked.traces or list(_all_traces()), asked.work), key=lambda row: -row.error)
    text = "\n".join(told(rows))
    print(text)
    if asked.write:
        PAGE.write_text(placed(PAGE.read_text(), text))


def _all_traces() -> Iterator[Path]:
    for folder in ("traces", "judged"):
        yield from sorted(path for path in (SHARED / folder).rglob("*") if path.name.endswith(SUFFIXES))


def _rows(traces: Sequence[Path], work: Path) -> Iterator[Row]:
    work.mkdir(parents=True, exist_ok=True)
    for path in traces:
        database = work / f"{strip_container(path)}.duckdb"
        if not database.exists():
            try:
                ingest([path], database)
            except TraceqError as error:  # formats that traceq does not read yet
                print(f"{path.name}: {error}", file=sys.stderr)
                continue
        with closing(connect(database)) as connection:
            for _, steps, error, largest, unexplained, slices, widths in connection.execute(QUERY).fetchall():
                if steps and slices:
                    yield Row(
                        strip_container(path), steps, slices, error, largest, unexplained or 0.0, tuple(widths or ())
                    )


def told(rows: Sequence[Row]) -> Iterator[str]:
    """The section: sums first, then a row a trace, the largest error first."""
    errors, unexplained = [row.error for row in rows], [row.unexplained for row in rows]
    widths = [width for row in rows for width in row.widths if not row.gives_bounds_only]
    yield (
        f"{len(rows)} real traces with GPU work and at least one counted step or window. What the host and each"
        " kernel take is that of the"
        " step itself; every lag between them (launch, queue, event, return of a wait) is that of the other half of the steps:"
        " even steps predict odd ones; of a single step one half the other."
    )
    yield ""
    yield "| | median | 90 % of traces | 95 % of traces |"
    yield "|---|---:|---:|---:|"
    for name, values in (("replay error of a step", errors), ("unexplained share of the critical path", unexplained)):
        yield f"| {name} | {median(values):.2%} | {_percentile(values, 0.9):.2%} | {_percentile(values, 0.95):.2%} |"
    yield ""
    yield (
        f"{sum(row.error <= MOST_ERROR for row in rows) / len(rows):.1%} of the traces are within {MOST_ERROR:.0%}. Bounds only:"
        f" {', '.join(row.name for row in rows if row.gives_bounds_only) or 'none'}. Savings of 1 % of the steps and more have"
        f" bounds of a median width of {median(widths):.1%} of the likely value."
    )
    yield ""
    yield "| trace | steps | GPU slices | median error | largest | unexplained |"
    yield "|---|---:|---:|---:|---:|---:|"
    for row in rows:
        yield (
            f"| {row.name} | {row.steps} | {row.slices:,} | {row.error:.2%} | {row.largest:.2%} | {row.unexplained:.2%} |"
        )


def _percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that so many are not above."""
    return sorted(values)[max(round(share * len(values) + 0.5) - 1, 0)]


def placed(page: str, text: str) -> str:
    """The page with `text` in its section, which is added when it is not there."""
    section = f"{BEGIN}\n\n## Replay of real traces\n\nWritten by `tests/benchmarks/replay_truth.py`. {text}\n\n{END}"
    if BEGIN in page:
        return re.sub(f"{re.escape(BEGIN)}.*?{re.escape(END)}", lambda _: section, page, flags=re.DOTALL)
    return f"{page.rstrip()}\n\n{section}\n"


if __name__ == "__main__":
    main()
