from __future__ import annotations

import csv
import gzip
import json
import subprocess
import sys

import duckdb
import pytest
from click.testing import CliRunner
from pyarrow import parquet

import traceq
from traceq.cli import main
from traceq.database.connect import connect

NAME = 'evil "quoted", \x1b[31mred\nline | <script>\u202e'


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    folder = tmp_path_factory.mktemp("source")

    def event(cat, name, ts, dur, tid, **args):
        return {"ph": "X", "cat": cat, "name": name, "pid": 9, "tid": tid, "ts": ts, "dur": dur, "args": args}

    events = []
    for number in range(4):
        ts = 1000 * number
        events += [
            event("user_annotation", f"ProfilerStep#{number}", ts, 1000, 9),
            event("cuda_runtime", "cudaLaunchKernel", ts + 400, 5, 9, correlation=number),
            event("kernel", NAME, ts + 450, 100.5, 7, device=0, stream=7, correlation=number),
        ]
    (folder / "t.json").write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    return traceq.ingest([folder / "t.json"], folder / "t.duckdb").database


def run(*arguments):
    return CliRunner().invoke(main, ["export", *map(str, arguments)])


def names(path):
    return [event["name"] for event in json.loads(path.read_text("utf-8"))["traceEvents"]]


def test_a_trace_for_perfetto(source, tmp_path):
    result = run(source, "-o", tmp_path / "t.json")
    assert (result.exit_code, result.stdout) == (0, ""), result.output
    assert f"{(tmp_path / 't.json').stat().st_size:,} bytes" in result.stderr
    assert names(tmp_path / "t.json").count(NAME) == 4


def test_nothing_else_is_said_when_the_program_ends(source, tmp_path):
    command = [sys.executable, "-m", "traceq", "export", source, "-o", tmp_path / "t.json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr.count("\n") == 1


def test_what_is_said_steers_no_terminal(source, tmp_path):
    result = run(source, "-o", tmp_path / "t\x1b[31m\u202e.json")
    assert result.exit_code == 0
    assert r"t\x1b[31m\u202e.json: " in result.stderr


def test_the_file_steers_no_terminal(source, tmp_path):
    assert run(source, "-o", tmp_path / "t.json").exit_code == 0
    assert "\u202e" not in (tmp_path / "t.json").read_text("utf-8")


def test_compressed_it_holds_the_same_without_name_and_time(source, tmp_path):
    files = [tmp_path / name for name in ("a.json", "b.JSON.GZ")]
    for file in files:
        assert run(source, "-o", file).exit_code == 0
    assert gzip.decompress(files[1].read_bytes()) == files[0].read_bytes()
    assert files[1].read_bytes()[3:8] == b"\0" * 5  # neither name nor time


@pytest.mark.parametrize("format_", ["perfetto", "chrome"])
def test_any_name_will_do_with_a_format(source, tmp_path, format_):
    assert run(source, "--format", format_, "-o", tmp_path / "trace").exit_code == 0
    assert names(tmp_path / "trace").count(NAME) == 4


def test_a_finding(source, tmp_path):
    result = run(source, "--finding", "F1", "-o", tmp_path / "f.json")
    assert result.exit_code == 0, result.output
    told = json.loads((tmp_path / "f.json").read_text("utf-8"))["otherData"]
    assert told["finding"]["number"] == "F1"
    assert (tmp_path / "f.json").stat().st_size < 1_000_000


def folded(path):
    return dict(line.rsplit(" ", 1) for line in path.read_text("utf-8").splitlines())


STEP = "thread 0;ProfilerStep#"
LAUNCH = f"{STEP};cudaLaunchKernel"
NAME_ON_A_LINE = NAME.replace("\x1b", r"\x1b").replace("\u202e", r"\u202e").replace("\n", r"\n")


# The correlation id 0 is none: nothing is known to have launched the first kernel.
@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        ("host", {STEP: 4 * 995_000, LAUNCH: 4 * 5_000}),
        ("gpu", {f"{LAUNCH};{NAME_ON_A_LINE}": 3 * 100_500, NAME_ON_A_LINE: 100_500}),
        (
            "idle",
            {
                "idle: unknown cause": 450_000,
                f"{STEP};idle: Python": 4 * (1_000_000 - 100_500) - 450_000 - 3 * 50_000,
                f"{LAUNCH};idle: launching": 3 * 5_000,
                f"{LAUNCH};idle: launch latency": 3 * 45_000,
            },
        ),
    ],
)
def test_folded_stacks(source, tmp_path, measure, expected):
    result = run(source, "--measure", measure, "-o", tmp_path / "t.folded")
    assert result.exit_code == 0, result.output
    assert "call paths, " in result.stderr
    assert {name: int(time) for name, time in folded(tmp_path / "t.folded").items()} == expected


def test_folded_stacks_are_of_host_time_unless_told_otherwise(source, tmp_path):
    for name, arguments in (("a.folded", ()), ("b.folded", ("--measure", "host"))):
        assert run(source, *arguments, "-o", tmp_path / name).exit_code == 0
    assert folded(tmp_path / "a.folded") == folded(tmp_path / "b.folded")


