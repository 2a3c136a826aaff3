from __future__ import annotations

import json
from pathlib import Path

import pytest
from handmade_trials import made, studied
from msgspec.structs import replace

from traceq.common.text import width
from traceq.reports.renderers.experiment_to_json import experiment_to_json
from traceq.reports.renderers.to_html import html_of
from traceq.reports.renderers.to_markdown import blocks_to_markdown
from traceq.reports.renderers.to_text import blocks_to_text
from traceq.reports.trials import chart_front, chart_steps
from traceq.reports.trials.experiment import compose_experiment
from traceq.runs.trials.experiment import Predicted, TrialLimits
from traceq.runs.trials.study_experiment import study_experiment
from traceq.runs.trials.trial import Setting, Trial

# Markup, quotes, a terminal's escape, a change of direction, and 100 kB.
HOSTILE = '<script>alert("|`\x1b[31m\n\u202e' + "x" * 100_000

THREE = """
baseline                 : 100 103 99 102 100 98 101     : host_memory_peak=2000000000 samples=32
try num_workers=2        : 70 72 69 71 70 69 71          : host_memory_peak=2600000000 samples=32
try num_workers=4        : 70.4 72 69 71 70 69.2 71      : host_memory_peak=3200000000 samples=32
try fused=1              : 90 93 89 91 90 88 91          : host_memory_peak=2000000000 samples=32
try pin_memory=1         : 100 102.8 99 102.2 100.1 98 101 : host_memory_peak=2000000000 samples=32
try compile=default      : 95 110 89 120 95 99 105       : host_memory_peak=2100000000 samples=32
try amp=bf16             : 99 oom                        : samples=32
try num_workers=2 fused=1 : 62 64 61 63 62 61 62         : host_memory_peak=2600000000 samples=32
without data             : 69 70 68 69 68 66 68          : host_memory_peak=1900000000 samples=32
"""
PREDICTIONS = {
    "num_workers=2": Predicted("synchronous-loader", "a", "Batches are loaded in the process", 0.28, 0.2, 0.33),
    "fused=1": Predicted("unfused-optimizer", "b", "A kernel for each parameter", 0.2, 0.15, 0.25),
    "without data": Predicted("idle-data", "c", "Waits for data", 0.28, 0.1, 0.3),
}


@pytest.fixture(scope="module")
def found():
    return studied(THREE, predictions=PREDICTIONS)


def said(found):
    return " ".join(blocks_to_text(compose_experiment(found)).split())


def test_golden(found, golden):
    golden.check("experiment.txt", blocks_to_text(compose_experiment(found)))


def test_the_first_screen_has_the_whole_answer(found):
    screen = blocks_to_text(compose_experiment(found)).splitlines()[:40]
    text = " ".join(" ".join(screen).split())
    assert max(map(width, screen)) <= 100
    for expected in (
        "Set num_workers=2 fused=1, all together: samples/s +61.7 %",
        "host memory +30.0 %",
        "no use pin_memory=1",
        "cannot tell compile=default",
        "failed amp=bf16: out of memory in 1 of 2",
        "left to try",
        "Dominated by num_workers=2 fused=1: num_workers=2 and num_workers=4.",
    ):
        assert expected in text


def test_an_ablation_stands_beside_what_its_findings_say(found):
    assert "data: at most 32.0 % (30.7 to 33.3 %) (ablation); its findings say 28.0 %." in said(found)


def test_predictions_are_held_against_what_was_won(found):
    text = said(found)
    assert "28 % (20 to 33 %) 30 % (29 to 31 %) right" in text
    assert "20 % (15 to 25 %) 10 % (8.4 to 12 %) too high" in text


def test_what_ran_on_a_gpu_never_stands_beside_what_did_not():
    text = blocks_to_text(
        compose_experiment(
            studied("baseline : 10 10 10\ndevice=cuda : 1 1 1 : gpu_memory_peak=100\na=1 : 9 9 9", predictions={})
        )
    )
    tables = text.split("\n\n")
    assert "On a GPU" in text
    assert "On the CPU only" in text
    assert not any("device=cuda" in each and "a=1" in each and "---" in each for each in tables[5:])


