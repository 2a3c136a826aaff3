"""Every number of a label is found again in the raw file; the reading needs no traceq."""

import ast
import json
from pathlib import Path

import pytest
from raw_facts import LABELS, count_repeats, list_differences, list_kernels, without_stray
from raw_files import SHARED, Raw, Slice, list_traces, strip_endings

_FIELDS = {"trace", "capture", "unit", "window", "run", "program", "evidence", "check"}

# The kinds of captures of docs/decisions/0029-triage.md, each with its reasons.
_KINDS = {
    "nothing_recorded": {"empty"},
    "host_only": {"by_design", "rows_missing", "not_collected", "other_device"},
    "start_up_only": {"ended", "stopped"},
    "fragment": {"graph_capture", "devices_missing", "cut", "no_unit"},
    "one_off": {"whole_run", "cold"},
    "steps": {"marked", "recurrence"},
    "window": {"unmarked"},
}

needs_shared = pytest.mark.skipif(not SHARED.exists(), reason="the public traces are not here")


# Larger traces, in bytes as they lie there, are read by the slow tests: neither they nor the labels change.
SMALL = 300_000


def _list_labels() -> list[Path]:
    return sorted(LABELS.glob("*.json"))


def _with_traces():
    """The labels, those of large traces as slow."""
    marks = {label: (pytest.mark.slow,) if _measure_trace(label) > SMALL else () for label in _list_labels()}
    return [pytest.param(label, marks=mark, id=label.stem) for label, mark in marks.items()]


def _measure_trace(label: Path) -> int:
    """Bytes of the trace of the label; 0 where it is not here."""
    trace = SHARED / json.loads(label.read_text())["trace"]
    return trace.stat().st_size if trace.exists() else 0


@needs_shared
@pytest.mark.parametrize("label", _with_traces())
def test_label_says_what_the_raw_file_says(label):
    assert list_differences(json.loads(label.read_text())) == []


@needs_shared
def test_every_trace_has_a_label():
    assert {strip_endings(trace): str(trace.relative_to(SHARED)) for trace in list_traces()} == {
        path.stem: json.loads(path.read_text())["trace"] for path in _list_labels()
    }


def _is_whole(text: str) -> bool:
    told = json.loads(text)
    return (
        set(told) - {"judged"} == _FIELDS
        and told["unit"]["kind"] in {"marked", "unmarked", "none", "either"}
        and (told["unit"]["steps"] == 0) == (told["unit"]["kind"] == "none")
        and _has_times(told, "window")
        and _has_times(told, "run")
        and bool(told["evidence"])
        and "CANARY" not in text
    )


def _has_times(told: dict, part: str) -> bool:
    """Whether a window or run has a length; a file without any event has none."""
    start, end = told[part]["start"], told[part]["end"]
    return told["capture"]["kind"] == "nothing_recorded" if start is None else start < end


def test_labels_are_whole():
    assert [label.stem for label in _list_labels() if not _is_whole(label.read_text())] == []


def test_every_label_says_what_kind_of_capture_it_is():
    captures = {label.stem: json.loads(label.read_text())["capture"] for label in _list_labels()}
    assert [name for name, told in captures.items() if not _is_a_capture(told)] == []


def _is_a_capture(told: dict) -> bool:
    answers = [(each["kind"], each["reason"]) for each in [told, *told["may_also_be"]]]
    return (
        list(told) == ["kind", "reason", "may_also_be", "evidence", "qualifications"]
        and all(reason in _KINDS.get(kind, ()) for kind, reason in answers)
        and len(set(answers)) == len(answers)
        and all(each["why"] for each in told["may_also_be"])
        and bool(told["evidence"])
        and all(isinstance(each, str) for each in [*told["evidence"], *told["qualifications"]])
    )


def test_captures_agree_with_their_units():
    wrong = []
    for label in _list_labels():
        told = json.loads(label.read_text())
        answer, steps = (told["capture"]["kind"], told["capture"]["reason"]), told["unit"]["steps"]
        least = {("steps", "marked"): 1, ("steps", "recurrence"): 2}.get(answer, 0)
        most = 0 if answer[0] in {"nothing_recorded", "window"} else steps
        wrong += [] if least <= steps <= most else [f"{label.stem}: {answer} with {steps} steps"]
    assert wrong == []


def test_labels_owe_nothing_to_traceq():
    for name in ("raw_files.py", "raw_facts.py", "raw_others.py"):
        tree = ast.parse(Path(__file__).with_name(name).read_text())
        imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        imported |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert not {module for module in imported if module.split(".")[0] == "traceq"}


def test_repeats():
    assert count_repeats(list("xabcabcabcy"), 3) == 3
    assert count_repeats(list("xabcabcay"), 3) == 2
    assert count_repeats(list("abcdef"), 3) == 0


def test_stray_work_before_a_start_up_is_left_out():
    lone = _make_kernel(0, 1)
    work = [_make_kernel(1_000 + place * 10, 9) for place in range(100)]
    assert without_stray([lone, *work]) == work
    assert without_stray(work) == work
    many = [_make_kernel(place * 100, 1) for place in range(10)]
    assert without_stray(many) == many


def test_kernels_stand_in_the_order_of_their_launches():
    late = _make_kernel(10, 5, launch=2)
    early = _make_kernel(20, 5, launch=1)
    assert list_kernels(Raw([late, early], [], [], [])) == [early, late]


def _make_kernel(start, dur, launch=None):
    return Slice("kernel", "k", start, start + dur, "0/7", launch=launch)
