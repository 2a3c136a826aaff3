"""Which rules real traces have triggered: writes traceq/diagnosis/rules/proven.json, how many traces for each rule.

    python tests/truth/proven.py [--jobs N]

runs over all traces in ../shared/traces and ../shared/judged, which takes some minutes. A rule counts with a finding, as a part
of one, or with a remark.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from traceq.database.connect import connect
from traceq.diagnosis.judge import Judged, judge
from traceq.errors import TraceqError
from traceq.loading.ingest import ingest

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"
PROVEN = ROOT / "traceq" / "diagnosis" / "rules" / "proven.json"
_ENDS = (".json", ".json.gz", ".sqlite", ".sqlite.gz")


def traces() -> list[Path]:
    """The real traces beside the checkout."""
    found = [path for name in ("traces", "judged") for path in sorted((SHARED / name).rglob("*"))]
    return [path for path in found if path.name.endswith(_ENDS) and "odd" not in path.parts]


def triggered(path: Path) -> set[str]:
    """The rules that a trace triggers; none where it is no trace that can be judged."""
    with TemporaryDirectory(prefix="traceq.") as folder:
        database = Path(folder) / "real.duckdb"
        try:
            ingest([str(path)], database)
        except TraceqError as error:
            sys.stderr.write(f"{path.name}: {error}\n")
            return set()
        with closing(connect(database)) as connection:
            return {rule for judged in judge(connection) for rule in of(judged)}


def of(judged: Judged) -> set[str]:
    """The rules with a finding, a part of one or a remark."""
    parts = {part.rule for finding in judged.findings for part in finding.parts}
    return parts | {each.rule for each in (*judged.findings, *judged.observations)}


def main() -> None:
    """Write the file."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--jobs", type=int, default=1)
    jobs = arguments.parse_args().jobs
    counted: Counter[str] = Counter()
    with ProcessPoolExecutor(jobs) as pool:
        for path, rules in zip(traces(), pool.map(triggered, traces()), strict=True):
            sys.stdout.write(f"{path.relative_to(SHARED)} {' '.join(sorted(rules))}\n")
            counted.update(rules)
    PROVEN.write_text(json.dumps(dict(sorted(counted.items())), indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
