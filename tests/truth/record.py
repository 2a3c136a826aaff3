"""How often each rule was right on labelled real traces: writes traceq/diagnosis/rules/record.json.

    python tests/truth/record.py [--jobs N]

judges all labelled traces beside the checkout, which takes some ten minutes. Each finding counts once, with its trace, the
program of the trace (programs.json: all versions and ranks of a program are one) and its verdict (traceq/diagnosis/grading).
Rules of the pack extra are asked, too: a true finding here makes a rule one that is asked by default.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from labelled import real

from traceq.diagnosis.grading.grade import Result

RECORD = Path(__file__).resolve().parents[2] / "traceq" / "diagnosis" / "rules" / "record.json"


def rows(results: Iterable[Result]) -> dict[str, list[dict[str, Any]]]:
    """Return by rule what it said of each trace."""
    said: dict[str, list[dict[str, Any]]] = defaultdict(list)
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


def main() -> None:
    """Write the file."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--jobs", type=int, default=1)
    jobs = arguments.parse_args().jobs
    missing = [name for name, path in real.labelled() if not path.is_file()]
    if missing:
        sys.exit(f"labelled traces are not beside the checkout: {', '.join(missing)}")
    results = real.compared([*real.truths("known"), *real.truths("judged3")], jobs, extra=True)
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
    content = {"commit": commit.stdout.strip(), "rules": rows(results)}
    RECORD.write_text(json.dumps(content, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
