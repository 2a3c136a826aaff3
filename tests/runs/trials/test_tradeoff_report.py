from __future__ import annotations

import json

import pytest
from hand_made import MS, about, batch, run, series

from traceq.reports.renderers.to_html import html_of
from traceq.reports.renderers.to_markdown import blocks_to_markdown
from traceq.reports.renderers.to_text import blocks_to_text
from traceq.reports.renderers.tradeoff_to_json import tradeoff_to_json
from traceq.reports.trials.tradeoff import compose_tradeoff
from traceq.runs.trials.study_tradeoff import study_tradeoff
from traceq.runs.trials.tradeoff import Taken, TradeoffTerms

# Markup, quotes, a terminal's escape, a change of direction, and 100 kB.
HOSTILE = '<script>alert("|`\x1b[31m\n\u202e' + "x" * 100_000


@pytest.fixture(scope="module")
def found():
    def ledger(b):
        whole = 10 + 0.1 * b
        return {"compute": 0.1 * b / whole, "idle_data": 6 / whole, "idle_launch": 4 / whole}

    return study_tradeoff(
        series(lambda b: (10 + 0.1 * b) * MS, [8, 32, 64, 128, 256], ledger), batch(budget_ns=30 * MS)
    )


def test_golden(found, golden):
    golden.check("tradeoff.txt", blocks_to_text(compose_tradeoff(found)))


def test_json(found):
    content = json.loads(tradeoff_to_json(found))
    assert content["knob"] == "batch_size"
    assert [each["value"] for each in content["values"]] == [8, 32, 64, 128, 256]
    assert (content["latency_optimal"], content["throughput_optimal"]) == (8, 256)
    assert content["within_budget"]["largest"] == 128
    assert content["knee"]["place"] == "within"
    assert content["limit"]["category"] == "idle_data"


def test_same_runs_same_bytes(found):
    again = study_tradeoff([Taken(point.value, each) for point in found.points for each in point.runs], found.setting)
    assert tradeoff_to_json(again) == tradeoff_to_json(found)


@pytest.mark.parametrize(
    "show", [blocks_to_text, blocks_to_markdown, html_of, lambda blocks: blocks_to_text(blocks, 40)]
)
def test_hostile_names(show):
    taken = [
        Taken(
            float(b),
            run(*about(b * MS), ledger={HOSTILE: 1.0}, name=HOSTILE, device_name=HOSTILE + end, producer=HOSTILE),
        )
        for b, end in ((8, "a"), (16, "b"))
    ]
    taken.append(Taken(32.0, run(name=HOSTILE)))
    for same in (taken, taken[:1], [*taken[:1] * 2, taken[2]]):
        text = show(
            compose_tradeoff(study_tradeoff(same, TradeoffTerms(HOSTILE, is_amount=True, work=HOSTILE, budget_ns=1)))
        )
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert show is not html_of or "<script>alert" not in text
        assert len(text) < 300_000


def said(taken, **setting):
    return " ".join(
        blocks_to_text(compose_tradeoff(study_tradeoff(taken, batch(**setting)))).replace("\n! ", "\n").split()
    )


@pytest.mark.parametrize(
    ("taken", "setting", "expected"),
    [
        ([], {}, "Cannot tell: no run has steps that could be measured."),
        (series(lambda b: b * MS, [8, 16]), {}, "a curve needs runs at 3 values at least, and there are 2"),
        (series(lambda b: b * MS, [8, 16, 32]), {}, "The knee is below the smallest value tried, batch_size 8"),
        (
            series(lambda b: (900 + b) * MS, [8, 16, 32]),
            {},
            "The knee is beyond the largest value tried, batch_size 32",
        ),
        (series(lambda b: b * MS, [8, 16]), {"budget_ns": MS}, "None: the lowest p95 is 8.137 ms, at batch_size 8."),
        (
            series(lambda b: b * MS, [8, 16]),
            {"budget_ns": 9 * MS},
            "There is no curve, so it is not known whether a value between the two fits.",
        ),
        (series(lambda b: (9 + b) * MS, [8, 16]), {"budget_ns": 90 * MS}, "whether a larger one fits is not known."),
        (series(lambda b: b * MS, [8, 16]), {"budget_ns": 90 * MS}, "Larger values fit as well but gain nothing"),
        (
            series(lambda b: b * MS, [8, 16]),
            {},
            "16 is never the better choice: 8 has steps 50.0 % shorter and as much",
        ),
        (
            series(lambda b: b * MS, [8], saturated="It computes."),
            {},
            "The GPU is saturated at batch_size 8: a larger batch will not help.",
        ),
        (
            series(lambda b: b * MS, [8], lambda _: {"compute": 0.5, "copy_h2d": 0.5}),
            {},
            "a larger batch could give at most 2.00 times the throughput",
        ),
        (series(lambda b: b * MS, [8, 16], world_size=4), {}, "Work and throughput are those of one rank."),
        (
            [Taken(8.0, run(MS, MS, world_size=2)), Taken(16.0, run(MS, MS, world_size=4))],
            {},
            "Not only batch_size differs: world size: 2, 4.",
        ),
        (
            [Taken(8.0, run(MS, step_source="window")), Taken(16.0, run(MS, MS))],
            {},
            "Left out: run.json: no steps were found in them, but in other runs there are some.",
        ),
        (
            [Taken(8.0, run(MS, step_source="window")), Taken(16.0, run(2 * MS, step_source="window"))],
            {},
            "No steps were found, so the window of each capture counts as one step (0 launches). Work per second is right if",
        ),
        (
            [
                *series(lambda b: b * MS, [8, 16]),
                Taken(64.0, run(1018 * MS, start_up_ns=923 * MS, name="bs64.json")),
            ],
            {},
            "(bs64.json): it is cold. 923.0 ms of 1.018 s is start-up (contexts, loading and compiling code). Without it, a step",
        ),
        ([Taken(8.0, run(MS, start_up_ns=MS))], {}, "Cannot tell: every run is cold."),
        (series(lambda b: b * MS, [8, 16]), {"values_from": "names"}, "Values come from the file names."),
        ([Taken(8.0, run(MS))], {}, "No interval at 8: too few steps"),
        (
            [Taken(8.0, run(MS, MS)), Taken(8.0, run(MS, MS))],
            {},
            "All 2 runs are at the same value, so there is no trade-off.",
        ),
    ],
)
def test_sentences(taken, setting, expected):
    assert expected in said(taken, **setting)


