"""What traceq 0.1 made of two of the fixtures; see fixtures/make/release_0_1.py."""

from __future__ import annotations

import gzip
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TRACES = [ROOT / "fixtures" / "run" / name for name in ("kineto_2026.json.gz", "nsys_2026.2.sqlite")]


def unpacked(name: str) -> bytes:
    """The content of a file that traceq 0.1 wrote."""
    return gzip.decompress((ROOT / "fixtures" / "release_0_1" / f"{name}.gz").read_bytes())