@pytest.mark.parametrize(
    ("lines", "options", "expected"),
    [
        ("baseline : failed\na=1 : 9", {}, "Cannot tell: the unchanged program did not run (failed in round 0)."),
        (
            "baseline : 10 10.1 9.9\na=1 : 10 10.1 9.9",
            {},
            "Keep the baseline: a=1 is not certain to be better for throughput.",
        ),
        ("baseline : 10 12 9\na=1 : 9.9 12.1 8.8", {}, "It is within the noise of a=1."),
        ("baseline : 10 10 10", {}, "No change was tried."),
        (
            "baseline : 10 10\na=1 : 9 9",
            {"limits": TrialLimits(latency_ns=1e6)},
            "None of the tried settings keeps p95 within",
        ),
        ("baseline : 10 10\na=1 : 9 9", {"goal": "memory"}, "Cannot tell: no setting has a measured memory."),
        ("baseline : 10 10 10\na=1 : 9 9 9\nb=1 : 8 8 8", {}, "Set b=1: steps/s +25"),
        ("baseline : 10 10 10\na=1 : 9 9 9\nb=1 : 8 8 8", {}, "Also worthwhile on its own: a=1."),
        ("baseline : 10 10 10\na=1 : 9 9 9\nb=1 : 8 8 8", {}, "b=1 and a=1 together"),
        ("baseline : 10 10 failed 10\na=1 : 9 9 9 9", {}, "Set a=1: steps/s +11"),
        ("baseline : 10 10 failed 10\na=1 : 9 9 9 9", {}, "failed the baseline: failed in 1 of 4, failed in round 2"),
        ("baseline : 10 10 10\na=1 : 9 9 9\nb=1 :", {}, "not tried b=1 (the budget left no time for it)"),
        ("baseline : 10 10 10\na=1 : 9 9 9\na=2 : 8 8 8\na=4 : 5 5 5", {}, "a above 4, the largest tried"),
        ("baseline : 10 10 10\na=1 : 12 12 12", {}, "worse a=1"),
        ("baseline : 10\na=1 : 9", {}, "a=1 again: one round does not show how certain a difference is"),
        ("baseline : 10 10 10\namp=bf16 : 8 8 8", {}, "perhaps accuracy"),
        (
            "baseline : 9 9 9\na=1 : 6 6 6\nb=1 : 8 8 8\na=1 b=1 : 6 6 6",
            {},
            "It is not certain that adding more helps: b=1.",
        ),
    ],
)
def test_sentences(lines, options, expected):
    assert expected in said(studied(lines, scatter=0.001, **options))


def test_a_law_of_noise_is_none():
    noise = "baseline threads=1 : 100 107 93 101 98\nthreads=2 : 98 103 96 99 92\nthreads=4 : 97 99 101 93 96"
    assert "threads: cannot tell. None of the counts (1 to 4) is certain to differ from 1." in said(studied(noise))


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (
            {1: 100, 2: 60, 4: 40, 8: 40},
            "More than about 4.00 (4.00 to 4.00) gain nothing: 2.50 times the speed of 1 is the limit.",
        ),
        ({1: 100, 2: 60, 4: 40}, "beyond that, the law allows at most 5.00 times the speed of 1."),
        ({2: 60, 4: 40, 8: 30}, "1 was not run (the counts are 2 to 8), so its time is extrapolated by the law."),
        ({1: 100, 2: 100, 4: 100}, "no count from 1 to 4 is faster than 1"),
        ({1: 100, 2: 30, 4: 90}, "cannot tell. Amdahl's law misses the measurements by up to"),
    ],
)
def test_the_words_on_scaling(steps, expected):
    lines = [f"{'' if n > min(steps) else 'baseline '}threads={n} : {ms} {ms} {ms}" for n, ms in steps.items()]
    assert expected in said(studied("\n".join(lines), scatter=0))


