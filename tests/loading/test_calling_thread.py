"""Calls that XProf records apart from the thread that makes them go to that thread."""

from __future__ import annotations

from builder import TraceBuilder

THREADS = "select name, t.thread_name from cpu_slice inner join thread as t using (thread_id) where kind = 'runtime' order by ts"


def calls_apart(*, framed):
    """Four launches on a line of their own; with `framed` each lies in a range of the thread python, in another one each time."""
    trace = TraceBuilder()
    for number, name in enumerate(("Host Threads", "waiting", "python")):
        trace.add("thread", thread_id=number, tid=10 + number, thread_name=name)
    trace.cpu("python", "threading.py(10): wait", 0, 10_000, thread=1)
    trace.cpu("python", "train.py(5): step", 0, 9_000, thread=2)
    for number in range(4):
        at = 1_000 + 2_000 * number
        if framed:
            trace.cpu("python", "api.py(12): dispatch", at, 1_000, thread=2)
            trace.annotation("Execute", at + 200, 700, thread=2)
        trace.kernel("fusion", at + 600, 300, launched=(at + 300, 100))
    return trace


def test_they_belong_to_the_thread_with_a_slice_of_its_own_around_each(tmp_path):
    found = calls_apart(framed=True).build(tmp_path)
    assert found.rows(THREADS) == [("cudaLaunchKernel", "python")] * 4
    around = "select distinct p.name from cpu_slice as c inner join cpu_slice as p on p.slice_id = c.parent_id"
    assert found.rows(f"{around} where c.kind = 'runtime'") == [("Execute",)]


def test_a_frame_around_all_of_them_says_nothing(tmp_path):
    assert calls_apart(framed=False).build(tmp_path).rows(THREADS) == [("cudaLaunchKernel", "Host Threads")] * 4
