"""A report on a dataset says what one on a database says, and reads the pieces of few ranks."""

from __future__ import annotations

import json
import shutil

import pytest
from handmade_job import rank_trace

import traceq
from traceq.dataset.manifest import read_manifest
from traceq.dataset.place import Place
from traceq.errors import StoreError, WrongUse


@pytest.fixture(scope="module")
def small(job_made):
    """Two windows of four ranks as a database and as a dataset."""
    return job_made / "database" / "job", job_made / "dataset" / "job"


@pytest.fixture(scope="module")
def many(tmp_path_factory, many_traces):
    """Six ranks, of which four are like the usual one and need not be looked at."""
    return _both(tmp_path_factory.mktemp("many"), many_traces)


def _both(folder, traces):
    traceq.ingest(traces, folder / "job.duckdb", run="made")
    traceq.ingest(traces, f"{folder}/job/", run="made")
    return folder / "job.duckdb", folder / "job"


@pytest.fixture
def without(tmp_path):
    """Copies a dataset without the files of most pieces."""

    def make(dataset, kept):
        copy = tmp_path / "copy"
        shutil.copytree(dataset, copy)
        for piece in read_manifest(Place(str(copy))).pieces:
            if piece.trace_id not in kept:
                shutil.rmtree(copy / piece.folder)
        return copy

    return make


def _text(report):
    return report.to_text().replace(report._source, "SOURCE")


def test_the_report_is_that_of_a_database(small):
    database, dataset = map(traceq.report, small)
    assert json.loads(database.to_json()) == json.loads(dataset.to_json())
    assert _text(database) == _text(dataset)


@pytest.mark.slow
def test_so_is_that_of_one_rank(small):
    database, dataset = (traceq.report(each, rank=1) for each in small)
    assert database.content == dataset.content


@pytest.mark.slow
def test_a_rank_is_reported_from_its_own_piece(small, without):
    whole = traceq.report(small[1], traces=[3])
    alone = traceq.report(without(small[1], {3}), traces=[3])
    assert alone.content == whole.content


RULE = """-- title: All ranks are there
-- fix: x
select step, ts, dur, name, slice_id, ledger_dur as claimed, category as cause, slice_id as busy_id
from busy_piece
where
    trace_id = $trace_id
    and device = $device
    and (select count(distinct trace_id) from step) = 6
    and (select count(distinct trace_id) from gpu_slice) = 6
    and exists (from collective_match)
    and (select count(distinct trace_id) from collective_member) = 6
"""


@pytest.mark.slow
def test_rules_of_users_see_all_ranks(many, tmp_path):
    rule = tmp_path / "all_ranks.sql"
    rule.write_text(RULE)
    database, dataset = (traceq.report(each, rules=[rule]) for each in many)
    asked = [each for each in database.content.traces if each.rules_asked]
    assert "Below 1 % of the step each: all-ranks" in database.to_text(detail="full")
    assert list(dataset.content.traces) == asked
    assert traceq.report(many[1], rank=1, rules=[rule]).content == traceq.report(many[0], rank=1, rules=[rule]).content


@pytest.mark.slow
def test_of_many_ranks_the_late_and_a_usual_one_are_looked_at(many, without):
    database, dataset = map(traceq.report, many)
    asked = [each for each in database.content.traces if each.rules_asked]
    assert [each.trace.rank for each in dataset.content.traces] == [each.trace.rank for each in asked]
    assert dataset.content.jobs == database.content.jobs
    assert _text(database) == _text(dataset)
    alone = traceq.report(without(many[1], {each.trace.trace_id for each in asked}))
    assert alone.content == dataset.content


@pytest.mark.slow
def test_the_page_counts_the_ranks_that_were_not_asked(many):
    pages = [traceq.report(each).to_markdown() for each in many]
    assert all("4 more ranks were not analysed one by one" in each for each in pages)


@pytest.mark.slow
def test_what_another_version_told_is_told_anew(many, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(many[1], copy)
    (told,) = copy.glob("run=*/window=*/job/*/told.json")
    told.write_text(told.read_text().replace('"stamp":"', '"stamp":"another '))
    assert traceq.report(copy).content == traceq.report(many[1]).content
    told.write_text("damaged")
    assert traceq.report(copy).content == traceq.report(many[1]).content


@pytest.mark.slow
def test_traces_that_were_not_judged_together_are_all_read(tmp_path, many_traces):
    database, dataset = tmp_path / "one.duckdb", f"{tmp_path}/one/"
    for target in (database, dataset):
        traceq.ingest(many_traces / "rank1.json", target, run="made")
    assert traceq.report(database).content == traceq.report(dataset).content


def test_a_rank_that_is_not_there_is_refused(small):
    with pytest.raises(StoreError, match=r"no trace is of rank 9; there are 0, 1, 2, 3$"):
        traceq.report(small[1], rank=9)


def test_findings_are_not_saved_in_a_dataset(small):
    with pytest.raises(WrongUse, match="--save"):
        traceq.report(small[1], store=True)


def test_options_of_traces_are_refused(small):
    with pytest.raises(WrongUse, match="fixed when it is made"):
        traceq.report(small[1], step_range="x")


@pytest.mark.slow
def test_of_ranks_none_of_which_is_late_the_job_is_told(tmp_path):
    for rank in range(6):
        (tmp_path / f"rank{rank}.json").write_text(rank_trace(rank, {}, 10**18, ranks=6))
    database, dataset = map(traceq.report, _both(tmp_path, tmp_path))
    assert "No rank holds up the others" in dataset.to_text()
    assert _text(database) == _text(dataset)
