"""The traces of a small job."""

from __future__ import annotations

import pytest
from made_job import RANKS, rank_trace


@pytest.fixture(scope="session")
def job_traces(shared_file):
    """A folder with the traces of four ranks, of which rank 2 is late, and of the same ranks ten minutes later, none late."""

    def make(folder):
        for window, (late, begins) in enumerate((({2: 300}, 10**18), ({}, 10**18 + 600 * 10**9))):
            for rank in range(RANKS):
                path = folder / f"window{window}" / f"rank{rank}.json"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(rank_trace(rank, late, begins))

    return shared_file("job_traces", make)


@pytest.fixture(scope="session")
def many_traces(shared_file):
    """A folder with the traces of six ranks, of which rank 2 is late."""

    def make(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for rank in range(6):
            (folder / f"rank{rank}.json").write_text(rank_trace(rank, {2: 300}, 10**18, ranks=6))

    return shared_file("many_traces", make)
