from __future__ import annotations

import sys
from pathlib import Path

# random_slices.py, simulated_job.py
sys.path += [str(Path(__file__).resolve().parents[1] / folder) for folder in ("simulation", "analysis")]
