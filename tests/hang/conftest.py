"""What tests of hangs share: judging dumps that are dicts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from traceq.cli import main
from traceq.diagnosis.hang.judge import find_hang
from traceq.diagnosis.hang.model import Hang
from traceq.loading.dumps import open_dumps

Judge = Callable[[Mapping[int, Mapping[str, Any]]], Hang]


@pytest.fixture(scope="session")
def judge(tmp_path_factory) -> Judge:
    """Return a function that judges dumps by rank, each a dict as JSON has it."""

    def judge_dumps(dumps: Mapping[int, Mapping[str, Any]], world_size: int | None = None) -> Hang:
        folder = tmp_path_factory.mktemp("dumps")
        for rank, dump in dumps.items():
            (folder / f"fr_trace_{rank}.json").write_text(json.dumps(dump))
        with open_dumps([folder], world_size) as connection:
            return find_hang(connection)

    return judge_dumps


@pytest.fixture(scope="session")
def hangs() -> Path:
    """Return the folder of real dumps."""
    return Path(__file__).parents[2] / "fixtures" / "hangs"


@pytest.fixture
def run_traceq():
    """Return a function that runs the command line with these words, 100 columns wide, and returns its outcome."""

    def run(*words: object):
        return CliRunner(env={"COLUMNS": "100"}).invoke(main, [str(word) for word in words], prog_name="traceq")

    return run
