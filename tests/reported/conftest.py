from __future__ import annotations

import sys
from pathlib import Path

# The files of all formats are made by the tests of their importers.
sys.path.append(str(Path(__file__).resolve().parents[1] / "importers"))
