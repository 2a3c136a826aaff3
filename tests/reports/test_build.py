from __future__ import annotations

import handmade_traces
import pytest
from handmade_traces import MadeUp, complete, database, hostile, marked, on_host_only, training, unmarked, waiting

from traceq.diagnosis.rules.registry import all_rules
from traceq.reports import model
from traceq.reports.build import LISTS, LISTS_OF_JOB, build
from traceq.reports.queries import NEEDS, Queries, read_rows
from traceq.reports.renderers.to_text import blocks_to_text
from traceq.reports.sections.compose import compose_report


def only(*traces, top=10, rules=None):
    (report,) = handmade_traces.report(*traces, top=top, rules=rules).traces
    return report


def test_the_ledger_holds_the_counted_steps_only_and_adds_up():
    trace = MadeUp().step(0, 100, excluded="warm-up").step(100, 10).step(110, 20)
    trace.gpu("compute", 50, 55).gpu("h2d", 105, 2).gpu("communication", 106, 10)
    (device,) = only(trace, rules=[]).ledger
    assert {part.category: (part.dur_ns, part.per_step_ns) for part in device.parts} == {
        "communication": (10, 5.0),
        "idle_unattributed": (14, 7.0),
        "compute": (5, 2.5),
        "copy_h2d": (1, 0.5),
    }
    assert device.total == 30
    assert sum(part.step_share for part in device.parts) == pytest.approx(1)


def test_findings_are_ranked_by_saving_per_counted_step():
    trace = MadeUp().step(0, 100).step(100, 100)
    trace.gpu("compute", 0, 150).gpu("d2h", 150, 30).gpu("memset", 180, 5).gpu("communication", 185, 15)
    report = only(trace)
    savings = [each.saving_ns for each in report.findings]
    assert savings == sorted(savings, reverse=True)
    claimed = {each.rule: each.claimed_ns for each in report.findings}
    assert claimed["exposed-communication"] == 7.5
    assert all(each.saving_low_ns <= each.saving_ns <= each.saving_high_ns for each in report.findings)
    assert all(each.expected_step_ns == 100 - each.saving_ns for each in report.findings)


def test_findings_are_about_the_busiest_gpu():
    trace = MadeUp().step(0, 100)
    trace.gpu("compute", 0, 80, device=0).gpu("communication", 80, 10, device=0)
    trace.gpu("compute", 0, 10, device=1).gpu("communication", 10, 30, device=1)
    report = only(trace)
    assert {each.where.device for each in report.findings} == {0}
    assert {each.rule: each.claimed_ns for each in report.findings}["exposed-communication"] == 10


def test_savings_never_exceed_the_step():
    for trace in (training(), hostile(), unmarked(), waiting()):
        report = only(trace)
        assert sum(each.saving_ns for each in report.findings) <= report.steps.mean_ns


@pytest.mark.slow
@pytest.mark.parametrize("trace", [training, hostile, waiting])
def test_the_queries_of_a_finding_give_its_evidence(trace):
    connection = database(MadeUp().step(0, 7).gpu("compute", 0, 5), trace())
    for report in build(connection, 10).traces:
        assert report.findings or report.observations
        for observation in report.observations:
            assert connection.execute(observation.evidence.query).fetchall() == list(observation.evidence.rows)
        for finding in report.findings:
            for evidence in (finding.summary, finding.instances):
                assert connection.execute(evidence.query).fetchall() == list(evidence.rows)
            row = dict(zip(finding.summary.columns, finding.summary.rows[0], strict=True))
            if finding.parts:
                # Findings that the same fix wins are parts of it, with claims of their own.
                assert row["claimed_ns"] <= finding.claimed_ns
            else:
                assert row["claimed_ns"] == finding.claimed_ns
                assert row["saving_ns"] >= finding.saving_ns


@pytest.mark.sample(3)
@pytest.mark.parametrize("trace", [training, hostile, unmarked, waiting, on_host_only, marked, complete])
def test_the_queries_of_the_sections_run(trace):
    connection = database(trace())
    report = build(connection, 10, rules=[])
    for query in (report.query, *report.traces[0].queries.values()):
        connection.execute(query).fetchall()


def test_the_query_of_the_ledger_gives_the_ledger():
    connection = database(training())
    (report,) = build(connection, 10, rules=[]).traces
    expected = [(device.device, part.category, part.dur_ns) for device in report.ledger for part in device.parts]
    assert connection.execute(report.queries["ledger"]).fetchall() == expected


