"""Annotations of CUDA graphs, in the trace or beside it: regions, modules, phases and collectives of replayed kernels."""

from __future__ import annotations

import json
from contextlib import closing

import pytest
from annotated_graphs import MERGED, STEPS, TrainingGraph, merge_inline, save_json, save_pickle

from traceq.database.connect import connect
from traceq.errors import UnusableTrace
from traceq.importers.graph_annotations import read_annotations
from traceq.loading.ingest import ingest
from traceq.loading.options import TraceOptions

MODULES = "select module, own_dur::bigint, forward_dur::bigint, backward_dur::bigint from module order by module"
COLLECTIVES = (
    "select op, bytes, group_name, group_size, count(*), sum(dur) from collective_slice group by all order by op"
)
SAVED = {"pickle": save_pickle, "JSON": save_json}


def read_all(tmp_path, trace, *queries, capture=()):
    """Ingest the trace and return the rows of each query."""
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(trace))
    database = tmp_path / "a.duckdb"
    ingest(path, database, options=TraceOptions(capture=capture))
    with closing(connect(database)) as connection:
        return [connection.sql(query).fetchall() for query in queries]


def path_of(fqn):
    """layers.0.attention.wq as a path of modules."""
    first, _, rest = fqn.partition(".")
    number, _, rest = rest.partition(".")
    return "/".join(filter(None, [f"{first}.{number}" if number else first, *rest.split(".")]))


def check_training(graph, modules, collectives):
    """Compare modules and collectives with the nodes of the graph."""
    own = {path_of(name): dur for name, dur in graph.sums("module_fqn").items()}
    assert {module: dur for module, dur, *_ in modules if dur} == own
    for phase, place in (("forward", 1), ("backward", 2)):
        told = graph.sums("module_fqn", phase=phase)
        for layer in range(3):
            inside = sum(dur for name, dur in told.items() if name.startswith(f"layers.{layer}."))
            (row,) = [row[1:] for row in modules if row[0] == f"layers.{layer}"]
            assert row[place] == inside
    assert collectives == [
        ("all_gather", 16 << 20, "3", 8, 3 * STEPS, 150_000 * STEPS),
        ("reduce_scatter", 16 << 20, "3", 8, 3 * STEPS, 165_000 * STEPS),
    ]


@pytest.mark.parametrize("layout", MERGED)
def test_annotations_in_the_trace_give_modules_phases_and_collectives(tmp_path, layout):
    graph = TrainingGraph()
    trace = MERGED[layout](graph.raw(), graph.annotations)
    streams = "select distinct stream from gpu_slice"
    modules, collectives, stream = read_all(tmp_path, trace, MODULES, COLLECTIVES, streams)
    check_training(graph, modules, collectives)
    assert stream == [(7,)]


@pytest.mark.parametrize("saved", SAVED)
def test_annotations_beside_the_trace_say_the_same(tmp_path, saved):
    graph = TrainingGraph()
    capture = SAVED[saved](tmp_path, graph.annotations)
    notes = "select code, severity, text from import_note where code = 'graph_annotations'"
    modules, collectives, note = read_all(tmp_path, graph.raw(), MODULES, COLLECTIVES, notes, capture=capture)
    check_training(graph, modules, collectives)
    nodes = len(graph.nodes)
    assert note == [
        ("graph_annotations", "info", f"annotations name {(nodes - 1) * STEPS} of {nodes * STEPS} GPU slices in graphs")
    ]


def test_phases_follow_from_the_order_where_modules_run_again_in_reverse(tmp_path):
    """torchtitan writes modules and no phases; of the last module forward and backward are one run."""
    graph, told = TrainingGraph(phases=False), TrainingGraph()
    query = (
        "select r.module, r.phase, r.phase_source, sum(g.dur)::bigint"
        " from graph_region as r join gpu_slice as g using (slice_id) where r.module is not null group by all order by all"
    )
    (rows,) = read_all(tmp_path, merge_inline(graph.raw(), graph.annotations), query)
    for phase in ("forward", "backward"):
        expected = {
            path_of(name): dur for name, dur in told.sums("module_fqn", phase=phase).items() if name != "output"
        }
        assert {module: dur for module, found, source, dur in rows if (found, source) == (phase, "order")} == expected
    assert [row[1:] for row in rows if row[0] == "output"] == [(None, None, 210_000 * STEPS)]


