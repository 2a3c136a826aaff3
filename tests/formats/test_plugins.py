"""A format that traceq does not know, brought by another package: it is read, and nothing false is said of it."""

from __future__ import annotations

import hashlib
import sys
from contextlib import closing
from pathlib import Path

import pytest
import rocprof_traces
from click.testing import CliRunner

import traceq
from traceq import importers, reports
from traceq.cli import main
from traceq.database.connect import connect
from traceq.formats.capabilities import format_of
from traceq.formats.format import Capture, Format
from traceq.loading.sources import find_sources

DEMO = Path(traceq.__file__).parent / "app" / "demo" / "training.pt.trace.json.gz"

# Whatever asks for another profiler, or an option of one.
_OF_OTHERS = ("nsys", "torch.profiler", "ProfilerActivity", "profile(", "_ExperimentalConfig", "record_shapes", "with_stack",
              "profile_memory", "PyTorch profile", "--trace", "prof.step", "profiler.step", "cudaGetLastError")  # fmt: skip


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Install a package with an entry point, as a folder on sys.path; and forget what was known of packages."""

    def install(group, name, value):
        site = tmp_path / f"site-{name}"
        metadata = site / f"{name}-1.0.dist-info"
        metadata.mkdir(parents=True)
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (metadata / "entry_points.txt").write_text(f"[{group}]\n{name} = {value}\n")
        monkeypatch.syspath_prepend(site)
        _forget()
        return site

    yield install
    _forget()


def _forget():
    importers.all_importers.cache_clear()
    for known in (reports._find_foreign, reports.all_renderers, reports.all_suffixes):
        known.cache_clear()
    format_of.cache_clear()


@pytest.fixture
def rocprof(install, tmp_path):
    """The files of a trace, with the importer for them installed."""
    install("traceq.importers", "rocprof", "rocprof_traces")
    folder = tmp_path / "traces"
    folder.mkdir()
    return rocprof_traces.write(folder)


def test_without_the_package_nothing_reads_the_file(tmp_path):
    with pytest.raises(traceq.UnknownFormat):
        find_sources([rocprof_traces.write(tmp_path)])


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_its_traces_are_ingested(rocprof, tmp_path, jobs):
    rocprof_traces.write(rocprof.parent, "other", steps=2)
    result = traceq.ingest([rocprof.parent], tmp_path / "t.duckdb", jobs=jobs)
    assert [each.gpu_slices for each in result.ingested] == [4, 40]
    with closing(connect(result.database)) as connection:
        rows = connection.execute("select format, size_bytes, sha256 from trace order by trace_id").fetchall()
        launched = connection.execute("select count(launch_id) from gpu_slice").fetchone()
    assert launched == (44,)
    parts = [(rocprof.parent / f"run_{part}_trace.csv").read_bytes() for part in ("kernel", "memory_copy", "hip_api")]
    hashes = "".join(hashlib.sha256(part).hexdigest() for part in parts)
    assert rows[1] == ("rocprof", sum(map(len, parts)), hashlib.sha256(hashes.encode()).hexdigest())


def test_every_file_of_a_trace_stands_for_the_same_trace(rocprof):
    every = sorted(rocprof.parent.iterdir())
    assert len(every) == 3
    (source,) = find_sources(every)
    assert source.path == rocprof
    assert sorted(source.files) == every


@pytest.mark.slow
def test_a_change_in_any_of_its_files_makes_it_another_trace(rocprof, tmp_path):
    database = tmp_path / "t.duckdb"
    traceq.ingest([rocprof], database)
    assert traceq.ingest([rocprof], database).skipped == (rocprof,)
    last = rocprof.parent / "run_hip_api_trace.csv"
    last.write_text(last.read_text("utf-8") + '"HIP_RUNTIME_API","hipFree","30000000","30000100","9999"\n')
    assert len(traceq.ingest([rocprof], database).ingested) == 1


def test_nothing_is_said_of_profilers_that_did_not_make_it(rocprof, tmp_path):
    database = tmp_path / "t.duckdb"
    traceq.ingest([rocprof], database)
    for command in (("report", "--format", "text"), ("report", "--format", "json"), ("doctor",)):
        result = CliRunner().invoke(main, [*command, str(database)])
        assert result.exit_code == 0, result.output
        assert "rocprof" in result.output
        said = [word for word in _OF_OTHERS if word in result.output]
        assert not said, [line for line in result.output.splitlines() if any(word in line for word in said)]


@pytest.mark.slow
def test_a_package_may_say_what_its_profiler_can_record(rocprof, tmp_path, monkeypatch):
    flags = Capture({"--marker-trace": ()}, "mark steps with roctx")
    record = Format(
        "rocprof",
        profiler="rocprofv3",
        captures={"steps": flags},
        ways={"operators": "rocprofv3 --marker-trace"},
        spelled=" ".join,
    )
    monkeypatch.setattr(rocprof_traces, "FORMAT", record, raising=False)
    _forget()
    database = tmp_path / "t.duckdb"
    traceq.ingest([rocprof], database)
    doctor = CliRunner().invoke(main, ["doctor", str(database)]).output
    assert "What rocprofv3 would add\n  steps  --marker-trace; mark steps with roctx\n" in doctor
    assert (
        "rocprofv3 --marker-trace brings"
        in CliRunner().invoke(main, ["report", "--format", "json", str(database)]).output
    )


def test_a_package_that_breaks_is_one_line(install, tmp_path):
    site = install("traceq.importers", "broken", "broken_importer")
    (site / "broken_importer.py").write_text("raise RuntimeError('no GPU\\nhere')")
    with pytest.raises(
        traceq.UnusablePlugin, match=r"^entry point broken \(broken_importer\).*: no GPU here; reinstall"
    ):
        find_sources([rocprof_traces.write(tmp_path)])


def test_traces_of_traceq_s_own_formats_do_not_need_the_packages(install):
    install("traceq.importers", "absent", "no_such_module")
    fixture = Path(__file__).parent.parent.parent / "fixtures" / "run" / "nsys_pre2021.sqlite"
    assert find_sources([fixture])[0].importer.NAME == "nsys"


def test_a_name_that_is_taken_is_refused(install, tmp_path):
    site = install("traceq.importers", "second", "second_nsys")
    (site / "second_nsys.py").write_text("NAME = 'nsys'\n")
    with pytest.raises(traceq.UnusablePlugin, match="importer nsys: another importer has this name"):
        find_sources([rocprof_traces.write(tmp_path)])
    sys.modules.pop("second_nsys")


_RENDERER = """
NAME, SUFFIX = "csv", ".csv"


def render(report):
    return "".join(f"{finding.rule},{finding.saving_ns:.0f}\\n" for trace in report.traces for finding in trace.findings)
"""


@pytest.mark.slow
def test_a_format_of_another_package_is_offered_by_the_command_and_in_python(install, tmp_path):
    site = install("traceq.renderers", "findings_csv", "findings_csv")
    (site / "findings_csv.py").write_text(_RENDERER)
    view = traceq.report(DEMO, drawn=False)
    view.save(tmp_path / "report.csv")
    lines = (tmp_path / "report.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in lines] == list(view.findings["rule"])
    assert len(lines) > 1


def test_a_format_that_takes_a_suffix_of_another_is_refused(install):
    site = install("traceq.renderers", "other_json", "other_json")
    (site / "other_json.py").write_text('NAME, SUFFIX = "other", ".json"')
    with pytest.raises(traceq.TraceqError, match="taken"):
        reports.all_suffixes()
