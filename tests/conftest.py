from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from golden import Golden


def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true", help="rewrite golden files with what tests get")


@pytest.fixture
def golden(request):
    """Compares a text with the file of the given name in the folder `golden` beside the test."""
    return Golden(request.path.parent / "golden", update=request.config.getoption("--update-golden"))
