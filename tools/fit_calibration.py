"""Fit the shares of rules to docs/calibration.jsonl: writes what follows from these predictions that were checked.

    python tools/fit_calibration.py

writes traceq/diagnosis/rules/calibrated.json, which rules use, and the section of docs/accuracy.md.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import asdict

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from traceq.common.files import atomic_write
from traceq.diagnosis.calibrated import PLACE
from traceq.diagnosis.rules.registry import RULES
from traceq.reports.calibration import calibration_section
from traceq.runs.verify.accuracy import group_by_hardware, group_by_rule, measure_accuracy
from traceq.runs.verify.calibration import Calibrated, read
from traceq.runs.verify.shares import ShareFit, fit_all

ROOT = Path(__file__).resolve().parents[1]
CALIBRATION, PAGE = "docs/calibration.jsonl", "docs/accuracy.md"
BEGIN, END = "<!-- calibration: begin -->", "<!-- calibration: end -->"


def fit_texts(checkout: Path) -> dict[str, str]:
    """Return the new texts of the files that follow from the checkout's checked predictions, by path in the checkout."""
    lines = list(read(checkout / CALIBRATION))
    before, _, rest = (checkout / PAGE).read_text("utf-8").partition(BEGIN)
    section = "\n".join(calibration_section(lines))
    return {
        f"traceq/{PLACE}": json.dumps(numbers_by_rule(lines), indent=1) + "\n",
        PAGE: f"{before}{BEGIN}\n\n{section}\n{END}{rest.partition(END)[2]}",
    }


def numbers_by_rule(lines: Sequence[Calibrated]) -> dict[str, dict[str, dict[str, Any]]]:
    """Return, by rule and hardware, the accuracy of the rule's predictions, and the shares to use instead of the assumed ones."""
    fitted = fit_all(lines)
    return {
        rule: {
            kind: _numbers(group, fitted.get(rule, {}).get(kind))
            for kind, group in group_by_hardware(of_rule).items()
            if kind
        }
        for rule, of_rule in group_by_rule(lines).items()
        if rule.replace("-", "_") in RULES
    }


def _numbers(lines: Sequence[Calibrated], made: ShareFit | None) -> dict[str, Any]:
    """Return the accuracy of the lines' predictions, and the fitted shares if the rule is to use them, as plain data for JSON."""
    checked = {
        name: round(value, 3) if isinstance(value, float) else value
        for name, value in asdict(measure_accuracy(lines)).items()
    }
    if made is None or made.taken is None:
        return {"checked": checked}
    return {"checked": checked, "programs": made.programs, "shares": made.taken._asdict()}


def main(checkout: Path = ROOT) -> None:
    """Write the files that follow from the checked predictions into the checkout, and print their names."""
    for name, text in fit_texts(checkout).items():
        with atomic_write(checkout / name) as file:
            file.write(text.encode())
        print(f"{name}: written")


if __name__ == "__main__":
    main()
