"""Make what writes files of ROCm and JAX known to the tests of this folder."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "importers"))
