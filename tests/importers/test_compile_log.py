"""Structured logs of torch.compile: what is read of a real one, of older layouts, and of damaged ones."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from traceq.errors import UnusableTrace
from traceq.importers.compile_log import find_compile_logs, is_compile_log, read_compile_log
from traceq.importers.compile_log.guards import parse_guard, parse_reasons
from traceq.importers.compile_log.reasons import kind_of_break, parse_break

LOG = Path(__file__).resolve().parents[2] / "fixtures" / "compile_logs" / "many_causes.log"


@pytest.fixture(scope="module")
def log():
    return read_compile_log(LOG)


def record(fields, payload=None, process=7, at="10:00:00.000000"):
    """A record as PyTorch writes it."""
    if payload is not None:
        fields = {**fields, "has_payload": hashlib.md5(payload.encode(), usedforsecurity=False).hexdigest()}
    lines = [f"V0102 {at} {process} torch/_dynamo/utils.py:1] {json.dumps(fields)}"]
    return "\n".join([*lines, *(f"\t{line}" for line in (payload.split("\n") if payload is not None else ()))]) + "\n"


def of(frame, version, attempt=0):
    return {"frame_id": frame, "frame_compile_id": version, "attempt": attempt}


def event(name, kind, at_us, frame=0, version=0):
    return record({"chromium_event": {}, **of(frame, version)}, json.dumps({"name": name, "ph": kind, "ts": at_us}))


def artifact(name, payload, frame=0, version=0):
    return record({"artifact": {"name": name, "encoding": "string"}, **of(frame, version)}, payload)


def read(folder, text):
    path = folder / "dedicated_log_torch_trace_x.log"
    path.write_text(text, "utf-8")
    return read_compile_log(path)


# --- a real log


def test_every_record_of_a_real_log_is_read(log):
    text = LOG.read_text("utf-8")
    assert log.records == len(re.findall(r"^V\d{4} ", text, re.MULTILINE))
    assert (log.lines, log.left_out) == (text.count("\n"), {})
    assert (log.version, log.process) == ("2.13.0+cpu", 345)


def test_compile_times_of_a_real_log_are_those_of_its_metrics(log):
    told = {
        metrics["compile_id"]: metrics["entire_frame_compile_time_s"]
        for metrics in map(
            json.loads, re.findall(r'"compilation_metrics": (\{.*?\}), "frame_id"', LOG.read_text("utf-8"))
        )
    }
    assert len(told) == 23
    found = {each.compile_id: each.dur / 1e9 for each in log.compilations if each.dur is not None}
    assert found == pytest.approx(told, abs=0.002)


def test_graph_breaks_of_a_real_log(log):
    assert [f"{each.compile_id} {each.place.line} {each.kind}" for each in log.graph_breaks] == [
        "0/0 19 print",
        "0/1 19 print",
        "2/0 28 item",
        "3/0 37 branch",
        "5/0 46 other",
        "6/0 46 logging",
        "8/0 54 c_function",
        "10/0 67 disabled",
    ]
    assert [each.compile_id for each in log.graph_breaks if each.skips_function] == ["2/0"]


def test_the_line_of_a_break_in_a_library_is_that_of_the_program(log):
    (found,) = (each for each in log.graph_breaks if each.inside)
    assert (found.place.file, found.place.line, found.frame_line) == ("/app/many_causes.py", 46, 46)
    assert found.inside == "/usr/lib/python3.11/logging/__init__.py(2087): getLogger"


def test_guards_of_a_real_log(log):
    seen = set()
    latest = [each for each in log.recompilations if not (each.compile_id in seen or seen.add(each.compile_id))]
    assert [f"{each.compile_id} {each.kind} {each.source}: {each.expected}, {each.actual}" for each in latest] == [
        "0/1 shape batch: 8, 9",
        "1/1 shape scaled: 8, 9",
        "12/1 length items: 1, None",
        "12/2 text mode: 'single', None",
        "12/3 none extra: None, None",
        "12/4 object items[0]: batch, None",
        "12/5 dtype batch: Double, Float",
        "12/6 state None: None, None",
        "12/7 state None: None, None",
        "12/8 length items: 3, None",
    ]
    assert {each.place.file for each in log.recompilations} <= {"/app/many_causes.py", None}


# --- texts of several versions


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("    - 0/0: L['x'].size()[0] == 3  # y = x + 1  # a/b.py:4 in f", ("0/0", "shape", "x.size()[0]", "3", 4)),
        ("0/0: tensor 'L['x']' size mismatch at index 1. expected 3, actual 4", ("0/0", "shape", "x", "3", None)),
        ("0/2: tensor 'x' stride mismatch at index 0. expected 4, actual 1", ("0/2", "stride", "x", "4", None)),
        ("0/0: tensor 'x' requires_grad mismatch. expected requires_grad=0", ("0/0", "requires_grad", "x", None, None)),
        ("0/0: L['self'].training == True", ("0/0", "bool", "self.training", "True", None)),
        ("0/0: not L['flag']", ("0/0", "bool", "flag", "False", None)),
        ("0/0: L['lr'] == 0.001", ("0/0", "float", "lr", "0.001", None)),
        ("0/0: G['COUNT'] == 3", ("0/0", "int", "COUNT", "3", None)),
        ("0/0: ___check_obj_id(L['fn'], 94)", ("0/0", "object", "fn", None, None)),
        ("0/1: len(L['xs']) == 2", ("0/1", "length", "xs", "2", None)),
        ("0/0: ___check_global_state()", ("0/0", "state", None, None, None)),
        ("!1/0/0: L['mode'] == 'a'", ("1/0/0", "text", "mode", "'a'", None)),
        ("something else", (None, "other", None, None, None)),
    ],
)
def test_guards_by_their_words(text, expected):
    found = parse_guard(text)
    assert (found.failed_id, found.kind, found.source, found.expected, found.place.line) == expected


def test_reasons_are_a_text_or_a_list():
    assert [each.failed_id for each in parse_reasons('["0/1: len(xs) == 2", "0/0: len(xs) == 1"]')] == ["0/1", "0/0"]
    assert [each.failed_id for each in parse_reasons("0/0: len(xs) == 1")] == ["0/0"]
    assert [each.failed_id for each in parse_reasons('"0/0: len(xs) == 1"')] == ["0/0"]
    assert parse_reasons("") == []


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("call_function BuiltinVariable(print) [ConstantVariable()] {}", "print"),
        ("'call_method TensorVariable() item () {}'", "item"),
        ("generic_jump TensorVariable()", "branch"),
        ("dynamic shape operator: aten.nonzero.default", "shape"),
        ("call torch._dynamo.disable() wrapped function <function f>", "disabled"),
        (
            "Graph break due to unsupported builtin zlib.compress. This function is either a Python builtin or a C extension",
            "c_function",
        ),
        ("builtin: sorted [<class 'torch'>] False", "builtin"),
        ("torch.* op returned non-Tensor int call_function", "other"),
    ],
)
def test_kinds_of_breaks_by_words_of_older_versions(reason, kind):
    assert kind_of_break(reason) == kind


def test_a_break_of_an_older_version():
    said = parse_break(
        "Graph break in user code at /app/a.py:5\nReason: Unsupported: generic_jump TensorVariable()\nUser code traceback:\n"
        '  File "/app/a.py", line 9, in main\n    f(x)\n  File "/app/a.py", line 5, in f\n    if x.sum() > 0:\n'
    )
    assert (said.place.line, said.place.function, said.place.code) == (5, "f", "if x.sum() > 0:")
    assert (said.kind, said.reason) == ("branch", "Unsupported: generic_jump TensorVariable()")


def test_breaks_without_records_follow_from_the_rest_of_a_function(tmp_path):
    def metrics(frame, name, line, **more):
        said = {
            "co_name": name,
            "co_filename": "/app/a.py",
            "co_firstlineno": line,
            "entire_frame_compile_time_s": 1.0,
            **more,
        }
        return record({"compilation_metrics": {**said, "start_time": 1.7e9}, **of(frame, 0)})

    found = read(
        tmp_path,
        metrics(0, "f", 3, restart_reasons=["generic_jump TensorVariable()"])
        + metrics(1, "torch_dynamo_resume_in_f_at_5", 5),
    )
    (only,) = found.graph_breaks
    assert (only.place.line, only.kind, only.is_from_log, only.compile_id) == (5, "branch", False, "0/0")


# --- phases and ids


def test_phases_nest_and_one_that_never_ends_has_no_duration(tmp_path):
    found = read(
        tmp_path,
        event("entire_frame_compile", "B", 1_700_000_000_000_000)
        + event("backend_compile", "B", 1_700_000_000_000_010.5)
        + event("lost", "B", 1_700_000_000_000_011)
        + event("backend_compile", "E", 1_700_000_000_000_020)
        + event("entire_frame_compile", "E", 1_700_000_000_000_030)
        + event("entire_frame_compile", "E", 1_700_000_000_000_031),
    )
    assert [(each.name, each.depth, each.parent, each.dur) for each in found.phases] == [
        ("entire_frame_compile", 0, None, 30_000),
        ("backend_compile", 1, 0, 9_500),
        ("lost", 2, 1, None),
    ]
    assert [(each.compile_id, each.dur) for each in found.compilations] == [("0/0", 30_000)]


def test_an_id_that_comes_again_is_another_compilation(tmp_path):
    once = (
        event("dynamo", "B", 1_700_000_000_000_000)
        + event("entire_frame_compile", "B", 1_700_000_000_000_000)
        + event("entire_frame_compile", "E", 1_700_000_000_000_030)
        + record({"compilation_metrics": {"co_name": "f"}, **of(0, 0)})
        + event("dynamo", "E", 1_700_000_000_000_040)
    )
    assert [each.compile_id for each in read(tmp_path, once * 3).compilations] == ["0/0", "0/0#2", "0/0#3"]


# --- damage


def test_foreign_damaged_and_cut_lines_are_counted_and_what_stands_around_them_is_read(tmp_path):
    good = artifact("recompile_reasons", "0/0: len(xs) == 1", version=1)
    changed = artifact("recompile_reasons", "0/0: len(xs) == 2", version=2).replace("== 2", "== 3")
    text = (
        "Traceback (most recent call last):\n" + good + changed + good.replace('"attempt": 0', '"attempt"') + good[:90]
    )
    found = read(tmp_path, text)
    assert [each.compile_id for each in found.recompilations] == ["0/1"]
    assert found.left_out == {"foreign": 1, "damaged": 3}


def test_prefixes_of_launchers(tmp_path):
    assert read(tmp_path, "[rank3]:" + record({"dynamo_start": {"stack": []}, **of(0, 0), "rank": 3})).rank == 3


@pytest.mark.parametrize(
    "text", ["", "hello\n", "I1130 10:00:00.000000 7 a.cc:1] {}\n", '{"traceEvents": []}\n', "V0102 x\n" * 30]
)
def test_what_is_no_log(tmp_path, text):
    path = tmp_path / "a.log"
    path.write_text(text, "utf-8")
    assert not is_compile_log(path)


def test_a_log_without_a_whole_record_is_an_error(tmp_path):
    path = tmp_path / "a.log"
    path.write_text(record({"dynamo_start": {}, **of(0, 0)})[:70], "utf-8")
    with pytest.raises(UnusableTrace, match="holds no record"):
        read_compile_log(path)


def test_logs_are_found_in_folders(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "b.log").write_bytes(LOG.read_bytes())
    (tmp_path / "a.txt").write_text("hello", "utf-8")
    assert [path.name for path in find_compile_logs(tmp_path)] == ["b.log"]


@pytest.mark.parametrize(
    "fields",
    [
        {"chromium_event": {}, **of(0, 0)},
        {"str": ["a"]},
        {"str": [1, 2]},
        {"compilation_metrics": 3, **of(0, 0)},
        {"dynamo_start": 3, **of(0, 0)},
        {"artifact": {"name": "recompile_reasons"}, **of(0, 1)},
    ],
)
def test_records_of_another_shape_are_counted(tmp_path, fields):
    found = read(tmp_path, record(fields) + record({"dynamo_start": {"stack": []}, **of(0, 0)}))
    assert (found.records, found.left_out) == (1, {"damaged": 1})


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["stack", "line", "name", "ts", "ph"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(
    kind=st.sampled_from(["chromium_event", "dynamo_start", "compilation_metrics", "artifact", "str"]),
    value=_VALUES,
    metrics=st.dictionaries(
        st.sampled_from(["entire_frame_compile_time_s", "start_time", "guard_count", "restart_reasons"]), _VALUES
    ),
    ids=st.tuples(_VALUES, _VALUES),
)
def test_no_value_breaks_the_reader(tmp_path_factory, kind, value, metrics, ids):
    folder = tmp_path_factory.mktemp("log")
    fields = {kind: metrics if kind == "compilation_metrics" else value, "frame_id": ids[0], "frame_compile_id": ids[1]}
    found = read(folder, record(fields, json.dumps(value)) + record({"dynamo_start": {"stack": []}, **of(0, 0)}))
    assert found.records + sum(Counter(found.left_out).values()) == 2
