from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from golden import Golden

# Whoever starts the tests in the background (nohup, a shell's &) has these ignored, and ignored signals are inherited by
# the processes that tests start and stop.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true", help="rewrite golden files with what tests get")


@pytest.fixture
def golden(request):
    """Compares a text with the file of the given name in the folder `golden` beside the test."""
    return Golden(request.path.parent / "golden", update=request.config.getoption("--update-golden"))
