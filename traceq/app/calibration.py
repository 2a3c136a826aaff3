"""Files of checked predictions: the page about one, and what this project's says of the rules."""

from __future__ import annotations

import json
from pathlib import Path

from traceq.common.files import atomic_write
from traceq.diagnosis.calibrated import PLACE
from traceq.errors import NoTraces
from traceq.reports.calibration import calibration_section
from traceq.runs.verify.calibration import read
from traceq.runs.verify.shares import kept

CALIBRATION = "docs/calibration.jsonl"
PAGE = "docs/accuracy.md"
BEGIN, END = "<!-- calibration: begin -->", "<!-- calibration: end -->"


def calibration_page(path: Path) -> str:
    """How right the predictions in the file were, in Markdown."""
    return "\n".join(calibration_section(list(read(path))))


def fitted(checkout: Path) -> dict[str, str]:
    """What the files of the checkout that follow from its predictions are to hold, by path. Raises NoTraces for no checkout."""
    if not (checkout / PAGE).is_file():
        raise NoTraces(f"{checkout.resolve()}: no checkout of traceq: it has no {PAGE}; name one with --checkout")
    before, _, rest = (checkout / PAGE).read_text("utf-8").partition(BEGIN)
    section = f"{BEGIN}\n\n{calibration_page(checkout / CALIBRATION)}\n{END}"
    return {
        f"traceq/{PLACE}": json.dumps(kept(list(read(checkout / CALIBRATION))), indent=1) + "\n",
        PAGE: f"{before}{section}{rest.partition(END)[2]}",
    }


def write_fit(checkout: Path) -> list[Path]:
    """Write them; where."""
    written = []
    for name, text in fitted(checkout).items():
        with atomic_write(checkout / name) as file:
            file.write(text.encode())
        written.append(checkout / name)
    return written
