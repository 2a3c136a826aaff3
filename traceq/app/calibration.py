"""Files of checked predictions: the page about one, and the shares of rules that this project's supports."""

from __future__ import annotations

import json
from pathlib import Path

from traceq.common.files import atomic_write
from traceq.diagnosis.calibrated import PLACE
from traceq.reports.calibration import calibration_section
from traceq.runs.verify.calibration import read
from traceq.runs.verify.shares import kept

CALIBRATION = "docs/calibration.jsonl"


def calibration_page(path: Path) -> str:
    """How right the predictions in the file were, in Markdown."""
    return "\n".join(calibration_section(list(read(path))))


def fitted(checkout: Path) -> str:
    """What traceq/diagnosis/rules/calibrated.json of the checkout is to hold."""
    return json.dumps(kept(list(read(checkout / CALIBRATION))), indent=1) + "\n"


def write_fit(checkout: Path) -> Path:
    """Write it; where."""
    path = checkout / "traceq" / PLACE
    with atomic_write(path) as file:
        file.write(fitted(checkout).encode())
    return path
