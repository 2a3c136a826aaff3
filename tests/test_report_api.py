"""`traces.report()` in Python: DataFrames, renderers, files, and what a notebook shows."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import duckdb
import lazy_import
import pytest
from builder import TraceBuilder
from msgspec import structs

import traceq
from traceq.analysis.categories import CATEGORIES
from traceq.app import frames, plots
from traceq.database.connect import create_schema
from traceq.database.empty import create_database
from traceq.reports import RENDERERS, SUFFIXES

pd = lazy_import.module("pandas")

FRAMES = ("traces", "findings", "observations", "ledger", "steps")


def looping(trace, rank, copy=30_000):
    """Three steps that compute half of the time, and copy."""
    trace.add("trace", producer="tests", rank=rank, world_size=2)
    for number in range(3):
        ts = number * 100_000
        trace.annotation(f"ProfilerStep#{number}", ts, 100_000)
        trace.kernel("gemm", ts + 10_000, 50_000, launched=(ts + 1_000, 2_000))
        trace.memcpy("h2d", ts + 60_000, copy, launched=(ts + 4_000, 2_000))
    return trace


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    """Two ranks, of which the second copies less, as a file."""
    trace = looping(TraceBuilder(), 0)
    looping(trace.other_rank(), 1, copy=20_000)
    folder = tmp_path_factory.mktemp("ranks")
    trace.build(folder)
    return folder / "trace.duckdb"


@pytest.fixture(scope="module")
def report(database):
    with traceq.open(database) as traces:
        return traces.report()


@pytest.fixture(scope="module")
def single(tmp_path_factory):
    """The report on one rank."""
    folder = tmp_path_factory.mktemp("single")
    looping(TraceBuilder(), 0).build(folder)
    with traceq.open(folder / "trace.duckdb") as traces:
        return traces.report()


@pytest.fixture(scope="module")
def host_only(tmp_path_factory):
    folder = tmp_path_factory.mktemp("host")
    trace = TraceBuilder()
    for number in range(3):
        trace.annotation(f"ProfilerStep#{number}", number * 100, 100)
        trace.op("aten::mm", number * 100 + 10, 50)
    trace.build(folder)
    with traceq.open(folder / "trace.duckdb") as traces:
        return traces.report()


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    path = tmp_path_factory.mktemp("empty") / "t.duckdb"
    create_database(path)
    with traceq.open(path) as traces:
        return traces.report()


# ---- DataFrames


def test_the_ledger_has_a_row_for_each_rank_device_and_category(report):
    columns = ["trace_id", "rank", "device", "category", "dur_ns", "per_step_ns", "step_share"]
    shown = report.ledger[columns].to_csv(index=False, lineterminator="\n")
    assert (
        shown
        == """\
