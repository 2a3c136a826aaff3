"""Shares that are fitted: which traces take them, and what the manual and `traceq explain` say of them."""

from __future__ import annotations

import pytest
from builder import TraceBuilder
from click.testing import CliRunner
from labelled.cases import item_read

from traceq.cli import main
from traceq.diagnosis import calibrated
from traceq.diagnosis.judge import judge
from traceq.diagnosis.rules import registry
from traceq.diagnosis.rules.registry import all_rules

CHECKED = {"predictions": 11, "programs": 6, "inside": 9, "reaching": 1, "error": 0.14, "bias": -0.02}
SHARES = {"low": 0.1, "likely": 0.4, "high": 0.9}


@pytest.fixture
def fitted(monkeypatch):
    """Rules whose shares are fitted on both kinds of hardware."""

    def fit(rule, *kinds):
        kept = {rule: {kind: {"checked": CHECKED, "programs": 6, "shares": SHARES} for kind in kinds}}
        monkeypatch.setattr(calibrated, "_read_numbers", lambda: kept)

    return fit


def of_host(trace, step=1_000_000):
    """A third of each step is Python."""
    for ts in range(0, 3 * step, step):
        trace.annotation(f"ProfilerStep#{ts // step}", ts, step)
        trace.annotation("train", ts, step - 10)
        trace.op("aten::mm", ts + 300_000, 690_000)


def found(folder):
    trace = TraceBuilder()
    of_host(trace)
    folder.mkdir()
    only = [each for each in all_rules() if each.name == "host-python"]
    (judged,) = judge(trace.build(folder)._connection, rules=only)
    return judged.findings[0]


@pytest.mark.sample(2)
@pytest.mark.parametrize(("kind", "assumed"), [("gpu", 0.6), ("cpu", 0.4)])
def test_a_trace_without_a_gpu_takes_what_was_fitted_without_one(tmp_path, fitted, kind, assumed):
    fitted("host-operators", "cpu")
    before = found(tmp_path / "before")
    fitted("host-python", kind)
    now = found(tmp_path / "now")
    assert (before.assumed_share, now.assumed_share) == (0.6, assumed)
    assert now.owned_ns == before.owned_ns
    assert now.saving_ns / before.saving_ns == pytest.approx(assumed / 0.6)


@pytest.mark.parametrize(("kind", "assumed"), [("cpu", 1.0), ("gpu", 0.4)])
def test_a_trace_of_a_gpu_takes_what_was_fitted_on_one(tmp_path, fitted, kind, assumed):
    fitted("item-read", kind)
    trace = TraceBuilder()
    item_read.found(trace)
    only = [each for each in all_rules() if each.name == "item-read"]
    (judged,) = judge(trace.build(tmp_path)._connection, rules=only)
    assert {each.assumed_share for each in judged.every_finding} == {assumed}


def test_the_manual_says_whether_shares_are_assumed_or_fitted(fitted):
    fitted("host-python", "cpu")
    page = registry._load("host/host_python").manual.text
    said = " ".join(page.split())
    told = "Without a GPU the share that a fix removes is fitted to 6 programs: low 0.1, likely 0.4, high 0.9."
    assert f"{told} On a GPU it is assumed." in said
    assert "The share that a fix removes is assumed." in " ".join(
        registry._load("host/host_operators").manual.text.split()
    )
    assert "is assumed" not in registry._load("communication/late_rank").manual.text


def test_explain_says_how_right_predictions_of_the_rule_were(fitted):
    fitted("host-python", "cpu")
    said = CliRunner().invoke(main, ["explain", "host-python"]).stdout
    told = "Without a GPU, 11 predictions: 9 inside the bounds and 1 by their interval, median error 14.0 %."
    assert told in " ".join(said.split())
    assert "Predictions checked" not in CliRunner().invoke(main, ["explain", "host-operators"]).stdout


def test_shares_are_those_of_headers_alone():
    assert registry.has_shares("host_python")
    assert not registry.has_shares("late_rank"), "its code gives them"
    assert not registry.has_shares("layout_copy"), "each of its kinds has its own"
