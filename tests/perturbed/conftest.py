"""How perturbed traces are judged stands among the benchmarks."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "benchmarks")]
