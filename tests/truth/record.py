"""How often each rule was right on labelled real traces: writes traceq/diagnosis/rules/record.json.

    python tests/truth/record.py [--jobs N] [--merge]

judges all labelled traces beside the checkout, which takes some ten minutes; with --merge none, only what was said blind (the
files of blind) and pairs measured is put into the record that there is. Each finding counts once, with its trace, the
program of the trace (programs.json: all versions and ranks of a program are one) and its verdict (traceq/diagnosis/grading).
Rules of the pack extra are asked, too: a true finding here makes a rule one that is asked by default.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from labelled import real
from pairs import measurements
from pairs.catalogue import PAIRS
from pairs.planted import load_measured

from traceq.diagnosis.grading.grade import GradedResult

BLIND = Path(__file__).with_name("blind")
RECORD = Path(__file__).resolve().parents[2] / "traceq" / "diagnosis" / "rules" / "record.json"


Rows = dict[str, list[dict[str, Any]]]


def collect_rows(results: Iterable[GradedResult]) -> Rows:
    """Return by rule what it said of each trace."""
    said: Rows = defaultdict(list)
    for result in results:
        name = result.truth.name
        for each in (*result.said, *result.extra):
            said[each.rule].append(
                {
                    "trace": name,
                    "program": real.program_of(name),
                    "verdict": each.verdict,
                    "share": each.share,
                    "step_ns": each.step_ns,
                }
            )
    return {rule: sorted(found, key=lambda each: each["trace"]) for rule, found in sorted(said.items())}


def blind_rows(folder: Path = BLIND) -> Rows:
    """Return by rule what it said blind, batch by batch, as the record has it."""
    said: Rows = defaultdict(list)
    for path in sorted(folder.glob("*.json")):
        for rule, found in json.loads(path.read_text("utf-8"))["rules"].items():
            for each in found:
                entry = {key: each[key] for key in ("trace", "program", "verdict", "share", "step_ns")}
                said[rule].append({**entry, "program": real.program_of(each["trace"]), "blind": path.stem})
    return said


def merge_rows(said: Rows, blind: Rows) -> Rows:
    """Return both; what a rule said blind of a trace stands for whatever it says of it later."""
    found: Rows = {}
    for rule in sorted({*said, *blind}):
        of_blind = blind.get(rule, [])
        taken = {each["trace"] for each in of_blind}
        others = [each for each in said.get(rule, []) if "blind" not in each and each["trace"] not in taken]
        if both := sorted([*others, *of_blind], key=lambda each: each["trace"]):
            found[rule] = both
    return found


def pair_rows() -> dict[str, list[dict[str, str]]]:
    """Return by rule the pairs in which it named the flaw: right if what the fix won lies within what was predicted, else partly.

    Pairs whose rules were chosen after a report of them had been seen are left out. A planted program counts by the rule that
    named its flaw in most recordings.
    """
    said: dict[str, list[dict[str, str]]] = defaultdict(list)
    of_pairs = measurements.load()["pairs"]
    for pair in PAIRS:
        each = of_pairs.get(pair.name)
        if each is not None and each["predicted"] is not None and not pair.changed:
            said[each["predicted"]["rule"]].append(_verdict(pair.name, measurements.won(each), [each["predicted"]]))
    for name, measured in load_measured().items():
        named = [each for each in measured["predicted"] if each]
        if 2 * len(named) > len(measured["predicted"]):
            won = [1 - fixed / slow for slow, fixed in zip(measured["slow_ns"], measured["fixed_ns"], strict=True)]
            rule = statistics.mode(each["rule"] for each in named)
            said[rule].append(_verdict(name, won, [each for each in named if each["rule"] == rule]))
    return dict(sorted(said.items()))


def _verdict(program: str, won: Sequence[float], predicted: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    low, high = (statistics.median(each[bound] for each in predicted) for bound in ("low", "high"))
    return {"program": program, "verdict": "right" if low <= statistics.median(won) <= high else "partly"}


def main() -> None:
    """Write the file."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--jobs", type=int, default=1)
    arguments.add_argument("--merge", action="store_true")
    chosen = arguments.parse_args()
    if chosen.merge:
        content = json.loads(RECORD.read_text("utf-8"))
        _write({**content, "rules": merge_rows(content["rules"], blind_rows()), "pairs": pair_rows()})
        return
    missing = [name for name, path in real.labelled() if not path.is_file()]
    if missing:
        sys.exit(f"labelled traces are not beside the checkout: {', '.join(missing)}")
    results = real.compared(
        [each for sample in get_args(real.Sample) for each in real.truths(sample)], chosen.jobs, extra=True
    )
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
    rules = merge_rows(collect_rows(results), blind_rows())
    _write({"commit": commit.stdout.strip(), "rules": rules, "pairs": pair_rows()})


def _write(content: dict[str, Any]) -> None:
    RECORD.write_text(json.dumps(content, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