def test_a_setting_that_has_nothing_to_act_on_is_no_failure():
    trials = [Trial("baseline", n, n, "ok", steps_ns=(10,) * 9) for n in range(3)]
    trials.append(Trial("fused=1", 0, 0, "nothing to act on", reason="no optimizer"))
    text = said(study_experiment([Setting("baseline", "baseline"), Setting("fused=1", "try", {"fused": "1"})], trials))
    assert "nothing to act on fused=1" in text
    assert "failed" not in text


@pytest.mark.parametrize(
    "show", [blocks_to_text, blocks_to_markdown, html_of, lambda blocks: blocks_to_text(blocks, 40)]
)
def test_hostile_names(show):
    settings = [Setting("baseline", "baseline"), *(Setting(HOSTILE + n, "vary", {HOSTILE: n}) for n in "124")]
    trials = [
        Trial(each.name, n, n, "ok", steps_ns=(10 + len(each.name) % 7 + n,) * 9, work={HOSTILE: 2.0})
        for each in settings[:3]
        for n in range(3)
    ]
    trials.append(Trial(settings[3].name, 0, 0, "failed", reason=HOSTILE))
    prediction = {settings[1].name: Predicted(HOSTILE, HOSTILE, HOSTILE, 0.1, 0.0, 0.2)}
    text = show(compose_experiment(study_experiment(settings, trials, predictions=prediction)))
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert show is not html_of or "<script>alert" not in text
    assert len(text) < 300_000


def test_what_a_win_may_cost_is_said():
    settings, trials = made("baseline : 100 101 99 100\na=1 : 80 81 79 80")
    peaks = {"baseline": (100, 130, 80, 110), "a=1": (130, 80, 110, 100)}
    found = study_experiment(
        settings, [replace(each, host_memory_peak=peaks[each.setting][each.round]) for each in trials]
    )
    assert "cannot tell: host memory" in said(found)
    assert "nothing measured" not in said(found)


def test_json(found):
    content = json.loads(experiment_to_json(found))
    assert content["choice"]["setting"] == "num_workers=2 fused=1"
    assert [each["setting"] for each in content["choice"]["wins"]] == ["num_workers=2", "fused=1"]
    settings = {each["name"]: each for each in content["settings"]}
    assert settings["amp=bf16"]["outcome"] == "out of memory"
    assert settings["fused=1"]["changes"]["step"]["verdict"] == "better"
    assert settings["baseline"]["changes"] == {}
    assert {each["setting"]: each["judged"] for each in content["predictions"]} == {
        "num_workers=2": "right",
        "fused=1": "too high",
    }
    assert content["ablations"][0]["what"] == "data"


def test_every_key_of_the_json_is_documented(found):
    page = (Path(__file__).parents[3] / "docs" / "experiment.md").read_text("utf-8")
    content = json.loads(experiment_to_json(found))
    keys = {*content, *content["choice"], *content["settings"][0], *content["predictions"][0], *content["ablations"][0]}
    assert not {key for key in keys if f"`{key}`" not in page and f"`{key}[]`" not in page}


def test_same_trials_same_bytes(found):
    assert experiment_to_json(studied(THREE, predictions=PREDICTIONS)) == experiment_to_json(found)


@pytest.mark.parametrize("one", [chart_front, chart_steps])
def test_a_chart_is_the_same_each_time(found, one):
    from traceq.reports.charts.figure import draw_figure, save_png
    from traceq.reports.charts.svg import draw_svg_file

    assert one.has_data(found)
    assert draw_svg_file(one.draw(found)) == draw_svg_file(one.draw(found))
    assert save_png(draw_figure(one.draw(found))).startswith(b"\x89PNG")
    assert "fused=1" in one.describe(found)


def test_nothing_is_drawn_of_a_baseline_alone():
    alone = studied("baseline : 10 10 10")
    assert not chart_steps.has_data(alone)
    assert not chart_front.has_data(alone)
