"""Thresholds of rules: each has a reason, is used, and can be scaled to see what depends on it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from builder import TraceBuilder
from click.testing import CliRunner
from failure_list import assert_none

from traceq import diagnosis
from traceq.cli import main
from traceq.common.text import markdown
from traceq.diagnosis.judge import judge
from traceq.diagnosis.query import all_thresholds, names_used, rule_query, shared_query
from traceq.diagnosis.rules.registry import all_rules
from traceq.diagnosis.threshold import Threshold, parse_threshold

PACKAGE = Path(diagnosis.__file__).parent
TEXTS = {path: path.read_text("utf-8") for path in PACKAGE.rglob("*") if path.suffix in (".sql", ".py")}


# Without what they say of thresholds themselves.
READING = {path: re.sub(r"^-- threshold:.*(\n--   .*)*", "", text, flags=re.MULTILINE) for path, text in TEXTS.items()}


def readers(place):
    """The texts that may read a threshold of the file `place`."""
    named = re.compile(rf"^-- (uses|query|facts|each|also):.*\b{place}\b|\"{place}\"", re.MULTILINE)
    return [
        READING[path] for path, text in TEXTS.items() if path.stem == place or (place in text and named.search(text))
    ]


def test_every_threshold_is_read():
    texts = {place: "\n".join(readers(place)) for place in {each.place for each in all_thresholds()}}
    assert_none(
        f"{each.place}.{each.name} is read nowhere"
        for each in all_thresholds()
        if not re.search(rf"\b{each.name}\b", texts[each.place])
    )


def test_what_a_query_uses_has_names_of_its_own():
    for place in {each.place for each in all_thresholds()}:
        if not list(PACKAGE.glob(f"rules/*/{place}.sql")):
            continue
        query = rule_query(place)
        for name in names_used(query):
            assert not set(query.settings.keys() - shared_query(name).settings.keys()) & set(
                shared_query(name).thresholds
            )
            assert not set(query.thresholds) & set(shared_query(name).thresholds), (place, name)


def test_all_thresholds_are_printed():
    printed = CliRunner().invoke(main, ["rules", "thresholds"]).stdout
    of_place = dict(zip(*(iter(re.split(r"^## (\w+)$", printed, flags=re.MULTILINE)[1:]),) * 2, strict=True))
    assert_none(
        f"{each.place}.{each.name}"
        for each in all_thresholds()
        if f"| `{each.name}` | {each.value:,} | {markdown(each.reason)} |" not in of_place.get(each.place, "")
    )


def test_a_threshold_without_a_reason_is_refused():
    assert parse_threshold("here", "most = 0.5: the larger part") == Threshold("here", "most", 0.5, "the larger part")
    for text in ("most = 0.5", "most = 0.5:", "most: 0.5", "most = half: the larger part"):
        with pytest.raises(ValueError, match="name = number: reason"):
            parse_threshold("here", text)


@pytest.mark.parametrize(
    ("value", "factor", "scaled"),
    [
        (10_000, 1.5, 15_000),
        (3, 1 / 1.5, 2),
        (0.5, 1.5, 0.75),
        (0.9, 1.5, 0.9333),
        (0.9, 1 / 1.5, 0.85),
        (2.0, 1.5, 3.0),
    ],
)
def test_a_scaled_threshold_can_still_be_reached(value, factor, scaled):
    assert Threshold("here", "most", value, "because").times(factor) == pytest.approx(scaled, abs=1e-4)


def test_rules_judge_by_scaled_thresholds(tmp_path):
    trace = TraceBuilder()
    for start in range(0, 3_000_000, 1_000_000):
        trace.annotation("step", start, 999_000)
        for at in range(start, start + 900_000, 20_000):
            trace.op("aten::add", at, 15_000)
            trace.kernel("add", at + 16_000, 8_000, launched=(at + 9_000, 5_000))
    connection = trace.build(tmp_path)._connection
    only = [rule for rule in all_rules() if rule.name == "tiny-kernels"]
    (found,) = judge(connection, rules=only)
    assert [each.rule for each in found.findings] == ["tiny-kernels"]
    assert (
        "15000" in judge(connection, rules=only, scaled={("tiny_kernels", "tiny_ns"): 1.5})[0].findings[0].summary.query
    )
    assert judge(connection, rules=only, scaled={("tiny_kernels", "tiny_ns"): 1 / 1.5})[0].findings == ()