@pytest.mark.parametrize("name", ["t.speedscope.json", "T.Speedscope.JSON.gz"])
def test_speedscope(source, tmp_path, name):
    assert run(source, "-o", tmp_path / name).exit_code == 0
    data = (tmp_path / name).read_bytes()
    content = json.loads(gzip.decompress(data) if name.endswith("gz") else data)
    assert [profile["name"] for profile in content["profiles"]] == ["host time", "GPU time", "GPU idle time"]
    assert content["name"] == "t.duckdb"


@pytest.mark.parametrize("arguments", [("-o", "{folder}/t.pb.gz"), ("--format", "pprof", "-o", "{folder}/t.pb")])
def test_pprof_is_compressed_whatever_its_name(source, tmp_path, arguments):
    assert run(source, *(each.format(folder=tmp_path) for each in arguments)).exit_code == 0
    (path,) = tmp_path.iterdir()
    assert b"ProfilerStep#" in gzip.decompress(path.read_bytes())


def test_call_paths_that_are_not_there(tmp_path):
    event = {"ph": "X", "pid": 9, "tid": 9, "args": {}}
    host_only = [{**event, "cat": "user_annotation", "name": "ProfilerStep#0", "ts": 0, "dur": 10}]
    (tmp_path / "t.json").write_text(json.dumps({"schemaVersion": 1, "traceEvents": host_only}))
    result = run(tmp_path / "t.json", "--no-cache", "--measure", "idle", "-o", tmp_path / "t.folded")
    assert result.exit_code == 1
    assert "has no GPU idle time in its counted steps; give --measure host" in result.stderr
    assert not (tmp_path / "t.folded").exists()


def test_csv_gives_names_back_without_what_steers_a_terminal(source, tmp_path):
    assert run(source, "--table", "kernel", "-o", tmp_path / "k.csv").exit_code == 0
    with (tmp_path / "k.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(row["name"], row["dur"]) for row in rows] == [
        (NAME.replace("\x1b", r"\x1b").replace("\u202e", r"\u202e"), "100500")
    ] * 4


def test_a_directory_of_all_that_has_rows(source, tmp_path):
    assert run(source, "--format", "parquet", "-o", tmp_path / "all").exit_code == 0
    tables = {path.stem: parquet.read_table(path) for path in (tmp_path / "all").iterdir()}
    assert {"trace", "step", "gpu_slice", "kernel", "launch", "time_ledger", "finding"} < set(tables)
    assert "collective" not in tables
    assert tables["kernel"]["name"].to_pylist() == [NAME] * 4
    with connect(source) as connection:
        assert tables["time_ledger"].num_rows == connection.execute("select count(*) from time_ledger").fetchone()[0]
    assert tables["finding"]["rank_order"].to_pylist()[0] == 1
    assert [path.name for path in tmp_path.iterdir()] == ["all"]


def test_a_table_of_others_is_written_nowhere_else(source, tmp_path):
    (tmp_path / "t.duckdb").write_bytes(source.read_bytes())
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        for name in ("../../up", str(tmp_path / "elsewhere"), "..", r"a\b", "C:x"):
            connection.execute(f'create table "{name}" as select 1 as a')
    result = run(tmp_path / "t.duckdb", "-o", tmp_path / "in" / "out", "--format", "csv")
    assert result.exit_code == 1
    (tmp_path / "in").mkdir()
    result = run(tmp_path / "t.duckdb", "-o", tmp_path / "in" / "out", "--format", "csv")
    assert result.exit_code == 0, result.output
    assert sorted(each.name for each in tmp_path.iterdir()) == ["in", "t.duckdb"]
    assert [each.name for each in (tmp_path / "in").iterdir()] == ["out"]
    written = {each.name for each in (tmp_path / "in" / "out").iterdir()}
    assert {"..%2F..%2Fup.csv", "...csv", "a%5Cb.csv", "C%3Ax.csv", "step.csv"} <= written


