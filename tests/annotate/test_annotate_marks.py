from __future__ import annotations

import asyncio
import contextlib
import inspect
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest

from traceq import annotate
from traceq.annotate import emit, marks, to_nvtx


def test_marks_nest(tool):
    with annotate.step(3, samples=2), annotate.phase("forward"):
        annotate.payload(tokens=9)
    assert tool.calls == [
        "push traceq.step#3",
        "mark traceq.payload#samples=2",
        "push traceq.phase#forward",
        "mark traceq.payload#tokens=9",
        "pop traceq.phase#forward",
        "pop traceq.step#3",
    ]


def test_a_mark_ends_where_its_body_raises(tool):
    with pytest.raises(KeyboardInterrupt), annotate.step(0), annotate.phase("forward"):
        raise KeyboardInterrupt
    assert tool.calls[2:] == ["pop traceq.phase#forward", "pop traceq.step#0"]


def test_a_wrong_payload_opens_no_step(tool):
    with pytest.raises(TypeError), annotate.step(0, samples="many"):
        pass
    assert tool.calls == []


def test_steps_count_by_themselves(tool, monkeypatch):
    monkeypatch.setattr(marks, "_numbers", iter(range(9)))
    for _ in range(2):
        with annotate.step():
            pass
    step = annotate.step()
    with step, step:
        pass
    assert tool.calls[::2] == ["push traceq.step#0", "push traceq.step#1", "push traceq.step#2", "pop traceq.step#3"]


def test_the_number_of_a_step_may_be_numpys(tool):
    with annotate.step(np.int64(5)):
        pass
    assert tool.calls[0] == "push traceq.step#5"


def test_a_mark_can_be_used_again_and_within_itself(tool):
    phase = annotate.phase("again")
    with phase, phase:
        pass
    with phase:
        pass
    assert [call.split()[0] for call in tool.calls] == ["push", "push", "pop", "pop", "push", "pop"]


def test_a_marked_function_is_the_function(tool):
    @annotate.phase("forward")
    def double(x: int, *, by: int = 2) -> int:
        """Multiply."""
        return x * by

    assert (double(3), double.__name__, double.__doc__) == (6, "double", "Multiply.")
    assert inspect.signature(double) == inspect.signature(double.__wrapped__)
    assert tool.calls == ["push traceq.phase#forward", "pop traceq.phase#forward"]


def test_a_marked_method_that_raises(tool):
    class Net:
        @annotate.phase("forward")
        def forward(self):
            raise ValueError

    with pytest.raises(ValueError, match=r"^$"):
        Net().forward()
    assert tool.calls == ["push traceq.phase#forward", "pop traceq.phase#forward"]


def test_a_marked_generator_is_marked_while_it_runs_and_not_while_its_consumer_does(tool):
    @annotate.phase("data")
    def batches():
        """Two of them."""
        got = yield 1
        return (yield got)

    body = batches()
    assert inspect.isgenerator(body)
    with annotate.phase("train"):
        assert (next(body), body.send(7)) == (1, 7)
    with pytest.raises(StopIteration) as stop:
        body.send(9)
    assert stop.value.value == 9
    data = ["push traceq.phase#data", "pop traceq.phase#data"]
    assert tool.calls == ["push traceq.phase#train", *data, *data, "pop traceq.phase#train", *data]


def test_what_is_thrown_into_a_marked_generator_reaches_it(tool):
    seen = []

    @annotate.phase("data")
    def body():
        try:
            yield 1
        except KeyError as error:
            seen.append(error)
            yield 2
        finally:
            seen.append("closed")

    generator = body()
    next(generator)
    error = KeyError()
    assert generator.throw(error) == 2
    generator.close()
    assert seen == [error, "closed"]
    assert tool.left_open() == []


def list_numbers(label):
    with annotate.phase(label):
        yield 1
        yield 2


def test_with_around_yield_does_not_cross_what_the_consumer_marks(tool):
    body = list_numbers("producer")
    with annotate.phase("first"):
        next(body)
    with annotate.phase("second"):
        assert list(body) == [2]
    assert tool.calls == [
        "push traceq.phase#first",
        "start traceq.phase#producer",
        "pop traceq.phase#first",
        "push traceq.phase#second",
        "end traceq.phase#producer",
        "pop traceq.phase#second",
    ]


def test_generators_that_take_turns(tool):
    pairs = list(zip(list_numbers("a"), list_numbers("b"), strict=True))
    assert pairs == [(1, 1), (2, 2)]
    assert tool.calls == ["start traceq.phase#a", "start traceq.phase#b", "end traceq.phase#a", "end traceq.phase#b"]