def test_the_last_module_turns_where_one_like_it_does(tmp_path):
    """Without a head the last module is one of the last layer: the layers before it say how many kernels are forward."""
    graph, told = TrainingGraph(phases=False), TrainingGraph()
    for one in (graph, told):
        one.nodes = [node for node in one.nodes if node[2] is None or node[2].get("module_fqn") != "output"]
    query = (
        "select r.module, r.phase, sum(g.dur)::bigint"
        " from graph_region as r join gpu_slice as g using (slice_id) where r.module is not null group by all order by all"
    )
    (rows,) = read_all(tmp_path, merge_inline(graph.raw(), graph.annotations), query)
    for phase in ("forward", "backward"):
        expected = {path_of(name): dur for name, dur in told.sums("module_fqn", phase=phase).items()}
        assert {module: dur for module, found, dur in rows if found == phase} == expected


@pytest.mark.parametrize("pattern", ["{phase} {module}", "{module} ({phase})", "{phase}: {module}"])
def test_names_of_regions_may_hold_the_phase(tmp_path, pattern):
    graph, told = TrainingGraph(key="name"), TrainingGraph()
    graph.nodes = [
        (
            kernel,
            dur,
            annotation
            and annotation
            | (
                {"name": pattern.format(phase=annotation.get("autograd_phase", "forward"), module=annotation["name"])}
                if annotation.get("name") not in (None, "optimizer")
                else {}
            ),
        )
        for kernel, dur, annotation in graph.nodes
    ]
    (modules,) = read_all(tmp_path, merge_inline(graph.raw(), graph.annotations), MODULES)
    # "output" alone is a region, and no module
    own = {path_of(name): dur for name, dur in told.sums("module_fqn").items() if name != "output"}
    assert {module: dur for module, dur, *_ in modules if dur} == own


def test_regions_without_modules_have_their_time(tmp_path):
    graph = TrainingGraph(key="name")
    graph.nodes = [
        (kernel, dur, {"name": told["name"].split(".")[-1]})
        for kernel, dur, told in graph.nodes
        if told and "name" in told
    ]
    query = "select region, sum(dur)::bigint from graph_region join gpu_slice using (slice_id) group by region"
    (rows,) = read_all(tmp_path, merge_inline(graph.raw(), graph.annotations), query)
    assert dict(rows) == graph.sums("name")


def test_annotations_of_another_run_are_told(tmp_path):
    graph = TrainingGraph()
    other = {node + (1 << 40): told for node, told in graph.annotations.items()}
    notes = "select severity, text from import_note where code = 'graph_annotations'"
    (rows,) = read_all(tmp_path, graph.raw(), notes, capture=save_json(tmp_path, other))
    slices = len(graph.nodes) * STEPS
    text = (
        f"annotations name 0 of {slices} GPU slices in graphs: ids of nodes are new in each run, so save them in the run"
        " that is traced"
    )
    assert rows == [("data_loss", text)]


def test_texts_are_regions_and_inner_annotations_win(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(
        json.dumps({"1": ["phase_A"], "2": [{"name": "outer", "dtype": "bf16"}, {"name": "inner"}], "3": []})
    )
    assert read_annotations(path) == {1: {"name": "phase_A"}, 2: {"name": "inner", "dtype": "bf16"}, 3: {}}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\x80\x04\x8c\x02os\x8c\x06system\x93.", "opcode b'\\x93'"),
        (b'{"1": [{"name": ', "annotations of CUDA graphs"),
        (b"\x80\x04]\x94.", "holds no annotations"),
    ],
)
def test_a_file_that_holds_something_else_is_refused(tmp_path, content, words):
    path = tmp_path / "a.pkl"
    path.write_bytes(content)
    with pytest.raises(UnusableTrace) as error:
        read_annotations(path)
    assert words in str(error.value)
