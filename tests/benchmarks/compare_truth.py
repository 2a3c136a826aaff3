"""Whether `traceq compare` finds regressions that were put into real traces, and none where nothing changed.

    python tests/benchmarks/compare_truth.py [--write] [--jobs N] [--work DIR] [NAME ...]

Prints tables; --write puts them into their section of docs/accuracy.md. tests/perturbed/regressions.py makes the traces.

* **Nothing changed**: the odd against the even steps of every real trace with 10 counted steps and more (A/A).
* **Slower**: the trace against one whose steps were made longer by 1 to 10 % in one kind of work: the odd steps of the one
  against the even steps of the other where there are 10, else all. *Allowed* are those of which the smallest change that compare
  says it finds is at most what was put in.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import duckdb

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "perturbed")]

from perturbations import SHARED, strip_endings  # noqa: E402
from regressions import BASES, KINDS, SHARES, TWINS, HiddenError, build_regression  # noqa: E402

from traceq.database.connect import connect  # noqa: E402
from traceq.loading.ingest import ingest  # noqa: E402
from traceq.runs.compare.compare import compare  # noqa: E402
from traceq.runs.compare.known_noise import KnownNoise  # noqa: E402
from traceq.runs.read import read_runs  # noqa: E402
from traceq.runs.run import Run  # noqa: E402

PAGE = TESTS.parent / "docs" / "accuracy.md"
BEGIN, END = "<!-- compared: begin -->", "<!-- compared: end -->"
ENOUGH_STEPS = 10
EVERY, ODD, EVEN = "true", "step % 2 = 1", "step % 2 = 0"

# Categories of the ledger in which what was slowed may show.
SHOWS = {
    "kernel": ("compute",),
    "copies": ("copy_h2d", "copy_d2h", "copy_other"),
    "gap": ("idle_",),
    "launches": ("idle_",),
    "loader": ("idle_data",),
}


class Row(NamedTuple):
    """A comparison: what was put in and what was said; shares are of the base's step. `named` is the first cause's category."""

    name: str
    kind: str
    share: float
    noise: str
    steps: int
    verdict: str
    measured: float
    detectable: float
    named: str

    @property
    def is_allowed(self) -> bool:
        """Whether compare says that it finds so much."""
        return self.detectable <= self.share

    @property
    def is_found(self) -> bool:
        """Whether it says that the new run is slower."""
        return self.verdict == "regression"

    @property
    def is_right(self) -> bool:
        """Whether what was slowed comes first."""
        return self.named.startswith(SHOWS[self.kind])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="parts of the names of traces")
    parser.add_argument("--write", action="store_true", help="into docs/accuracy.md")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--work", type=Path, help="keep databases there")
    asked = parser.parse_args()
    bases = [
        base for base in dict.fromkeys((*TWINS, *BASES)) if not asked.names or any(name in base for name in asked.names)
    ]
    with tempfile.TemporaryDirectory(prefix="traceq.") as folder, ProcessPoolExecutor(asked.jobs) as pool:
        work = asked.work or Path(folder)
        found = [row for rows in pool.map(_rows, bases, [work] * len(bases)) for row in rows]
    text = "\n".join(told(found))
    print(text)
    if asked.write:
        PAGE.write_text(placed(PAGE.read_text(), text))


def _rows(trace: str, work: Path) -> list[Row]:
    """All comparisons of a trace."""
    base = _ingested(SHARED / trace, work / f"{strip_endings(Path(trace))}.base.duckdb")
    steps = len(_run(base, EVERY).counted)
    parts = (ODD, EVEN) if steps >= ENOUGH_STEPS else (EVERY, EVERY)
    first = _run(base, parts[0])
    rows = []
    if steps >= ENOUGH_STEPS:
        rows += _compared(strip_endings(Path(trace)), "nothing", 0.0, first, _run(base, EVEN))
    for kind in KINDS if trace in BASES else ():
        for share in SHARES:
            case = build_regression(trace, kind, share)
            try:
                edited, _ = case.make(work)
            except HiddenError:
                continue
            database = _ingested(edited, work / f"{case.name}.duckdb")
            edited.unlink()
            rows += _compared(case.name, kind, share, first, _run(database, parts[1]))
            database.unlink()
    print(f"{strip_endings(Path(trace))}: {len(rows)} comparisons", file=sys.stderr, flush=True)
    return rows


def _ingested(trace: Path, database: Path) -> Path:
    if not database.exists():
        ingest([trace], database)
    return database


def _run(database: Path, chosen: str) -> Run:
    """The run with the chosen steps (SQL); the others do not count."""
    with closing(duckdb.connect(str(database))) as connection:
        connection.execute("update step set excluded = null where excluded = 'not chosen'")
        connection.execute(f"update step set excluded = 'not chosen' where excluded is null and not ({chosen})")
    with closing(connect(database)) as connection:
        (run,) = list(read_runs(connection, chosen).values())[:1]
    return run


def _compared(name: str, kind: str, share: float, base: Run, new: Run) -> Iterator[Row]:
    """With what is assumed of single runs, and without: both sides are of one run."""
    for said, noise in (("assumed", None), ("none", KnownNoise(0))):
        found = compare([base], [new], noise=noise)
        change = found.change
        assert change is not None
        detectable = change.detectable_ns
        yield Row(
            name,
            kind,
            share,
            said,
            len(base.counted),
            found.verdict,
            change.share or 0.0,
            detectable / change.base_ns if detectable is not None else float("inf"),
            found.named[0].category if found.named else "",
        )


def told(rows: Sequence[Row]) -> Iterator[str]:
    """The section: nothing changed; then what was slowed by how much; then by kind."""
    same = [row for row in rows if row.kind == "nothing"]
    slowed = [row for row in rows if row.kind != "nothing"]
    for noise in ("assumed", "none"):
        here = [row for row in same if row.noise == noise]
        false = [row for row in here if row.verdict in ("regression", "improvement")]
        yield f"Odd against even steps of {len(here)} traces, noise of runs {noise}: {len(false)} verdicts on a change."
    yield ""
    yield "| slower by | noise of runs | traces | allowed | found of these | found of all | first cause right |"
    yield "|---|---|---:|---:|---:|---:|---:|"
    for share in SHARES:
        for noise in ("assumed", "none"):
            here = [row for row in slowed if row.noise == noise and row.share == share]
            yield _line(f"{share:.0%}", noise, here)
    yield ""
    yield "| what was slower | noise of runs | traces | allowed | found of these | found of all | first cause right |"
    yield "|---|---|---:|---:|---:|---:|---:|"
    for kind in KINDS:
        for noise in ("assumed", "none"):
            yield _line(kind, noise, [row for row in slowed if row.noise == noise and row.kind == kind])
    yield ""
    found = [row for row in slowed if row.is_found]
    wrong = [f"{row.name} ({row.noise}): {row.named}" for row in found if row.named and not row.is_right]
    yield f"Of {len(found)} regressions that were found {sum(row.is_right for row in found)} name what was slowed first."
    yield f"Another cause first: {', '.join(wrong) or 'none'}."
    unsure = [f"{row.name} ({row.noise})" for row in found if not row.named]
    yield f"No cause that is sure on its own: {', '.join(unsure) or 'none'}."
    missed = [f"{row.name} ({row.noise})" for row in slowed if row.is_allowed and not row.is_found]
    yield f"Allowed and not found: {', '.join(missed) or 'none'}."


def _line(what: str, noise: str, rows: Sequence[Row]) -> str:
    allowed = [row for row in rows if row.is_allowed]
    found = [row for row in rows if row.is_found]
    right = [row for row in found if row.is_right]
    shares = (_share(sum(row.is_found for row in allowed), len(allowed)), _share(len(found), len(rows)))
    return (
        f"| {what} | {noise} | {len(rows)} | {len(allowed)} | {' | '.join(shares)} | {_share(len(right), len(found))} |"
    )


def _share(part: int, whole: int) -> str:
    return f"{part} ({part / whole:.0%})" if whole else "-"


def placed(page: str, text: str) -> str:
    """The page with `text` in its section, which is added when it is not there."""
    intro = "Written by `tests/benchmarks/compare_truth.py`, which says how it is measured."
    section = f"{BEGIN}\n\n## Regressions in real traces\n\n{intro}\n\n{text}\n\n{END}"
    if BEGIN in page:
        return re.sub(f"{re.escape(BEGIN)}.*?{re.escape(END)}", lambda _: section, page, flags=re.DOTALL)
    return f"{page.rstrip()}\n\n{section}\n"


if __name__ == "__main__":
    main()
