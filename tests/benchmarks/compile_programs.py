"""What taking a graph break, a recompilation or a cold cache away wins, and what a report predicts: fixtures/make/compiled.

    python tests/benchmarks/compile_programs.py [--only REGEX] [--times 3] [--write]

Each program is profiled once with its log of torch.compile, and its report read; then it runs slow and fixed in turns without
either. Each run has a folder of the compiler of its own, with the headers that it compiles once, and without graphs; the fixed
cold_cache has that of an earlier run. `--write` keeps what was measured in fixtures/compile_logs/measured.json, and the table of
docs/compile.md.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from pairs.compiled import (
    MEASURED,
    PROGRAMS,
    Compiled,
    Measured,
    drop_graphs,
    load_measured,
    predict,
    record_program,
    run_program,
)
from pairs.compiled_page import describe_pair, write_page


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="REGEX", help="programs whose names match")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    results = load_measured() if MEASURED.is_file() else {}
    with tempfile.TemporaryDirectory() as folder:
        shared = Path(folder) / "shared"
        run_program("named_schedule", "fixed", shared)
        drop_graphs(shared)
        for compiled in PROGRAMS:
            if not re.search(options.only, compiled.program):
                continue
            results[compiled.program] = measured = measure(compiled, shared, Path(folder), options.times)
            print(describe_pair(compiled.program, measured), flush=True)
            if options.write:
                MEASURED.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    if options.write:
        write_page(results)


def measure(compiled: Compiled, shared: Path, folder: Path, times: int) -> Measured:
    """Record the program, and run it slow and fixed in turns."""
    number = 0

    def new_cache() -> Path:
        nonlocal number
        number += 1
        return Path(shutil.copytree(shared, folder / f"{compiled.program}-{number}"))

    trace, log = record_program(compiled.program, new_cache(), new_cache())
    predicted, names = predict(compiled, trace, log)
    filled = new_cache()
    if compiled.rule == "host-compilation":
        run_program(compiled.program, "fixed", filled)
    measured: Measured = {"slow_ns": [], "fixed_ns": [], "predicted": predicted, "names": names}
    for _ in range(times):
        measured["slow_ns"].append(round(statistics.mean(run_program(compiled.program, "slow", new_cache()))))
        cache = filled if compiled.rule == "host-compilation" else new_cache()
        measured["fixed_ns"].append(round(statistics.mean(run_program(compiled.program, "fixed", cache))))
    return measured


if __name__ == "__main__":
    main()
