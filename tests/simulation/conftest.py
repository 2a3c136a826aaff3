from __future__ import annotations

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "fixtures" / "make")]

# What the simulator knows nothing of.
UNASKED = {"kernels", "shapes", "samples", "calls", "unified_memory"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """What is tested in both formats is tested in one of them by default, in turn."""
    named = {}
    for item in items:
        given = dict(item.callspec.params) if item.path.is_relative_to(HERE) and hasattr(item, "callspec") else {}
        if trace_format := given.pop("trace_format", None):
            turn = named.setdefault((item.function, *given.values()), len(named))
            if trace_format == ("nsys", "kineto")[turn % 2]:
                item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def ingested(shared_file, tmp_path_factory):
    """ingested(scene, format, rank): the database of the trace that a rank of a scene leaves."""
    from simulator import SCENES, simulate, write_kineto, write_nsys

    from traceq.analysis import order
    from traceq.loading.ingest import ingest

    topics = tuple(topic for topic in order.TOPICS if topic.needs not in UNASKED)
    writers = {"nsys": (write_nsys, "sqlite"), "kineto": (write_kineto, "json")}
    folder = tmp_path_factory.mktemp("scenes")

    def database(scene, trace_format, rank=0):
        write, suffix = writers[trace_format]

        def make(target):
            path = folder / f"{scene}.{rank}.{suffix}"
            write(simulate(SCENES[scene]()), path, rank)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(order, "TOPICS", topics)
                ingest([path], target)

        return shared_file(f"{scene}.{rank}.{suffix}.duckdb", make)

    return database
