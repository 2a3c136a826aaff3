"""Compiled programs with a flaw and without: what a report says of the flaw, and what was measured last."""

from __future__ import annotations

import gzip
from importlib.util import find_spec

import pytest

from pairs.compiled import MEASURED, PROGRAMS, load_measured, predict, record_program
from pairs.compiled_page import PAGE, error_of, is_inside, table_of

NEAR = 0.3
RECORDED = [compiled for compiled in PROGRAMS if compiled.program in ("compressed", "counted_calls")]


def check_report(compiled, trace, log):
    """Check that a report of a trace and its log names the flaw, and what it costs within its bounds."""
    predicted, names = predict(compiled, trace, log)
    assert predicted is not None
    assert predicted["low"] <= predicted["likely"] <= predicted["high"]
    assert names


def test_what_was_said_came_true():
    results = load_measured()
    assert set(results) == {each.program for each in PROGRAMS}
    assert [name for name, measured in results.items() if not is_inside(measured)] == []
    assert [name for name, measured in results.items() if not measured["names"]] == []
    errors = {name: error_of(measured) for name, measured in results.items()}
    assert sum(abs(error) <= NEAR for error in errors.values() if error is not None) >= 8, errors


def test_the_page_has_what_was_measured():
    assert table_of(load_measured()) in PAGE.read_text("utf-8")


@pytest.mark.parametrize("compiled", RECORDED, ids=lambda each: each.program)
def test_a_report_of_a_recording_names_the_flaw(tmp_path, compiled):
    """A break and a recompilation, as they were recorded: compiling takes half a minute a program."""
    trace, log = tmp_path / f"{compiled.program}.json", tmp_path / f"{compiled.program}.log"
    for path in (trace, log):
        path.write_bytes(gzip.decompress(MEASURED.with_name(f"{path.name}.gz").read_bytes()))
    check_report(compiled, trace, log)


@pytest.mark.slow
@pytest.mark.skipif(find_spec("torch") is None, reason="needs PyTorch, and a compiler of C++")
@pytest.mark.parametrize("compiled", PROGRAMS, ids=lambda each: each.program)
def test_a_report_names_the_flaw(tmp_path, compiled):
    trace, log = record_program(compiled.program, tmp_path / "cache", tmp_path)
    check_report(compiled, trace, log)
