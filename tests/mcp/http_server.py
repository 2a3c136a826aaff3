"""Starts `traceq mcp --http` for tests."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]


@contextmanager
def serve_over_http(*options, folder=None, **variables):
    """Yield the address of a server in a process of its own, which is ended afterwards."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    command = [sys.executable, "-m", "traceq", "mcp", "--http", *options]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env=environment, cwd=folder
    ) as server:
        try:
            yield server.stdout.readline().strip()
        finally:
            server.terminate()
