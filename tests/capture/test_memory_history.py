"""The memory history beside a trace. There is no GPU here: torch.cuda.memory is a stand-in that writes what PyTorch would."""

from __future__ import annotations

import pickle
from types import SimpleNamespace

import pytest

from traceq.capture.memory_history import MemoryHistory, find_snapshot


class Memory:
    """A stand-in of torch.cuda.memory that notes what it is asked for."""

    def __init__(self, fails=False):
        self.asked, self.fails = [], fails

    def _record_memory_history(self, enabled="all", **options):
        self.asked.append((enabled, options))

    def _dump_snapshot(self, path):
        with open(path, "wb") as file:  # noqa: PTH123 - as PyTorch does
            pickle.dump({"segments": []}, file)
        if self.fails:
            raise RuntimeError("no memory")


def make_torch(memory, *, available=True, initialized=True, enabled=False):
    cuda = SimpleNamespace(is_available=lambda: available, is_initialized=lambda: initialized, memory=memory)
    return SimpleNamespace(cuda=cuda, _C=SimpleNamespace(_cuda_isHistoryEnabled=lambda: enabled))


def test_the_history_of_the_window_lies_beside_the_trace(tmp_path):
    memory, trace = Memory(), tmp_path / "job.rank1.pt.trace.json.gz"
    history = MemoryHistory(make_torch(memory))
    assert history.begin_history() is None
    history.end_history(trace)
    history.end_history(trace)
    assert memory.asked == [("all", {"max_entries": 1_000_000, "stacks": "python"}), (None, {})]
    assert [path.name for path in tmp_path.iterdir()] == ["job.rank1.memory.pickle"]
    assert find_snapshot(trace) == tmp_path / "job.rank1.memory.pickle"


def test_without_a_trace_nothing_is_written(tmp_path):
    memory = Memory()
    history = MemoryHistory(make_torch(memory))
    history.begin_history()
    history.end_history(None)
    assert memory.asked[-1] == (None, {})
    assert find_snapshot(tmp_path / "job.rank1.pt.trace.json.gz") is None


@pytest.mark.parametrize(
    ("state", "why"),
    [
        ({"available": False}, "the program uses no GPU through torch.cuda"),
        ({"initialized": False}, "the program uses no GPU through torch.cuda"),
        ({"enabled": True}, "the program records its own, which is left alone"),
    ],
)
def test_where_there_is_none_one_line_says_why_and_torch_is_left_alone(tmp_path, state, why):
    memory = Memory()
    history = MemoryHistory(make_torch(memory, **state))
    assert history.begin_history() == f"no memory history: {why}"
    history.end_history(tmp_path / "job.json")
    assert memory.asked == []
    assert list(tmp_path.iterdir()) == []


def test_a_snapshot_that_fails_leaves_no_file_and_ends_the_history(tmp_path):
    memory = Memory(fails=True)
    history = MemoryHistory(make_torch(memory))
    history.begin_history()
    with pytest.raises(RuntimeError, match="no memory"):
        history.end_history(tmp_path / "job.json")
    assert memory.asked[-1] == (None, {})
    assert list(tmp_path.iterdir()) == []
