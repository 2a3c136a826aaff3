"""A trace file written in another way gives the same report, whole: what is judged must not hang on how it is written.

By default all changes of a small file of each family are made together, in one report; the slow run makes each alone, on the
real traces beside the checkout as well.
"""

from __future__ import annotations

from pathlib import Path

import chrome_changes
import nsys_changes
import pytest
from reports import compare_reports, report_json

ROOT = Path(__file__).parents[2]
KINETO, NSYS = (ROOT / "fixtures" / "run" / name for name in ("kineto_2026.json.gz", "nsys_2026.2.sqlite"))
# Small real traces of many kinds of programs and profilers.
_TRACES = ROOT.parent / "shared" / "traces"
REAL = (
    "torch/hta_amd_mi250_train.json.gz",
    "torch/kineto_2026_before_fix_trace.json",
    "torch/sidnb13_h100_transformer.pt.trace.json",
    "nsys/nsysai_mock.sqlite",
    "nsys/testcuda_4streams_report1.sqlite",
)


def parametrize_traces(fixture: Path, suffix: str) -> pytest.MarkDecorator:
    real = [_TRACES / name for name in REAL if suffix in name]
    missing = pytest.mark.skip(reason="the folder shared/traces is not beside the checkout")
    return pytest.mark.parametrize(
        "source",
        [fixture, *(pytest.param(path, marks=[] if path.exists() else missing) for path in real)],
        ids=lambda path: path.name,
    )


def test_all_changes_of_a_chrome_trace_at_once(tmp_path):
    trace = chrome_changes.load_trace(KINETO)
    for change in chrome_changes.MEANS_THE_SAME.values():
        trace = change(trace)
    move, by = chrome_changes.MOVED["before zero"]
    written = chrome_changes.write_with_bom(move(trace), tmp_path)
    assert compare_reports(report_json(written), report_json(KINETO), by) == []


def test_all_changes_of_an_nsys_export_at_once(tmp_path):
    move, by = nsys_changes.MOVED["before zero"]
    written = nsys_changes.write_changed(NSYS, tmp_path, *nsys_changes.MEANS_THE_SAME.values(), move)
    assert compare_reports(report_json(written), report_json(NSYS), by) == []


@pytest.mark.slow
@parametrize_traces(KINETO, ".json")
@pytest.mark.parametrize("change", [*chrome_changes.MEANS_THE_SAME, *chrome_changes.MOVED, *chrome_changes.WRITERS])
def test_a_change_of_a_chrome_trace(tmp_path, source, change):
    trace, by = chrome_changes.load_trace(source), 0
    if change in chrome_changes.MOVED:
        move, by = chrome_changes.MOVED[change]
        trace = move(trace)
    elif change in chrome_changes.MEANS_THE_SAME:
        trace = chrome_changes.MEANS_THE_SAME[change](trace)
    written = chrome_changes.WRITERS.get(change, chrome_changes.write_dense)(trace, tmp_path)
    assert compare_reports(report_json(written), report_json(source), by) == []


@pytest.mark.slow
@parametrize_traces(NSYS, ".sqlite")
@pytest.mark.parametrize("change", [*nsys_changes.MEANS_THE_SAME, *nsys_changes.MOVED])
def test_a_change_of_an_nsys_export(tmp_path, source, change):
    change, by = nsys_changes.MOVED.get(change) or (nsys_changes.MEANS_THE_SAME[change], 0)
    assert (
        compare_reports(report_json(nsys_changes.write_changed(source, tmp_path, change)), report_json(source), by)
        == []
    )
