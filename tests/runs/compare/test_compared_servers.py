"""Servers: steps are compared with those of their kind and batch, and what a step is must be the same."""

from __future__ import annotations

import pytest
from handmade_runs import MS, item, noisy, run
from msgspec.structs import replace

from traceq.reports.comparison.comparison import compose_comparison
from traceq.reports.renderers.to_text import blocks_to_text
from traceq.runs.compare.compare import compare

pytestmark = pytest.mark.usefixtures("fewer_draws")

DECODE, PREFILL = "decode of 8 to 15 requests", "prefill of 1 request"


def server(seed, decodes, prefills, decode_ms=20, prefill_ms=90, **facts):
    """A run with so many steps of both kinds, of these lengths."""
    kinds = [DECODE] * decodes + [PREFILL] * prefills
    middles = {DECODE: decode_ms * MS, PREFILL: prefill_ms * MS}
    lengths = [noisy(middles[kind], 1, 0.01, f"{seed} {number}")[0] for number, kind in enumerate(kinds)]
    made = run(*lengths, name=f"{seed}.json", **facts)
    return replace(
        made,
        steps=tuple(replace(step, kind=kind) for step, kind in zip(made.steps, kinds, strict=True)),
        items=(
            replace(item("attention", decode_ms * MS, steps=decodes), kind=DECODE),
            replace(item("gemm", prefill_ms * MS, steps=prefills), kind=PREFILL),
        ),
    )


def verdicts(found):
    return {each.kind: each.verdict for each in found.kinds}


def test_another_mix_of_kinds_is_no_change():
    found = compare([server(1, 30, 30)], [server(2, 50, 12)])
    assert verdicts(found) == {DECODE: "no change", PREFILL: "no change"}
    assert found.verdict == "no change"
    assert any(
        remark.startswith(f"the server ran different steps: {DECODE} 50.0 % against 80.6 %") for remark in found.remarks
    )


def test_the_kind_that_surely_changed_is_shown():
    found = compare([server(1, 40, 30)], [server(2, 40, 30, decode_ms=23)])
    assert verdicts(found) == {DECODE: "regression", PREFILL: "no change"}
    assert (found.verdict, found.kind) == ("regression", DECODE)
    assert found.level == 0.01
    assert sum(cause.delta_ns for cause in found.causes) == found.change.delta_ns
    assert [part.name for part in found.causes[0].parts if part.name] == ["attention"]
    text = blocks_to_text(compose_comparison(found, 10), 120)
    assert f"Regression: steps of kind {DECODE}: a step takes" in text
    assert "prefill of 1 request" in text


def test_servers_that_did_nothing_alike_cannot_be_compared():
    found = compare([server(1, 30, 0)], [server(2, 0, 30)])
    assert found.verdict == "cannot tell"
    assert found.obstacles == (f"the server ran different steps: {DECODE} against {PREFILL}",)


def test_shapes_of_a_bucket_may_differ():
    """Of 8 and of 9 requests."""
    shapes = [{"aten::mm": {f"[[{rows}, 64], [64, 64]]": 5}} for rows in (8, 9)]
    found = compare([server(1, 30, 0, shapes=shapes[0])], [server(2, 30, 0, shapes=shapes[1])])
    assert found.comparable


def steps(name, seed, launches, ms=50, **facts):
    return run(
        *noisy(ms * MS, 12, 0.01, seed),
        items=[item("gemm", ms * MS, launches, steps=12)],
        name=f"{seed}.json",
        unit_name=name,
        **facts,
    )


def test_layers_are_not_compared_with_steps():
    found = compare([steps("step", 1, 8, unit="step")], [steps("layer", 2, 8, unit="layer")])
    assert found.obstacles == (
        "a unit of the base is a step, of the new a layer: 49.99 ms for step against 49.92 ms for layer",
    )
    assert found.change is None


def test_steps_found_by_other_marks_that_hold_several_others_are_no_steps_of_the_same_kind():
    found = compare([steps("ProfilerStep#", 1, 800, 200)], [steps("sequence of 200 launches", 2, 200, 50)])
    (said,) = found.obstacles
    assert said.startswith("a step of the base contains the work of 4.0")
    assert (
        "(201.3 ms for ProfilerStep# against 49.92 ms for sequence of 200 launches); ingest with --step-range" in said
    )
    assert found.change is None


@pytest.mark.parametrize(
    ("name", "launches", "ms"),
    [("ProfilerStep#", 200, 50), ("sequence of 900 launches", 900, 210), ("sequence of 4 launches", 4, 190)],
    ids=["same marks: the program does less", "as much work", "the same work in graphs"],
)
def test_other_marks_or_other_work_alone_are_no_obstacle(name, launches, ms):
    assert compare([steps("ProfilerStep#", 1, 800, 200)], [steps(name, 2, launches, ms)]).comparable
