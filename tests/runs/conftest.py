from __future__ import annotations

import sys
from pathlib import Path

# random_slices.py
sys.path.append(str(Path(__file__).resolve().parents[1] / "simulation"))