trace_id,rank,device,category,dur_ns,per_step_ns,step_share
1,0,0,compute,150000,50000.0,0.5
1,0,0,copy_h2d,90000,30000.0,0.3
1,0,0,idle_python,33000,11000.0,0.11
1,0,0,idle_launch_latency,21000,7000.0,0.07
1,0,0,idle_launch,6000,2000.0,0.02
2,1,0,compute,150000,50000.0,0.5
2,1,0,idle_python,63000,21000.0,0.21
2,1,0,copy_h2d,60000,20000.0,0.2
2,1,0,idle_launch_latency,21000,7000.0,0.07
2,1,0,idle_launch,6000,2000.0,0.02
"""
    )


def test_the_categories_of_a_step_add_up_to_it_and_the_ledger_to_the_steps(report):
    steps, ledger = report.steps, report.ledger
    categories = [f"{category}_ns" for category in CATEGORIES]
    assert steps[["trace_id", "step", "dur_ns", "compute_ns", "copy_h2d_ns", "memset_ns"]].to_numpy().tolist() == [
        [trace, step, 100_000, 50_000, copy, 0] for trace, copy in ((1, 30_000), (2, 20_000)) for step in range(3)
    ]
    assert (steps[categories].sum(axis=1) == steps["dur_ns"]).all()
    of_ledger, of_steps = (frame.groupby("trace_id")["dur_ns"].sum().to_dict() for frame in (ledger, steps))
    assert of_ledger == of_steps == report.traces.set_index("trace_id")["total_ns"].to_dict()


def test_the_steps_have_a_column_for_every_category_there_is():
    with duckdb.connect() as connection:
        create_schema(connection)
        comment = "select comment from duckdb_columns() where (table_name, column_name) = ('idle_gap_cause', 'cause')"
        causes = set(re.findall(r"idle_\w+", connection.execute(comment).fetchone()[0]))
    assert causes == {category for category in CATEGORIES if category.startswith("idle")}


def test_findings_are_numbered_as_in_the_text_and_bring_their_queries(report, database):
    first = report.findings.iloc[0]
    assert f"{first['finding']} {first['title']}" in report.to_text()
    assert first["saving_share"] == first["saving_ns"] / 100_000
    assert report.findings.groupby("trace_id")["finding"].first().to_dict() == {1: "F1", 2: "F1"}
    with traceq.open(database) as traces:
        again = [traces.sql(each).df() for each in report.findings["query"]]
    assert [frame.loc[0, "claimed_ns"] for frame in again] == report.findings["claimed_ns"].tolist()


def test_traces_are_listed(report):
    assert report.traces[["trace_id", "rank", "devices", "steps", "step_source", "mean_ns"]].to_numpy().tolist() == [
        [1, 0, 1, 3, "profiler_step", 100_000.0],
        [2, 1, 1, 3, "profiler_step", 100_000.0],
    ]


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", FRAMES)
def test_columns_and_types_are_the_same_whatever_is_in_the_report(name, report, single, host_only, empty):
    expected = getattr(report, name).dtypes
    assert expected.index[:2].tolist() == ["trace_id", "rank"]
    for other in (single, host_only, empty):
        pd.testing.assert_series_equal(getattr(other, name).dtypes, expected)


def test_what_the_host_alone_does_not_tell_is_missing(host_only):
    assert (len(host_only.ledger), len(host_only.steps)) == (0, 0)
    assert host_only.traces[["rank", "run"]].isna().all(axis=None)
    assert host_only.traces["steps"].tolist() == [3]


def test_large_numbers_beside_missing_ones_stay_exact():
    large = 2**60 + 1  # a float would round it
    rows = [{"trace_id": 1, "rank": rank, "dur_ns": large} for rank in (None, large)]
    frame = frames._make_typed_frame("dur_ns", rows, (), {"dur_ns": int})
    assert frame["rank"].tolist() == [pd.NA, large]
    assert frame["dur_ns"].tolist() == [large, large]


def test_an_empty_database_gives_empty_frames(empty):
    assert [len(getattr(empty, name)) for name in FRAMES] == [0] * 5
    assert "no trace" in repr(empty)


def test_a_changed_frame_changes_no_other(single):
    frame = single.ledger
    frame["dur_ns"] = 0
    assert single.ledger["dur_ns"].sum() == 300_000


# ---- the call


def test_the_report_needs_the_database_no_more(report):
    assert json.loads(report.to_json())["traces"][0]["steps"]["counted"] == 3


def test_top_and_goal_are_handed_on(database, monkeypatch):
    monkeypatch.setattr("traceq.app.report.report_of", lambda _, *values, **options: ((values[:2], options), []))
    with traceq.open(database) as traces:
        assert traces.report().content == ((10, "throughput"), {"scope": "drawing"})
        assert traces.report(3, goal="latency").content == ((3, "latency"), {"scope": "drawing"})


def test_what_cannot_be_asked_for_is_said(database):
    with traceq.open(database) as traces:
        with pytest.raises(ValueError, match="at least 1, not 0"):
            traces.report(top=0)
        with pytest.raises(ValueError, match="one of throughput, latency, not 'speed'"):
            traces.report(goal="speed")
    with pytest.raises(traceq.StoreError, match="is closed; open it again"):
        traces.report()


def test_a_damaged_database_is_a_store_error(tmp_path):
    path = tmp_path / "t.duckdb"
    create_database(path)
    with duckdb.connect(str(path)) as connection:
        connection.execute("drop table import_note; insert into trace (trace_id, path, sha256, size_bytes, format,"
                           " ingested_at) values (1, 'x', '0', 1, 'nsys', now())")  # fmt: skip
    with pytest.raises(traceq.StoreError, match=r"lacks tables \(import_note\); ingest the traces again"):
        traceq.open(path)


# ---- renderers and files


def test_each_format_is_the_one_of_the_command(single):
    texts = {"md": single.to_markdown(), "html": single.to_html(), "json": single.to_json()}
    assert texts == {name: RENDERERS[name](single.content) for name in texts}
    assert single.render("text") == single.to_text()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_suffix_says_the_format(suffix, single, tmp_path):
    path = tmp_path / f"report{suffix.upper()}"
    path.write_text("before")
    single.save(str(path))
    assert path.read_text("utf-8") == single.render(SUFFIXES[suffix])
    assert list(tmp_path.iterdir()) == [path]


def test_another_suffix_and_a_place_that_cannot_be_written_are_errors(single, tmp_path):
    with pytest.raises(ValueError, match=r"report\.pdf: no format has this suffix; known are \.txt, \.md, "):
        single.save(tmp_path / "report.pdf")
    with pytest.raises(traceq.StoreError, match=r"report\.md: cannot be written: No such file or directory"):
        single.save(tmp_path / "missing" / "report.md")


def test_a_file_that_cannot_be_replaced_leaves_nothing_behind(single, tmp_path):
    (tmp_path / "report.md").mkdir()
    with pytest.raises(traceq.StoreError, match="Is a directory"):
        single.save(tmp_path / "report.md")
    assert [path.name for path in tmp_path.iterdir()] == ["report.md"]


# ---- what is shown


class Elements(HTMLParser):
    def __init__(self, html):
        super().__init__()
        self.found = []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))


def test_a_notebook_shows_the_page_in_a_frame_that_reaches_nothing(single):
    frames_ = [attributes for tag, attributes in Elements(single._repr_html_()).found if tag == "iframe"]
    (frame,) = frames_
    assert frame["title"] == "traceq report"
    assert "allow-same-origin" not in frame["sandbox"]
    assert frame["srcdoc"].replace('<base href="about:srcdoc">', "") == single.to_html()


def test_without_frames_the_verdict_remains(report):
    without = re.sub(r"<iframe.*?</iframe>", "", report._repr_html_(), flags=re.DOTALL)
    for shown in (without, report._repr_markdown_(), repr(report)):
        # of the whole, and of each trace
        assert shown.count("Fix first: ") == 3
        assert shown.replace("&gt;", ">").count("100.0 µs -> ") == 3
        assert len(shown) < 3_000


def test_hostile_names_are_text(single):
    bad = "</p><script>alert(1)</script>\n\x1b[31m\"'`|"
    (trace,) = single.content.traces
    renamed = type(trace)(
        **{**structs.asdict(trace), "trace": type(trace.trace)(**{**structs.asdict(trace.trace), "file": bad})}
    )
    view = traceq.ReportView(type(single.content)((renamed,), single.content.query))
    assert {tag for tag, _ in Elements(view._repr_html_()).found} == {"div", "p", "strong", "iframe"}
    assert all(line.isprintable() for line in repr(view).splitlines())
    assert "<script" not in view._repr_markdown_()


def test_many_traces_are_counted_not_listed(single):
    view = traceq.ReportView(type(single.content)(single.content.traces * 64, single.content.query))
    assert "... and 56 more traces" in repr(view)
    assert len(repr(view).splitlines()) < 50
    assert max(map(len, repr(view).splitlines())) <= 100


# ---- charts

CHARTS = {name: getattr(plots, name) for name in plots.__all__ if name != "ranks"}


def test_a_chart_is_a_figure_that_a_notebook_can_show(single):
    figure = plots.step_ledger(single)
    png, facts = figure._repr_png_()
    width, height = (int.from_bytes(png[start : start + 4]) for start in (16, 20))
    assert png.startswith(b"\x89PNG")
    assert width / height == pytest.approx(facts["width"] / facts["height"], rel=0.01)
    assert width > facts["width"]  # sharp on a screen of high resolution
    assert "compute 50.0 %" in facts["alt"]


@pytest.mark.parametrize("name", CHARTS)
def test_every_chart_is_drawn_or_says_why_not(name, single):
    try:
        assert CHARTS[name](single).axes
    except ValueError as error:
        assert str(error).startswith(f"nothing to draw for {name}: ")  # noqa: PT017 - either is right


@pytest.mark.parametrize("name", CHARTS)
def test_the_host_alone_gives_no_charts_of_a_gpu(name, host_only):
    with pytest.raises(ValueError, match=f"nothing to draw for {name}: "):
        CHARTS[name](host_only)


def test_of_several_traces_one_is_drawn(report, empty):
    assert plots.step_ledger(report, trace=2).axes
    with pytest.raises(ValueError, match="several traces: give trace=ID, one of 1, 2"):
        plots.step_ledger(report)
    with pytest.raises(ValueError, match="no trace 3 in the report; there are 1, 2"):
        plots.step_ledger(report, trace=3)
    with pytest.raises(ValueError, match="without traces"):
        plots.step_ledger(empty)


def test_ranks_are_drawn_side_by_side(report, single):
    assert plots.ranks(report).axes
    with pytest.raises(ValueError, match="nothing to draw for ranks"):
        plots.ranks(single)
