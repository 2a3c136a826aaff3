"""traceq.history_add and traceq.history_show, and texts of strangers in a history."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from made_histories import MS, entry, noisy_steps

import traceq
from traceq.runs.history.store import add_entries

FIXTURE = sorted((Path(__file__).parents[2] / "fixtures" / "history").glob("*.json"))
EVIL = "evil \x1b[31m\u202e<script>alert(1)</script>"


def test_a_history_in_python(tmp_path):
    path = tmp_path / "h.duckdb"
    assert traceq.history_add(FIXTURE, path, facts={"cluster": "a"}, commit="c" * 40).added == 36
    assert len(traceq.history_add(FIXTURE[:2], path).repeated) == 2
    shown = traceq.history_show(path, quantities=["step.typical"], where={"cluster": "a"})
    (trend,) = shown.content.trends
    assert (trend.name, trend.kind, trend.worse) == ("step.typical", "creep", True)
    assert repr(shown) == shown.to_text()
    shown.save(tmp_path / "h.html")
    assert "step.typical (ms): +0.65 % a week" in (tmp_path / "h.html").read_text("utf-8")
    assert "too few" in traceq.history_show(path, since=datetime(2026, 8, 20, tzinfo=UTC)).to_csv()
    with pytest.raises(traceq.UnusableBaseline, match="holds no report with cluster=b"):
        traceq.history_show(path, where={"cluster": "b"})
    with pytest.raises(traceq.StoreError, match="no such history"):
        traceq.history_show(tmp_path / "missing.duckdb")


def test_a_folder_of_json_reports_is_added_whole(tmp_path):
    added = traceq.history_add(FIXTURE[0].parent, tmp_path / "h.duckdb")
    assert (added.added, added.repeated) == (36, ())


def test_what_strangers_wrote_steers_no_terminal_and_is_no_markup(tmp_path):
    path = tmp_path / "h.duckdb"
    columns = dict.fromkeys(("label", "program", "branch", "gpu", "step_name", "file", "commit"), EVIL)
    steps = noisy_steps([100 * MS] * 12 + [120 * MS] * 12, 0.005)
    entries = [
        entry(
            number,
            step,
            **columns,
            facts={EVIL: "a" if number < 12 else EVIL},
            quantities={f"findings.{EVIL}": (step / 2, "ns"), "condition.x": (1 + number // 12, EVIL)},
        )
        for number, step in enumerate(steps)
    ]
    add_entries(path, [*entries, *(entry(number, gpu=f"{EVIL}{number}", days=0.1) for number in range(3))])
    shown = traceq.history_show(path, where={"gpu": EVIL})
    for text in (shown.to_text(), shown.to_markdown(), shown.to_html(), shown.to_json(), shown.to_csv()):
        assert not {"\x1b", "\u202e"} & set(text)
    assert "<script>alert" not in shown.to_html()
