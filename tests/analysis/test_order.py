"""What analyses say that they read and make is what their SQL does, and their order follows from it."""

from __future__ import annotations

from pathlib import Path

import pytest
from flows import ANALYSIS, flow_in, head_of, list_files, list_importer_tables, python_head, tables_read

from traceq.analysis import order
from traceq.analysis.flow import Flow, flow_of_text, in_order

# The modules of analyses in Python; the pieces of intervals are one function for all.
MODULES = {
    "compiled_kernel": "kernels.compiled_kernel",
    "compiled_module": "kernels.compiled_module",
    "graph_match": "graphs.graph_match",
    "host_debt": "ledger.host_debt",
    "host_timeline": "ledger.host_timeline",
    "idle_gap": "ledger.idle_gap",
    "kernel_family": "kernels.kernel_family",
    "layer": "layers.layer",
    "module_timeline": "kernels.module_timeline",
    "nesting": "nesting.nesting",
    "process_group": "communication.process_groups",
    "replay": "replay.replayed",
    "run_change": "run.run_change",
    "signature_ceiling": "kernels.signature_ceiling",
    "stall_debt": "stalls.stall_debt",
    "steps": "steps.step",
    "way": "order",
}
# Tables that later analyses add to.
ADDED_TO = {"collective", "import_note", "stall_cost", "trace"}
CUT = {name for name in order._IN_PYTHON if name.endswith("_piece")}


@pytest.mark.parametrize("file", list_files(), ids=lambda file: file.relative_to(ANALYSIS).as_posix())
def test_the_head_of_a_file_says_what_it_reads_and_leaves(file):
    assert flow_of_text(file.read_text("utf-8")) == head_of(file)


def test_every_analysis_in_python_is_checked():
    assert set(order._IN_PYTHON) == {*MODULES, *CUT}


@pytest.mark.parametrize("name", sorted(set(MODULES) - {"way"}))
def test_an_analysis_in_python_says_what_it_reads_and_makes(name):
    said, found = order.flow_of(name), python_head(f"traceq.analysis.{MODULES[name]}")
    base = list_importer_tables()
    assert said.reads == found.reads - said.makes - base
    assert {table for table in found.makes if not table.startswith("_")} - base <= said.makes
    text = "\n".join(file.read_text("utf-8") for file in (ANALYSIS / MODULES[name].split(".")[0]).glob("*.*"))
    assert {table for table in said.makes if table not in text} == set()


def test_analyses_come_after_those_that_make_what_they_read():
    """Also what importers fill and analyses fill up: heads do not say that they read it."""
    topics = (*order.sort_topics(order.JOINED), *order.sort_topics(order.TOPICS), *order.NOTES)
    # an analysis of several topics runs once
    names = list(dict.fromkeys(name for topic in topics for name in topic.analyses))
    last = {table: place for place, name in enumerate(names) for table in order.flow_of(name).makes}
    early = {
        (name, table)
        for place, name in enumerate(names)
        for table in _read_by(name) - order.flow_of(name).makes - ADDED_TO
        if last.get(table, -1) > place
    }
    assert early == set()


def _read_by(name: str) -> set[str]:
    if name in order._IN_PYTHON:
        return set(order.flow_of(name).reads)
    return tables_read((ANALYSIS.parent / order._path_of(name)).read_text("utf-8"))


@pytest.mark.parametrize("topic", order.TOPICS, ids=lambda topic: topic.members[0])
def test_the_order_of_a_topic_does_not_depend_on_how_it_is_listed(topic):
    names = topic.members[::-1]
    found = list(in_order(names, {name: order.flow_of(name) for name in names}))
    for place, name in enumerate(found):
        later = {table for other in found[place + 1 :] for table in order.flow_of(other).makes}
        assert not (order.flow_of(name).reads - order.flow_of(name).makes) & later


def test_analyses_that_need_one_another_have_no_order():
    flows = {"a": Flow(frozenset("x"), frozenset("y")), "b": Flow(frozenset("y"), frozenset("x"))}
    with pytest.raises(ValueError, match="these depend on each other in a cycle"):
        list(in_order(list(flows), flows))


def test_those_that_fill_a_table_up_keep_their_order():
    both = Flow(frozenset("x"), frozenset("x"))
    flows = {"second": both, "third": both, "first": Flow(frozenset(), frozenset("x"))}
    assert list(in_order(list(flows), flows)) == ["first", "second", "third"]


def test_what_sql_reads_and_makes_is_found_in_its_text():
    text = """
        -- from _comment
        create temp table _own as with cte as (select 'from _text; join _text' from _given) from cte join step using (step);
        insert into _grown from macro('_named');
        drop table _own;
        insert into result select * from _own where a is distinct from b.c
    """
    assert flow_in(text) == Flow(
        frozenset({"_given", "_grown", "_named", "_own", "macro", "step"}), frozenset({"_grown", "result"})
    )


def test_heads_end_with_the_first_line_that_is_no_comment():
    text = "-- Why.\n-- reads: _a, b\n-- reads: c\n-- makes: _d\nselect 1\n-- reads: e\n"
    assert flow_of_text(text) == Flow(frozenset({"_a", "b", "c"}), frozenset({"_d"}))


def test_all_files_are_looked_at():
    assert len(list_files()) > 100
    assert {Path("ledger/idle_interval.sql"), Path("job/job.sql"), Path("notes.sql")} <= {
        file.relative_to(ANALYSIS) for file in list_files()
    }
