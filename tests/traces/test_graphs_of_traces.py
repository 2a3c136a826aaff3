"""Real steps in graphs with the capture of these graphs beside them: what each kernel is of equals a reading of the raw files."""

from __future__ import annotations

import gzip
import json
from collections import Counter, defaultdict
from contextlib import closing

import pytest
from trace_files import SHARED

from traceq.app.api import ingest
from traceq.database.connect import connect

JUDGED = SHARED / "judged" / "torch"
# Trace, capture; graphs launched, kernels in them, their time in ns; weights and tokens in the cache read at the least, bytes.
PAIRS = [
    ("sglang_decode", "sglang_decode_capture", 1, 544, 9_656_404, (15_136_194_560, 32_785 * 147_456)),
    ("vllm_decode_full", "vllm_decode_full_capture", 1, 421, 10_388_482, (2_436_710_400, 55_086 * 49_152)),
    ("vllm_piecewise_graph", "vllm_piecewise_capture", 25, 361, 149_919_755, None),
]
pytestmark = pytest.mark.skipif(not JUDGED.exists(), reason="the folder shared/judged is not beside the checkout")


def read_events(name):
    with gzip.open(JUDGED / f"tracelens_{name}.json.gz") as file:
        return json.load(file)["traceEvents"]


def list_captured(name):
    """The operator of each launch that a capture holds, graph by graph: its name and shapes, by PyTorch's own ids."""
    found, graph = [], None
    listed = read_events(name)
    operators = {each["args"]["External id"]: each for each in listed if each.get("cat") == "cpu_op"}
    for each in sorted((each for each in listed if each.get("cat") == "cuda_runtime"), key=lambda each: each["ts"]):
        if each["name"] == "hipStreamBeginCapture":
            graph = []
        elif each["name"] == "hipStreamEndCapture":
            found.append(graph)
            graph = None
        elif graph is not None and "kernel" in each["args"]:
            operator = operators.get(each["args"].get("External id"))
            graph.append((each["args"]["kernel"], operator["name"], operator["args"].get("Input Dims")))
    return found


def list_replayed(name):
    """The kernels of each launch of a graph, in their order."""
    listed = read_events(name)
    launches = {each["args"]["correlation"] for each in listed if each["name"] == "hipGraphLaunch"}
    found = defaultdict(list)
    for each in sorted((each for each in listed if each.get("cat") == "kernel"), key=lambda each: each["ts"]):
        if each["args"]["correlation"] in launches:
            found[each["args"]["correlation"]].append(each)
    return [found[correlation] for correlation in sorted(found)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("trace", "capture", "graphs", "kernels", "dur", "read"), PAIRS, ids=[each[0] for each in PAIRS]
)
def test_kernels_of_graphs_have_the_operators_of_the_capture(trace, capture, graphs, kernels, dur, read, tmp_path):
    ingest(
        JUDGED / f"tracelens_{trace}.json.gz",
        tmp_path / "x.duckdb",
        capture=JUDGED / f"tracelens_{capture}.json.gz",
    )
    expected, places = Counter(), 0
    for ran, launched in zip(list_replayed(trace), list_captured(capture), strict=True):
        assert [each["name"] for each in ran] == [name for name, _, _ in launched]
        for (name, operator, dims), each in zip(launched, ran, strict=True):
            expected[name, operator, json.dumps(dims)] += round(each["dur"] * 1000)
        places += len(ran)
    with closing(connect(tmp_path / "x.duckdb")) as database:
        found = database.execute(
            "select g.name, k.operator, k.shapes, sum(g.dur)::bigint"
            " from graph_kernel as k join gpu_slice as g using (trace_id, slice_id) group by all"
        ).fetchall()
        assert {(name, operator, json.dumps(json.loads(dims))): dur for name, operator, dims, dur in found} == expected
        assert places == kernels
        assert sum(expected.values()) == dur
        told = "count(*), sum(kernels), sum(matched_kernels), sum(matched_dur), min(share)"
        assert database.execute(f"select {told} from graph_launch").fetchall() == [(graphs, kernels, kernels, dur, 1)]
        roofline = database.execute("select weight_bytes, kv_bytes, least_dur from serving_roofline").fetchall()
    if read is None:
        assert roofline == []
    else:
        assert roofline == [(*read, pytest.approx(sum(read) / 5325, abs=1))]


@pytest.mark.slow
def test_layers_of_pieces_follow_from_their_order(tmp_path):
    """25 pieces, of which 23 have the same kernels."""
    trace, capture = (
        JUDGED / f"tracelens_{name}.json.gz" for name in ("vllm_piecewise_graph", "vllm_piecewise_capture")
    )
    ingest(trace, tmp_path / "x.duckdb", capture=capture)
    with closing(connect(tmp_path / "x.duckdb")) as database:
        rows = database.execute("select captured_graph, candidates from graph_launch order by launch_id").fetchall()
    assert rows == [(0, 1), *((number, 23) for number in range(1, 24)), (24, 1)]


@pytest.mark.slow
@pytest.mark.parametrize("capture", ["vllm_decode_full_capture", "vllm_piecewise_capture", "sglang_prefilldecode"])
def test_captures_of_other_programs_are_refused(capture, tmp_path):
    ingest(
        JUDGED / "tracelens_sglang_decode.json.gz",
        tmp_path / "x.duckdb",
        capture=[JUDGED / f"tracelens_{capture}.json.gz"],
    )
    with closing(connect(tmp_path / "x.duckdb")) as database:
        assert database.execute("select matched_kernels, share, candidates from graph_launch").fetchall() == [(0, 0, 0)]
        ((note,),) = database.execute("select text from import_note where code = 'graph_capture'").fetchall()
    assert "0 of 544 kernels" in note