def test_a_generator_that_nobody_finishes(tool):
    body = list_numbers("dropped")
    with annotate.phase("outer"):
        next(body)
        del body
    assert tool.calls[1:] == ["start traceq.phase#dropped", "end traceq.phase#dropped", "pop traceq.phase#outer"]


def test_tasks_that_take_turns(tool):
    @annotate.phase("function")
    async def marked():
        await asyncio.sleep(0)

    async def block():
        with annotate.phase("block"):
            await asyncio.sleep(0)
            await asyncio.sleep(0)

    async def both():
        await asyncio.gather(block(), marked())

    asyncio.run(both())
    assert tool.calls == [
        "start traceq.phase#block",
        "start traceq.phase#function",
        "end traceq.phase#function",
        "end traceq.phase#block",
    ]


def test_a_marked_asynchronous_generator(tool):
    @annotate.phase("stream")
    async def stream():
        try:
            got = yield 1
            try:
                yield got
            except KeyError:
                yield "caught"
        finally:
            await asyncio.sleep(0)

    async def consume():
        body = stream()
        items = [await body.asend(None), await body.asend(5), await body.athrow(KeyError())]
        await body.aclose()
        return [*items, [item async for item in stream()]]

    assert asyncio.run(consume()) == [1, 5, "caught", [1, None]]
    assert tool.calls[:2] == ["start traceq.phase#stream", "end traceq.phase#stream"]
    assert tool.left_open() == []


def test_marks_that_end_out_of_turn_take_those_above_with_them(tool):
    first, second = emit.push("traceq.phase#first"), emit.push("traceq.phase#second")
    emit.pop(first)
    emit.pop(second)
    emit.pop(first)
    with annotate.phase("after"):
        pass
    assert tool.calls[2:4] == ["pop traceq.phase#second", "pop traceq.phase#first"]
    assert tool.calls[4:] == ["push traceq.phase#after", "pop traceq.phase#after"]


def test_a_mark_that_nobody_ends_ends_with_the_one_around_it(tool):
    with annotate.step(0):
        emit.push("traceq.phase#lost")
    assert tool.calls[2:] == ["pop traceq.phase#lost", "pop traceq.step#0"]


def test_a_mark_of_another_thread_is_popped_by_its_own(tool):
    mark = emit.push("traceq.phase#handed")
    thread = threading.Thread(target=lambda: (emit.pop(mark), emit.pop(emit.push("traceq.phase#there"))))
    thread.start()
    thread.join()
    with annotate.phase("here"):
        pass
    assert tool.calls == [
        "push traceq.phase#handed",
        "push traceq.phase#there",
        "pop traceq.phase#there",
        "pop traceq.phase#handed",
        "push traceq.phase#here",
        "pop traceq.phase#here",
    ]


def test_threads_do_not_disturb_each_other(tool):
    together = threading.Barrier(4)

    @annotate.phase("shared")
    def work(number):
        for step in range(50):
            with annotate.step(100 * number + step), annotate.phase("forward"):
                together.wait()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(tool.calls) == 4 * (2 + 50 * 4)
    assert tool.left_open() == []


def test_the_switch(tool):
    around = annotate.phase("around")
    assert annotate.enabled()
    with around:
        annotate.disable()
        assert not annotate.enabled()
        with annotate.step(0, samples=1):
            inner = annotate.phase("switched on again")
            with inner:
                annotate.enable()
    assert tool.calls == ["push traceq.phase#around", "pop traceq.phase#around"]


def test_switched_off_marks_do_not_look_at_numbers(tool):
    annotate.disable()
    annotate.payload(samples="many")
    assert tool.calls == []


def test_marks_in_an_exit_stack(tool):
    with contextlib.ExitStack() as stack:
        stack.enter_context(annotate.phase("a"))
        stack.enter_context(annotate.phase("b"))
    assert tool.calls[2:] == ["pop traceq.phase#b", "pop traceq.phase#a"]


def test_an_nvtx_from_before_domains_could_push_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "nvtx", SimpleNamespace(enabled=lambda: True))
    monkeypatch.setattr(to_nvtx, "_domain", None)
    monkeypatch.setattr(to_nvtx, "may_listen", True)
    with pytest.warns(RuntimeWarning, match=r"^nvtx is too old for traceq's marks: pip install 'nvtx>=0.2.12'$"):
        assert to_nvtx.begin("traceq.phase#forward") is None
    # Once is enough.
    assert to_nvtx.begin("traceq.phase#forward") is None
