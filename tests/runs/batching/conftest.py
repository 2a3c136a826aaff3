from __future__ import annotations

import sys
from pathlib import Path

# the simulated server
sys.path.append(str(Path(__file__).resolve().parents[3] / "fixtures" / "make"))
