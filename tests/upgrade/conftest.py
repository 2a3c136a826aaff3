from __future__ import annotations

import pytest
from release_0_1 import unpacked


@pytest.fixture
def old(tmp_path):
    """The trace database that traceq 0.1 made of TRACES."""
    path = tmp_path / "db" / "run.duckdb"
    path.parent.mkdir()
    path.write_bytes(unpacked("run.duckdb"))
    return path
