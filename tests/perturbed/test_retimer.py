"""The model of time by which raw traces are changed, on small programs whose times can be worked out by hand (us)."""

from __future__ import annotations

import pytest
from edit_chrome import Trace
from edit_nsys import Export
from perturbations import SHARED
from retimer import Clock, Insert, Retimed, Wait, Work, explain, retime_work

US = 1000
P = "process"

REAL = (
    "judged/torch/dlrm/worker0_step_12.1694128201545.pt.trace.json.gz",
    "traces/torch/megatron_tp8_rank0.json.gz",
    "traces/nsys/testcuda_4streams_report1.sqlite",
    "traces/nsys/nsysai_mfu_2gpu_before.sqlite",
)


def make_kernel(launch: int, start: int, end: int, stream: int = 7, process: object = P) -> Work:
    return Work(process, stream, start * US, end * US, launch * US, (launch + 5) * US, "main")


def run(works: list[Work], inserts: list[Insert], waits: list[Wait] | None = None) -> Retimed:
    explain(works, [])
    return retime_work(works, waits or [], inserts)


def list_spans(new: Retimed) -> list[tuple[int, int]]:
    return [(start // US, end // US) for start, end in zip(new.starts, new.ends, strict=True)]


def test_a_delay_that_the_queue_hides_moves_nothing_on_the_gpu():
    works = [make_kernel(0, 10, 100), make_kernel(20, 101, 200)]
    assert list_spans(run(works, [Insert(P, 15 * US, 50 * US)])) == [(10, 100), (101, 200)]


def test_a_delay_longer_than_the_queue_lets_the_gpu_wait_for_the_launch():
    works = [make_kernel(0, 10, 100), make_kernel(20, 101, 200)]
    # launched at 20 + 300, and 10 us from launch to start, as the first shows
    assert list_spans(run(works, [Insert(P, 15 * US, 300 * US)])) == [(10, 100), (330, 429)]


def test_an_inserted_synchronization_ends_after_the_gpu_and_moves_what_is_launched_later():
    works = [make_kernel(0, 10, 100), make_kernel(20, 101, 200)]
    insert = Insert(P, 15 * US, None)
    new = run(works, [insert])
    assert insert.new == (15 * US, 110 * US)
    assert list_spans(new) == [(10, 100), (125, 224)]


def test_a_wait_ends_earlier_when_the_host_comes_to_it_later():
    works = [make_kernel(0, 10, 500)]
    wait = Wait(P, 50 * US, 505 * US, (0,), 2 * US, 5 * US)
    new = run(works, [Insert(P, 20 * US, 100 * US)], [wait])
    clock = new.clocks[P]
    assert (clock.start(50 * US), clock.end(505 * US), clock.start(600 * US)) == (150 * US, 505 * US, 600 * US)


def test_slower_gpu_work_holds_the_host_that_waits_for_it():
    works = [make_kernel(0, 10, 100), make_kernel(120, 130, 140)]
    works[0].factor = 3
    wait = Wait(P, 20 * US, 105 * US, (0,), 2 * US, 5 * US)
    new = run(works, [], [wait])
    assert new.clocks[P].end(105 * US) == (10 + 270 + 5) * US
    assert list_spans(new)[1] == (130 + 180, 140 + 180)


def test_work_that_waited_for_another_stream_waits_for_it_again():
    collective, after = make_kernel(0, 10, 300, stream=20), make_kernel(10, 302, 400)
    collective.factor = 2
    assert list_spans(run([collective, after], [])) == [(10, 590), (592, 690)]


def test_a_collective_ends_for_all_ranks_when_the_last_one_has_come():
    first, second = make_kernel(0, 10, 100, process="a"), make_kernel(0, 10, 100, process="b")
    first.collective = second.collective = 1
    assert list_spans(run([first, second], [Insert("a", -1, 50 * US)])) == [(60, 150), (10, 150)]


def test_what_ends_where_something_is_inserted_ends_before_it():
    clock = Clock()
    clock.add(10, 10, 30)
    assert (clock.end(10), clock.start(10), clock.end(5), clock.start(15)) == (10, 30, 5, 35)


def test_nothing_can_be_inserted_into_a_wait():
    works = [make_kernel(0, 10, 500)]
    with pytest.raises(ValueError, match="inserted into it"):
        run(works, [Insert(P, 60 * US, US)], [Wait(P, 50 * US, 505 * US, (0,), 2 * US, 5 * US)])


@pytest.mark.parametrize("name", REAL)
def test_an_unchanged_trace_keeps_all_its_times(name, tmp_path):
    path = SHARED / name
    if not path.exists():
        pytest.skip("the folder shared is not beside the checkout")
    raw = Export(path, tmp_path / "copy.sqlite") if path.suffix == ".sqlite" else Trace(path)
    new = retime_work(raw.works, raw.waits, [])
    assert [(work.start, work.end) for work in raw.works] == list(zip(new.starts, new.ends, strict=True))
    assert not any(clock.old for clock in new.clocks.values())