def test_without_gpu_activity_rules_cannot_tell_and_say_what_to_capture():
    report = only(on_host_only())
    assert report.ledger == ()
    reasons = {each.rule: each.reason for each in report.not_applicable}
    assert "ProfilerActivity.CUDA" in reasons["host-bound"]
    told = {each.rule: each.reason for each in only(MadeUp(format="nsys").step(0, 1000)).not_applicable}
    assert "--trace=cuda" in told["host-bound"]
    assert {each.reason for each in only(MadeUp(format="nsys")).not_applicable} >= {"nothing was recorded"}


def test_without_gpu_activity_findings_are_about_the_training_thread():
    report = only(on_host_only())
    assert [(each.rule, each.where.device, round(each.claimed_ns)) for each in report.findings] == [
        ("host-gpu-unused", None, 500),
        ("host-python", None, 500),
    ]
    assert all(each.saving_low_ns <= each.saving_ns <= each.saving_high_ns for each in report.findings)
    assert sum(each.owned_ns for each in report.findings) <= report.steps.mean_ns


def test_the_host_is_reported_by_outermost_annotations_and_self_time_of_operators():
    host = only(on_host_only(), rules=[]).host
    assert [(row.name, row.count, row.dur_ns, row.longest_ns) for row in host.annotations] == [
        ("## forward ##", 2, 1200, 600)
    ]
    assert [(row.name, row.count, row.self_dur_ns, row.longest_ns) for row in host.operators] == [
        ("aten::addmm", 2, 601, 301),
        ("aten::linear", 2, 399, 500),
    ]


def test_phases_and_throughput_are_over_the_counted_steps_and_give_themselves_again():
    connection = database(marked())
    (report,) = build(connection, 2, rules=[]).traces
    assert [(each.phase, each.count, each.dur_ns, each.median_ns) for each in report.phases] == [
        ("data", 6, 12_000_006, 4_000_002.0),
        ("forward", 3, 9_000_000, 3_000_000.0),
    ]
    expected = [(each.phase, each.count, each.dur_ns, each.median_ns, each.step_share) for each in report.phases]
    assert connection.execute(report.queries["phases"]).fetchall() == expected
    expected = [(each.key, each.steps, each.total, each.per_second) for each in report.throughput]
    assert connection.execute(report.queries["throughput"]).fetchall() == expected


def test_marks_of_steps_and_payloads_are_looked_through_on_the_host():
    host = only(marked(), rules=[]).host
    assert {row.name: row.count for row in host.annotations} == {
        "traceq.fetch#prefetch": 4,
        "traceq.phase#forward": 4,
        "traceq.fetch#loader": 4,
        "traceq.phase#checkpoint": 1,
    }


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    "args",
    ["{}", '{"traceq": 1}', '{"traceq": {"overhead_share": "much"}}', '{"traceq": {"overhead_share": "inf"}}', None],
)
def test_an_overhead_that_is_no_number_is_none(args):
    assert only(MadeUp(args=args), rules=[]).trace.overhead_share is None


def test_a_trace_without_slices_has_no_steps():
    report = only(MadeUp(ts=None, dur=None), rules=[])
    assert report.steps.source is None
    assert report.steps.p50_ns is None
    assert report.steps.counted == 0


def test_no_finding_is_made_of_a_ledger_that_does_not_add_up():
    connection = database(training())
    connection.execute(
        "update time_ledger set dur = dur + 1 where device = 1 and step = 2 and category = 'idle_unattributed'"
    )
    (report,) = build(connection, 10).traces
    assert not report.findings
    assert not report.clean
    (failed,) = report.failed
    assert failed.error == "device 1: 30000002 ns in the ledger, 30000001 ns in the steps; ingest the trace again"


def test_a_rule_that_raises_is_reported_as_failed_and_the_others_still_run():
    def broken(_subject):
        raise ZeroDivisionError("a\nb")

    host_bound = next(each for each in all_rules() if each.name == "host-bound")
    (report,) = build(database(training()), 10, rules=[host_bound._replace(judge=broken), *all_rules()]).traces
    assert [(each.rule, each.error) for each in report.failed] == [("host-bound", "ZeroDivisionError: a b")]
    assert report.findings


