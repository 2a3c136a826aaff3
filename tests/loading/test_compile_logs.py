"""Logs of torch.compile beside a trace: whose they are, where they lie on its clock, and what is said of those that do not."""

from __future__ import annotations

import pytest

from traceq.importers.compile_log.records import Compilation, CompileLog
from traceq.loading.compile_logs import _TraceOfLogs, place_log

DAY = 1_700_000_000_000_000_000


def log(begin=DAY, process=7, rank=None):
    made = Compilation("0/0", 0, 0, begin_at=begin, dur=100)
    return CompileLog(process=process, rank=rank, first_at=begin, last_at=begin + 100, compilations=[made])


def trace(origin=DAY, pids=(7,), rank=None):
    return _TraceOfLogs(origin, 0, 1000, frozenset(pids), rank)


@pytest.mark.parametrize(
    ("said", "of", "offset", "is_only", "add"),
    [
        # its process tells, at whatever time: what was compiled before the capture is of this run, too
        (log(), trace(), None, False, -DAY),
        (log(DAY - 10**12), trace(), None, False, -DAY),
        (log(), trace(), 2.0, True, 2_000_000_000 - DAY),
        # a container counts processes anew
        (log(process=1), trace(), None, True, -DAY),
        (log(process=1), trace(), None, False, None),
        (log(DAY + 10**12, process=1), trace(), None, True, None),
        (log(process=1, rank=3), trace(rank=3), None, False, -DAY),
        (log(process=1, rank=3), trace(rank=2), None, True, None),
        # on another machine a process may have its number
        (log(process=7, rank=3), trace(rank=2), None, False, None),
        (log(), trace(origin=None), None, True, None),
        (log(), trace(origin=None), 0.0, True, 0),
        (CompileLog(process=7), trace(), None, True, None),
    ],
)
def test_where_a_log_lies(said, of, offset, is_only, add):
    placed = place_log(said, of, offset, is_only=is_only)
    assert placed.add == add
    assert placed.words
