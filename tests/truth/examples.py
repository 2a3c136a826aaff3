"""Of rules that real traces trigger, what a report says of one: writes traceq/diagnosis/rules/examples.json.

    python tests/truth/examples.py [--jobs N]

runs over all traces in ../shared/traces and ../shared/judged, which takes some minutes. Rules of the pack extra are asked, too.
"""

from __future__ import annotations

import argparse
import json
import sys
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from traceq.common.units import duration
from traceq.database.connect import connect
from traceq.diagnosis.judge import Judged, judge
from traceq.diagnosis.rules.registry import all_rules
from traceq.errors import TraceqError
from traceq.loading.ingest import ingest
from traceq.reports.savings import saving_share_text, step_ns

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"
EXAMPLES = ROOT / "traceq" / "diagnosis" / "rules" / "examples.json"
_ENDS = (".json", ".json.gz", ".sqlite", ".sqlite.gz", ".pickle")


def list_traces() -> list[Path]:
    """The real traces beside the checkout."""
    found = [path for name in ("traces", "judged") for path in sorted((SHARED / name).rglob("*"))]
    return [path for path in found if path.name.endswith(_ENDS) and "odd" not in path.parts]


def find_triggered(path: Path) -> dict[str, dict[str, str]]:
    """The rules that a trace triggers, with what a report says of it; none where it is no trace that can be judged."""
    with TemporaryDirectory(prefix="traceq.") as folder:
        database = Path(folder) / "real.duckdb"
        try:
            ingest([str(path)], database)
        except TraceqError as error:
            sys.stderr.write(f"{path.name}: {error}\n")
            return {}
        with closing(connect(database)) as connection:
            judgements = judge(connection, rules=all_rules())
            return {rule: said for judged in judgements for rule, said in list_said(judged, path.name).items()}


def list_said(judged: Judged, trace: str) -> dict[str, dict[str, str]]:
    """What is said by each rule with a finding or a remark."""
    found = {each.rule: {"trace": trace, "said": f"{each.title}. {each.deed}."} for each in judged.observations}
    for each in reversed(judged.every_finding):
        saves = f"saves {duration(each.saving_ns)} of {duration(step_ns(each))} ({saving_share_text(each)})"
        found[each.rule] = {"trace": trace, "said": f"{each.title}: {saves}. {each.deed}."}
    return found


def main() -> None:
    """Write the file."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--jobs", type=int, default=1)
    jobs = arguments.parse_args().jobs
    with ProcessPoolExecutor(jobs) as pool:
        found = list(pool.map(find_triggered, list_traces()))
    # The first trace, by name, of which a report says something.
    examples = {rule: said for each in reversed(found) for rule, said in each.items()}
    EXAMPLES.write_text(json.dumps(examples, indent=2, sort_keys=True, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
