"""The use cases of traceq.app: every way leads to the same database, and nothing is done twice."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import duckdb
import pytest
from builder import judge_database
from click.testing import CliRunner

import traceq
from traceq.app.report import report_of
from traceq.cli import main
from traceq.database.connect import connect
from traceq.diagnosis import cache, user_rules
from traceq.loading.ingest import ingest as load


def trace_text():
    """Five steps of 1 ms as the PyTorch profiler writes them; in each the GPU waits 600 us for a kernel to be launched."""
    kernel = {"device": 0, "context": 1, "stream": 7}
    events = []
    for step in range(5):
        start = step * 1000.0
        events += [
            {"cat": "user_annotation", "name": f"ProfilerStep#{step}", "tid": 1, "ts": start, "dur": 1000.0},
            {"cat": "cuda_runtime", "name": "cudaLaunchKernel", "tid": 1, "ts": start + 590, "dur": 5.0}
            | {"args": {"correlation": step + 1}},
            {"cat": "kernel", "name": "gemm", "tid": 7, "ts": start + 600, "dur": 400.0}
            | {"args": {**kernel, "correlation": step + 1}},
        ]
    events = [{"ph": "X", "pid": 0, **event} for event in events]
    device = {"id": 0, "name": "NVIDIA A100-SXM4-80GB", "numSms": 108}
    return json.dumps({"schemaVersion": 1, "deviceProperties": [device], "traceEvents": events})


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A trace with findings, trace.json, and a database of it that is not judged, trace.duckdb."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "trace.json").write_text(trace_text())
    load(folder / "trace.json", folder / "trace.duckdb")
    return folder


@pytest.fixture
def here(made, tmp_path, monkeypatch):
    """A copy of the trace and its database in the current directory."""
    for name in ("trace.json", "trace.duckdb"):
        shutil.copyfile(made / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments):
    outcome = CliRunner().invoke(main, [str(each) for each in arguments])
    assert outcome.exit_code == 0, outcome.output
    return outcome


def findings(database):
    with duckdb.connect(str(database), read_only=True) as connection:
        return connection.execute("select rule, saving from finding order by all").fetchall()


@pytest.mark.slow
@pytest.mark.parametrize(
    "ingest",
    [
        lambda: traceq.ingest("trace.json", "new.duckdb"),
        lambda: run("ingest", "trace.json", "-o", "new.duckdb"),
        lambda: run("demo", "-o", "new.duckdb"),
    ],
    ids=["python", "command", "demo"],
)
def test_every_way_of_ingesting_asks_the_rules(here, ingest, monkeypatch):
    monkeypatch.setattr("traceq.cli.demo._TRACE", str(here / "trace.json"))
    ingest()
    assert findings("new.duckdb")
    judge_database(here / "trace.duckdb")
    assert findings("new.duckdb") == findings("trace.duckdb")


def test_an_opened_trace_has_findings_and_leaves_nothing_behind(here, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(here / "temporary"))
    (here / "temporary").mkdir()
    with traceq.open("trace.json") as traces:
        found = traces.sql("select rule, saving from finding order by all").fetchall()
        assert list((here / "temporary").iterdir())
    assert list((here / "temporary").iterdir()) == []
    judge_database(here / "trace.duckdb")
    assert found == findings("trace.duckdb")


@pytest.mark.slow
@pytest.mark.usefixtures("here")
def test_an_ingest_stands_when_the_rules_cannot_be_asked(monkeypatch):
    def fail(_connection):
        raise traceq.StoreError("no place")

    monkeypatch.setattr("traceq.app.pipeline.fill", fail)
    result = traceq.ingest("trace.json", "new.duckdb")
    assert (result.not_judged, len(result.ingested), findings("new.duckdb")) == ("no place", 1, [])
    outcome = run("ingest", "trace.json", "--force", "-o", "new.duckdb")
    assert outcome.stderr == "traceq: note: every report will run the rules again: no place\n"


@pytest.mark.usefixtures("here")
def test_a_report_that_saves_judges_once(monkeypatch):
    judged = []
    judge = cache.judge_subject
    monkeypatch.setattr(cache, "judge_subject", lambda *arguments: judged.append(1) or judge(*arguments))
    run("report", "trace.duckdb", "--save")
    assert judged == [1]
    assert findings("trace.duckdb")


class Counted:
    """A connection that counts what it is asked."""

    def __init__(self, connection):
        self.asked = Counter()
        self._connection = connection

    def execute(self, query, parameters=None):
        self.asked[str(getattr(query, "query", query)), str(parameters)] += 1
        return self._connection.execute(query, parameters)

    def __getattr__(self, name):
        return getattr(self._connection, name)


def test_a_report_asks_each_query_once(here):
    judge_database(here / "trace.duckdb")
    counted = Counted(connect(here / "trace.duckdb"))
    report_of(counted, 10, "throughput", user_rules.load_rules(), scope="document")
    assert len(counted.asked) > 20
    assert [asked for asked, times in counted.asked.items() if times > 1] == []


def test_python_and_the_command_line_say_the_same(here, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)  # the command would take this width
    judge_database(here / "trace.duckdb")
    assert traceq.report("trace.duckdb").to_json() == run("report", "trace.duckdb", "--format", "json").stdout
    assert traceq.doctor("trace.duckdb").to_text() == run("doctor", "trace.duckdb").stdout
    (here / "traceq.toml").write_text('[step]\ntypical = "1 s"\n')
    checked = traceq.check("trace.duckdb")
    assert (checked.state, checked.to_json()) == ("pass", run("check", "trace.duckdb", "--format", "json").stdout)
    (finding, *_) = traceq.report("trace.duckdb").findings["rule"]
    verified = traceq.verify(finding, "trace.duckdb", "trace.duckdb")
    arguments = (finding, "--before", "trace.duckdb", "--after", "trace.duckdb", "--format", "json")
    assert verified.to_json() == run("verify", *arguments).stdout
    tradeoff = traceq.tradeoff({8: "trace.duckdb", 16: ["trace.duckdb"]})
    assert tradeoff.to_text() == run("tradeoff", "8=trace.duckdb", "16=trace.duckdb").stdout
    limits = traceq.batch_limits("trace.duckdb", [256])
    assert limits.to_text() == run("tradeoff", "trace.duckdb", "--batched-tokens", "256").stdout
    log = str(Path(__file__).parents[2] / "fixtures" / "run_logs" / "failures" / "train.log")
    assert traceq.goodput(log, cost_per_gpu_hour=2).to_text() == run("goodput", log, "--cost-per-gpu-hour", "2").stdout
    written = traceq.export("trace.duckdb", "python.json")
    run("export", "trace.duckdb", "-o", "command.json")
    assert (here / "python.json").read_bytes() == (here / "command.json").read_bytes()
    assert written.events == len(json.loads((here / "python.json").read_text())["traceEvents"])


@pytest.mark.usefixtures("here")
def test_a_wrong_argument_is_a_value_error_and_exit_2():
    with pytest.raises(ValueError, match="is the input") as error:
        traceq.export("trace.duckdb", "trace.duckdb", format="chrome")
    assert isinstance(error.value, traceq.WrongUse)
    outcome = CliRunner().invoke(main, ["export", "trace.duckdb", "-o", "trace.duckdb", "--format", "chrome"])
    assert outcome.exit_code == 2
    assert outcome.stderr.startswith("Usage: traceq export [OPTIONS] SOURCE_OR_DB\n")
    assert str(error.value) in outcome.stderr


@pytest.mark.slow
def test_public_functions_stay_functions_when_every_module_is_imported():
    program = (
        "import inspect, pkgutil, traceq\n"
        "from importlib import import_module\n"
        "for each in pkgutil.walk_packages(traceq.__path__, 'traceq.'):\n"
        "    if not each.name.endswith('__main__'):\n"
        "        import_module(each.name)\n"
        "print(*(name for name in traceq.__all__ if inspect.ismodule(getattr(traceq, name))))\n"
        "from traceq import annotate, plots\n"
        "print(callable(traceq.report), callable(traceq.export), callable(traceq.check), callable(plots.gaps))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["annotate plots", "True True True True"]
