"""Draws the pictures of the documentation: the page of the demo trace, as Chromium shows it.

python docs/pictures/make.py [CHROMIUM]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
SIZE = "1240,1180"


def main(chromium: str) -> None:
    """Write report.png beside this file."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        command = [sys.executable, "-m", "traceq"]
        database = str(Path(folder) / "demo.duckdb")
        subprocess.run([*command, "demo", "-o", database], check=True, capture_output=True)
        subprocess.run([*command, "report", database, "-o", str(page)], check=True)
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--window-size={SIZE}"]
        target = f"--screenshot={HERE / 'report.png'}"
        subprocess.run([chromium, *options, target, page.as_uri()], check=True, capture_output=True)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "chromium")