def test_every_remark_names_its_run():
    """Tell remarks about runs without steps apart: they were the same but for a number."""
    taken = [Taken(float(b), run(0, name=f"bs{b}.json")) for b in (2, 64)]
    text = said(taken)
    for batch_size in (2, 64):
        assert f"bs{batch_size}.json, batch_size {batch_size}: " in text


def test_compute_that_does_not_grow_is_no_limit_and_bounds_nothing():
    taken = series(lambda b: (10 + 0.01 * b) * MS, [4, 8, 16], saturated="It computes.")
    text = said(taken)
    assert "the GPU computes 100.0 % of the step, but that time does not grow with batch_size" in text
    assert "larger values are worth a try" in text
    assert (
        "The gain from a larger value has no upper bound: compute was measured to grow as batch_size^0.01, not in proportion."
        in text
    )
    assert "at most" not in text
    assert "GPU compute is the limit." not in text
    (room,) = json.loads(tradeoff_to_json(study_tradeoff(taken, batch())))["headroom"]
    assert (room["is_saturated"], room["saturated"], room["upper_bound"]) == (None, None, None)


def test_compute_that_grows_in_proportion_bounds_the_throughput():
    text = said(series(lambda b: b * MS, [4, 8, 16]))
    assert "GPU compute is the limit." in text
    assert "Nearly saturated at batch_size 16. Compute was measured to grow in proportion." in text
    assert "throughput could reach 1.00 times its present value" in text


def test_compute_that_is_not_there_at_every_value():
    text = said(
        series(lambda b: b * MS, [4, 8], lambda b: {"compute": 0.5, "memset": 0.5} if b > 4 else {"memset": 1.0})
    )
    assert (
        "The gain from a larger value has no upper bound: how compute grows with batch_size could not be measured."
        in text
    )


def test_a_bad_curve_is_not_told():
    steps = {1: 50, 2: 20, 4: 60, 8: 10, 16: 100}
    taken = series(lambda b: steps[b] * MS, steps)
    text = said(taken, budget_ns=70 * MS)
    assert "Cannot tell: the curve misses the measured steps by 85" in text
    assert "There is no knee, and nothing can be said about other values." in text
    assert "A step takes" not in text
    assert "The knee" not in text
    assert "Estimate" not in text
    assert "GPU compute is the limit." not in text
    content = json.loads(tradeoff_to_json(study_tradeoff(taken, batch())))
    assert (content["curve"], content["knee"], content["values"][0]["curve_ns"]) == (None, None, None)
    assert content["curve_missed_share"] == pytest.approx(0.85, abs=0.01)


def test_a_chart_is_the_same_each_time(found):
    from traceq.reports.charts.figure import draw_figure, save_png
    from traceq.reports.charts.svg import draw_svg_file
    from traceq.reports.trials.chart_values import describe, draw

    assert draw_svg_file(draw(found)) == draw_svg_file(draw(found))
    assert save_png(draw_figure(draw(found))).startswith(b"\x89PNG")
    assert describe(found).startswith(
        "Throughput and step by batch_size; throughput rises throughout: 8: 741 samples/s"
    )