def test_top_leaves_the_smallest_findings_out_and_counts_them():
    everything = only(training(), top=10).findings
    assert len(everything) > 1
    report = only(training(), top=1)
    assert report.findings == everything[:1]
    assert report.findings_left_out == len(everything) - 1


@pytest.mark.slow
def test_ids_of_findings_outlive_a_new_recording_and_are_unique():
    rules = [each for each in all_rules() if each.name == "idle-unattributed"]

    def ids(*traces):
        return [each.observations[0].finding_id for each in build(database(*traces), 1, rules=rules).traces]

    def trace(**facts):
        return MadeUp(**facts).step(0, 10).gpu("compute", 0, 5)

    assert ids(trace(sha256="a" * 64)) == ids(trace(sha256="b" * 64)) == ["idle-unattributed"]
    assert ids(trace(rank=0), trace(rank=1)) == ["idle-unattributed@rank0", "idle-unattributed@rank1"]
    assert ids(trace(run="new", rank=0)) == ["idle-unattributed@new@rank0"]
    assert ids(trace(sha256="a" * 64), trace(sha256="b" * 64)) == [
        "idle-unattributed@aaaaaaaa",
        "idle-unattributed@bbbbbbbb",
    ]


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("paths", "files"),
    [
        (["/home/me/t.json"], ["t.json"]),
        (["/home/me/r0/t.json", "/home/me/r1/t.json"], ["r0/t.json", "r1/t.json"]),
        (["a.json", "b.json"], ["a.json", "b.json"]),
        (["/home/me/a.json", "b.json"], ["a.json", "b.json"]),
    ],
)
def test_files_are_named_without_the_directories_they_share(paths, files):
    traces = [MadeUp(path=path) for path in paths]
    assert [each.trace.file for each in build(database(*traces), 1, rules=[]).traces] == files


def test_program_is_told_by_property_and_the_most_frequent_first():
    trace = MadeUp().device(0, "NVIDIA H100").gpu("compute", 0, 100, name="void at::native::fill<float>(float)")
    for kind, name in (("op", "aten::mm"), ("op", "autograd::engine::x"), ("annotation", "FSDP::pre_forward")):
        trace.cpu(kind, name, 0, 10)
    trace.cpu("annotation", "backward", 10, 10)
    report = handmade_traces.report(trace)
    assert [(each.property, each.value, each.count) for each in report.traces[0].program] == [
        ("language", "python", 1),
        ("framework", "PyTorch", 3),
        ("framework", "FSDP", 1),
        ("mode", "eager", 1),
        ("workload", "training", 2),
        ("vendor", "nvidia", 1),
    ]
    assert "program    Python; PyTorch, FSDP; eager; training; NVIDIA" in blocks_to_text(compose_report(report))


PLACE = {"trace_id": 1, "top": 10, "job": 0, "time_window": 0}

RECORDS = [
    *LISTS.values(),
    *(LISTS_OF_JOB | {"job_axis": model.JobAxis}).items(),
    ("job_rank", model.JobRank),
    ("job", model.Job),
    ("host_annotation", model.AnnotationTime),
    ("host_operator", model.OperatorTime),
]


@pytest.mark.parametrize(("query", "made"), RECORDS, ids=lambda each: each if isinstance(each, str) else "")
def test_columns_of_a_query_are_the_first_fields_of_what_its_rows_become(query, made):
    """A field has the name of its column, or that with a unit."""
    connection = database(training())
    read_rows(connection, query, **PLACE)
    columns = [column[0] for column in connection.description]
    names = made.__struct_fields__[: len(columns)]
    wrong = [column for name, column in zip(names, columns, strict=True) if column not in without_unit(name)]
    assert wrong == []


def without_unit(name):
    return name, name.rsplit("_", 1)[0], name.split("_", 1)[-1]


@pytest.mark.parametrize("query", NEEDS)
def test_a_query_that_is_not_run_would_find_nothing(query):
    connection = database(training())
    connection.execute(f"delete from {NEEDS[query]}")
    found = read_rows(connection, query, **PLACE)
    assert found == [] or (query, found[0]["steps"], len(found)) == ("serving", 0, 1)


def test_queries_of_empty_tables_are_not_run():
    queries = Queries(database(training()))
    queries.connection.close()
    assert queries.read_rows("snapshot_peak", trace_id=1) == []
    with pytest.raises(Exception, match="closed"):
        queries.read_rows("step_stats", trace_id=1)
