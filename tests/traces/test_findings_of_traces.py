"""What reports say of the real traces: no rule fails, every query gives its numbers, savings stay within the ledger."""

from __future__ import annotations

from collections import Counter

import pytest
from trace_files import every_trace

from traceq.database import user_sql
from traceq.diagnosis.judge import WORTH_LISTING
from traceq.reports import RENDERERS


def evidence_of(trace):
    for finding in trace.findings:
        yield finding.summary
        yield finding.instances
        yield from (part.evidence for part in finding.parts)
    yield from (each.evidence for each in trace.observations)


def is_same_value(found, printed):
    """Sums of doubles depend on the order of threads in the last digits, of which savings keep three; other values are text."""
    if isinstance(found, float) and isinstance(printed, float):
        return found == pytest.approx(printed, rel=1e-9, abs=0.001)
    return found == printed or str(found) == printed


@pytest.mark.sample(3)
@every_trace
def test_no_rule_fails(path, reports):
    assert [trace.failed for trace in reports(path).traces if trace.failed] == []


@every_trace
def test_every_query_gives_the_numbers_it_stands_beside(path, reports, databases):
    connection = databases(path)
    for trace in reports(path).traces:
        for evidence in evidence_of(trace):
            relation = user_sql.run(connection, evidence.query)
            assert tuple(relation.columns) == evidence.columns
            found = relation.fetchall()
            assert len(found) == len(evidence.rows)
            assert [
                pair
                for rows in zip(found, evidence.rows, strict=True)
                for pair in zip(*rows, strict=True)
                if not is_same_value(*pair)
            ] == []


@every_trace
def test_savings_stay_within_the_ledger(path, reports):
    for trace in reports(path).traces:
        if not trace.findings:
            continue
        step = trace.steps.mean_ns
        assert sum(each.owned_ns for each in trace.findings) <= step * (1 + 1e-9)
        assert sum(each.saving_ns for each in trace.findings) <= step * (1 + 1e-9)
        for each in trace.findings:
            assert 0 <= each.saving_low_ns <= each.saving_ns <= each.saving_high_ns <= step * (1 + 1e-9)
            assert each.saving_ns >= WORTH_LISTING * step


@every_trace
def test_reports_repeat_nothing(path, reports):
    for trace in reports(path).traces:
        ids = [each.finding_id for each in trace.findings]
        ids += [part.finding_id for each in trace.findings for part in each.parts]
        ids += [each.finding_id for each in trace.observations]
        assert [each for each, times in Counter(ids).items() if times > 1] == []
        fixes = [each.fix for each in trace.findings]
        assert len(set(fixes)) == len(fixes)


@every_trace
@pytest.mark.parametrize("format_", RENDERERS)
def test_the_report_is_written(path, format_, rendered):
    assert rendered(path, format_)