def test_named_tables_of_one_trace(source, tmp_path):
    (tmp_path / "empty").mkdir()
    result = run(source, "--format", "csv", "--table", "STEP", "--table", "collective", "-o", tmp_path / "empty")
    assert result.exit_code == 0, result.output
    assert sorted(path.name for path in (tmp_path / "empty").iterdir()) == ["collective.csv", "step.csv"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ((), 2, "Missing option '-o'"),
        (("-o", "{new}/x.pdf"), 2, "no format has this suffix (.speedscope.json, "),
        (("-o", "{new}/x.gz"), 2, "no format has this suffix"),
        (("-o", "{new}", "--format", "perfetto"), 2, "is a directory: name a file in it"),
        (("-o", "{new}/x.csv"), 2, "holds one table: choose it with --table"),
        (("-o", "{full}", "--format", "csv"), 2, "already exists: name a new directory"),
        (("-o", "{full}/x", "--format", "csv"), 2, "already exists: name a new directory"),
        (("-o", "{new}/x.json", "--table", "step"), 2, "--table is for parquet and csv"),
        (("-o", "{new}/x.folded", "--table", "step"), 2, "--table is for parquet and csv"),
        (("-o", "{new}/x.pb.gz", "--finding", "F1"), 2, "--finding is for a trace"),
        (
            ("-o", "{new}/x.pb.gz", "--measure", "idle"),
            2,
            "--measure is for folded stacks; other files hold every measure",
        ),
        (("-o", "{new}/x.csv", "--table", "step", "--measure", "gpu"), 2, "--measure is for folded stacks"),
        (("-o", "{new}", "--format", "folded"), 2, "is a directory: name a file in it"),
        (("-o", "{new}/x.csv", "--table", "step", "--finding", "F1"), 2, "--finding is for a trace"),
        (("-o", "{source}", "--format", "perfetto"), 2, "is the input"),
        (("-o", "{new}/x.csv", "--table", "steps"), 1, "no table or view is called 'steps'; did you mean: step"),
        (("-o", "{new}/x", "--format", "csv", "--table", "steps"), 1, "no table or view is called 'steps'"),
        (("-o", "{new}/x.json", "--trace", "7"), 1, "no trace has the trace_id 7; the database has 1"),
        (("-o", "{new}/x.json", "--finding", "F99"), 1, "no finding is called 'F99'; there are "),
        (("-o", "{new}/no/x.json"), 1, "no such directory"),
        (("-o", "{new}/no/x", "--format", "csv"), 1, "no such directory"),
    ],
)
def test_wrong_use_says_what_to_do_and_leaves_nothing(source, tmp_path, arguments, code, message):
    places = {"new": tmp_path / "new", "full": tmp_path / "full", "source": source}
    places["new"].mkdir()
    places["full"].mkdir()
    (places["full"] / "x").write_text("mine")
    before = source.read_bytes()
    result = run(source, *(each.format(**places) for each in arguments))
    assert (result.exit_code, result.stdout) == (code, "")
    assert message in result.stderr
    assert code == 2 or result.stderr.count("\n") == 1
    assert list(places["new"].iterdir()) == []
    assert [path.name for path in places["full"].iterdir()] == ["x"]
    assert source.read_bytes() == before


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    """Three ranks whose clocks agree: each begins 100 us after the one before."""
    folder = tmp_path_factory.mktemp("ranks")
    for rank in range(3):
        events = [
            {"ph": "X", "cat": cat, "name": name, "pid": 9, "tid": 9, "ts": 100 * rank + ts, "dur": dur, "args": args}
            for cat, name, ts, dur, args in (
                ("user_annotation", "ProfilerStep#0", 0, 1000, {}),
                ("cuda_runtime", "cudaLaunchKernel", 10, 5, {"correlation": 1}),
                ("kernel", "gemm", 50, 800, {"device": 0, "stream": 7, "correlation": 1}),
            )
        ]
        facts = {"schemaVersion": 1, "distributedInfo": {"rank": rank, "world_size": 3}, "baseTimeNanoseconds": 10**18}
        (folder / f"rank{rank}.json").write_text(json.dumps({**facts, "traceEvents": events}))
    return traceq.ingest(sorted(folder.glob("*.json")), folder / "job.duckdb").database


@pytest.mark.slow
def test_some_ranks_of_a_job_in_one_file(ranks, tmp_path):
    written = tmp_path / "two.json"
    result = run(ranks, "--ranks", "0,2", "-o", written)
    assert result.exit_code == 0, result.output
    content = json.loads(written.read_text())
    assert [each["rank"] for each in content["otherData"]["traces"]] == [0, 2]
    kernels = sorted(each["ts"] for each in content["traceEvents"] if each.get("cat") == "kernel")
    assert kernels[1] - kernels[0] == pytest.approx(200)


def test_ranks_are_the_outermost_frames(ranks, tmp_path):
    assert run(ranks, "--ranks", "0,2", "-o", tmp_path / "two.folded").exit_code == 0
    assert {name.split(";")[0] for name in folded(tmp_path / "two.folded")} == {"rank 0", "rank 2"}


@pytest.mark.parametrize(
    ("given", "message"), [("0,x", "'0,x' is not a list of ranks"), ("0,7", "no trace is of rank 7; there are 0, 1, 2")]
)
def test_ranks_that_cannot_be_exported(ranks, tmp_path, given, message):
    result = run(ranks, "--ranks", given, "-o", tmp_path / "none.json")
    assert result.exit_code != 0
    assert message in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["like", "nobody"], "'like nobody' is not a change: write like median."),
        (["--ranks", "0,1"], "Ranks of a job are changed together: write like median."),
        (["like", "median"], "like median needs --rank, --ranks or --host"),
        (["--rank", "0", "--graph", "like", "median"], "cannot be combined with another change"),
        (["--rank", "0", "like", "median"], "This job cannot be replayed"),
    ],
)
def test_what_cannot_be_asked_of_a_job(ranks, arguments, message):
    result = CliRunner().invoke(main, ["whatif", str(ranks), *arguments])
    assert result.exit_code != 0
    assert message in " ".join(result.output.split())
