"""prefill-stalls-decode says what the slowest request lost, as plain Python reckons it from the steps, where a log is there."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import traceq

sys.path.append(str(Path(__file__).resolve().parents[2] / "fixtures" / "make"))


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """The simulated server's own records with a trace, whose prompts are long for its next tokens, and a log of its requests."""
    from simulator.request_load import write_otlp
    from simulator.timed_load import TimedLoad, write_timed_kineto

    folder = tmp_path_factory.mktemp("served")
    made = TimedLoad(requests=60, rate=10, longest_prompt=4_000, limit=2_048).serve()
    write_timed_kineto(made.steps, folder / "trace.json")
    write_otlp(made.records, folder / "spans.jsonl")
    return made, folder


def find_remark(folder, logs):
    view = traceq.report(folder / "trace.json", logs=logs, cache=False)
    said = " ".join(view.to_text(detail="full").split())
    (text,) = set(re.findall(r"Decoding requests spend.*?in that time\.", said))
    return text


def test_the_slowest_request_is_told_with_what_it_lost(served):
    made, folder = served
    several = [one for one in made.records if len(one.tokens) > 1]
    slowest = max(several, key=lambda one: (one.tokens[-1] - one.tokens[0]) / (len(one.tokens) - 1))
    per_token = (slowest.tokens[-1] - slowest.tokens[0]) / (len(slowest.tokens) - 1)
    text = find_remark(folder, [folder / "spans.jsonl"])
    found = re.search(
        r"slowest per token \(number (\d+)\) spent ([\d.]+) % of .*? so: ([\d.]+) ms a token, .*? ([\d.]+) ms", text
    )
    assert found is not None, text
    assert int(found[1]) == slowest.number
    assert float(found[3]) == pytest.approx(per_token / 1e6, rel=1e-3)
    assert float(found[4]) == pytest.approx(per_token / 1e6 * (1 - float(found[2]) / 100), rel=0.01)
    # what its steps with prompts took beyond those without
    steps = [step for step in made.steps if step.end > slowest.tokens[0] and step.begin < slowest.tokens[-1]]
    beside = sum(step.end - step.begin for step in steps if step.batch.prefill)
    assert float(found[2]) / 100 < beside / (slowest.tokens[-1] - slowest.tokens[0])


def test_without_a_log_no_request_is_told(served):
    assert "slowest" not in find_remark(served[1], [])
