"""What leaving out a planted flaw wins, and what traceq predicts of it from a recording: fixtures/make/programs.

    python tests/benchmarks/planted_programs.py [--only REGEX] [--times 5] [--write]

Programs run with the flaw and without in turns; each turn also records the program with the flaw as a user does, with
`traceq record`. `--write` keeps what was measured in fixtures/programs/measured.json, from which tests/truth/record.py --merge
takes it.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import re
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from pairs.measurements import Predicted
from pairs.planted import (
    MEASURED,
    PLANTED,
    Measured,
    Planted,
    find_named,
    load_measured,
    record_program,
    run_program,
)

import traceq

STEPS = 30


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="REGEX", help="programs whose names match")
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    results = load_measured() if MEASURED.is_file() else {}
    for planted in PLANTED:
        if not re.search(options.only, planted.name) or (planted.needs and not importlib.util.find_spec(planted.needs)):
            continue
        results[planted.name] = measured = measure(planted, options.times)
        print(describe(planted, measured), flush=True)
        if options.write:
            MEASURED.parent.mkdir(exist_ok=True)
            MEASURED.write_text(json.dumps(results, indent=1) + "\n", "utf-8")


def measure(planted: Planted, times: int) -> Measured:
    """Run and record the program in turns."""
    measured: Measured = {"slow_ns": [], "fixed_ns": [], "predicted": []}
    for _ in range(times):
        measured["slow_ns"].append(run_program(planted, is_fixed=False, steps=STEPS))
        measured["fixed_ns"].append(run_program(planted, is_fixed=True, steps=STEPS))
        measured["predicted"].append(predict(planted))
    return measured


def predict(planted: Planted) -> Predicted | None:
    """Return what a recording's finding on the flaw says, None where no finding names it."""
    with tempfile.TemporaryDirectory() as folder:
        database = record_program(planted.program, Path(folder) / "out")
        with traceq.open(database) as traces:
            (trace,) = traces.report(rules=["extra"]).content.traces
            named = find_named(planted, list(trace.every_finding))
            if named is None:
                return None
            ((step_ns,),) = traces.sql("select avg(dur) from step where excluded is null").fetchall()
    low, likely, high = (
        float(saving or 0) / step_ns for saving in (named.saving_low_ns, named.saving_ns, named.saving_high_ns)
    )
    return {"rule": named.rule, "low": low, "likely": likely, "high": high}


def describe(planted: Planted, measured: Measured) -> str:
    """Return a line on what was won, and what was predicted."""
    won = [1 - fixed / slow for slow, fixed in zip(measured["slow_ns"], measured["fixed_ns"], strict=True)]
    said = [each for each in measured["predicted"] if each]
    likely = [each["likely"] for each in said]
    slow, fixed = (statistics.median(measured[side]) / 1e6 for side in ("slow_ns", "fixed_ns"))
    predicted = f"{statistics.median(likely):.0%} ({min(likely):.0%} to {max(likely):.0%})" if likely else "nothing"
    rules = ", ".join(sorted({each["rule"] for each in said}))
    return (
        f"{planted.name}: {slow:.2f} -> {fixed:.2f} ms, won {statistics.median(won):.0%} ({min(won):.0%} to {max(won):.0%});"
        f" named in {len(said)} of {len(measured['predicted'])} recordings {rules}, predicted {predicted}"
    )


if __name__ == "__main__":
    main()
