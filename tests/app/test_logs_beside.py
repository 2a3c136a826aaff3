"""A throttle, a saturated disk and a host without CPUs that only logs show come out first; without logs nobody sees them."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "fixtures" / "make"))

from labelled import simulated

from traceq.app.api import ingest, report
from traceq.app.doctor import doctor
from traceq.cli import main
from traceq.errors import UnknownFormat, UnusableTrace

SECONDS = range(-30, 31)
# Both give the same tables: every day one of them does.
KINDS = ["nsys", pytest.param("kineto", marks=pytest.mark.slow)]


def trace(name, folder):
    case = next(each for each in simulated.cases() if each.name == name)
    return case.make(folder)


def began(path, folder):
    """When the trace begins, UTC."""
    database = folder / "alone.duckdb"
    ingest(path, database)
    with duckdb.connect(str(database), read_only=True) as connection:
        ((start, host),) = connection.execute("select utc_origin_ns + ts, host from trace").fetchall()
    assert host
    return datetime.fromtimestamp(start / 1e9, UTC)


def rules(database):
    with duckdb.connect(str(database), read_only=True) as connection:
        return [rule for (rule,) in connection.execute("select rule from finding order by rank_order").fetchall()]


def ask(database, query):
    with duckdb.connect(str(database), read_only=True) as connection:
        return connection.execute(query).fetchall()


def gpu_log(path, start, *, zone=0, reasons=0x48, clock=990, beat=1.0):
    """As `nvidia-smi --query-gpu=... --format=csv -l 1` writes it on a machine whose clock is `zone` hours ahead of UTC."""
    lines = [
        (
            "timestamp, index, utilization.gpu [%], power.draw [W], temperature.gpu, clocks.current.sm [MHz],"
            " clocks.max.sm [MHz], clocks_event_reasons.active"
        )
    ]
    for second in SECONDS:
        at = start + timedelta(hours=zone, seconds=second * beat + 0.25)
        stamp = at.strftime("%Y/%m/%d %H:%M:%S.%f")[:-3]
        lines.append(f"{stamp}, 0, 97 %, 412.50 W, 88, {clock} MHz, 1980 MHz, 0x{reasons:016x}")
    path.write_text("\n".join(lines) + "\n")
    return path


def disk_log(path, start, *, util=100.0, queue=31.5):
    """As `iostat -x -t -o JSON 1` writes it with S_TIME_FORMAT=ISO."""
    reports = [
        {
            "timestamp": (start + timedelta(seconds=second)).strftime("%Y-%m-%dT%H:%M:%S+0000"),
            "avg-cpu": {"user": 10.0, "nice": 0.0, "system": 5.0, "iowait": 40.0, "steal": 0.0, "idle": 45.0},
            "disk": [
                {
                    "disk_device": "nvme0n1",
                    "r/s": 9000.0,
                    "rkB/s": 450000.0,
                    "w/s": 0.0,
                    "wkB/s": 0.0,
                    "aqu-sz": queue,
                    "util": util,
                }
            ],
        }
        for second in SECONDS
    ]
    host = {"number-of-cpus": 8, "statistics": reports}
    path.write_text(json.dumps({"sysstat": {"hosts": [host]}}))
    return path


def cpu_log(path, start, *, runnable=32):
    """As `vmstat -t 1` writes it in UTC."""
    lines = [
        "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu----- -----timestamp-----",
        " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st                 UTC",
    ]
    for second in SECONDS:
        at = (start + timedelta(seconds=second)).strftime("%Y-%m-%d %H:%M:%S")
        lines.append(
            f"{runnable:2d}  0      0 5375220 130008 16735268    0    0     0     0  763  621 90 10  0  0  0 {at}"
        )
    path.write_text("\n".join(lines) + "\n")
    return path


def pick(path, start):
    """A log that tells how many CPUs there are, and nothing else that is out of the way."""
    return disk_log(path, start, util=2.0, queue=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_throttle_that_only_the_log_shows_comes_out_first(kind, tmp_path):
    source = trace(f"healthy {kind}", tmp_path)
    start = began(source, tmp_path)
    assert rules(tmp_path / "alone.duckdb") == []
    # what nsys writes names the zone, which is UTC; of Kineto's a short log tells it
    zone = 0 if kind == "nsys" else -5
    log = gpu_log(tmp_path / "gpu.csv", start, zone=zone)
    ingest(source, tmp_path / "x.duckdb", logs=[log])
    assert rules(tmp_path / "x.duckdb")[0] == "gpu-throttled"
    text = report(tmp_path / "x.duckdb").to_markdown()
    assert "990 MHz" in text
    assert f"UTC{zone:+}" in text


@pytest.mark.slow
def test_a_log_of_another_hour_by_the_clock_of_the_machine_is_of_another_run(tmp_path):
    source = trace("healthy nsys", tmp_path)
    log = gpu_log(tmp_path / "gpu.csv", began(source, tmp_path), zone=-3)
    ingest(source, tmp_path / "x.duckdb", logs=[log])
    assert rules(tmp_path / "x.duckdb") == []
    ((text,),) = ask(tmp_path / "x.duckdb", "select text from monitor_log where placed_by is null")
    assert "in the trace's zone, UTC+0, it covers another time, 3.0 h before the start" in text


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_disk_that_only_the_log_shows_comes_out_first(kind, tmp_path):
    source = trace(f"slow_loader {kind}", tmp_path)
    start = began(source, tmp_path)
    assert rules(tmp_path / "alone.duckdb")[0] == "too-few-workers"
    ingest(source, tmp_path / "x.duckdb", logs=[disk_log(tmp_path / "iostat.json", start)])
    assert rules(tmp_path / "x.duckdb")[0] == "disk-saturated"
    ingest(source, tmp_path / "y.duckdb", logs=[disk_log(tmp_path / "quiet.json", start, util=30.0, queue=0.4)])
    assert rules(tmp_path / "y.duckdb")[0] == "too-few-workers"


@pytest.mark.slow
@pytest.mark.parametrize(("name", "alone"), [("launch_bound", "tiny-kernels"), ("frozen_host", "host-preempted")])
@pytest.mark.parametrize("kind", KINDS)
def test_a_host_without_cpus_that_only_logs_show_comes_out_first(name, alone, kind, tmp_path):
    source = trace(f"{name} {kind}", tmp_path)
    start = began(source, tmp_path)
    assert rules(tmp_path / "alone.duckdb")[0] == alone
    logs = [cpu_log(tmp_path / "vmstat.txt", start), pick(tmp_path / "iostat.json", start)]
    ingest(source, tmp_path / "x.duckdb", logs=logs)
    assert rules(tmp_path / "x.duckdb")[0] == "cpu-starved"
    logs[0] = cpu_log(tmp_path / "quiet.txt", start, runnable=3)
    ingest(source, tmp_path / "y.duckdb", logs=logs)
    assert rules(tmp_path / "y.duckdb")[0] == alone


@pytest.mark.slow
def test_what_cannot_be_placed_is_left_out_and_told(tmp_path):
    source = trace("healthy nsys", tmp_path)
    start = began(source, tmp_path)
    log = gpu_log(tmp_path / "gpu.csv", start + timedelta(days=3))
    ingest(source, tmp_path / "x.duckdb", logs=[log])
    assert rules(tmp_path / "x.duckdb") == []
    assert ask(tmp_path / "x.duckdb", "select kept, placed_by from monitor_log") == [(0, None)]
    assert ask(tmp_path / "x.duckdb", "select count(*) from counter where log_id is not null") == [(0,)]
    assert "not placed" in report(tmp_path / "x.duckdb").to_text()
    assert "not placed" in str(doctor(tmp_path / "x.duckdb"))
    # the user knows that the clock was three days ahead
    ingest(source, tmp_path / "y.duckdb", logs=[log], offset=-3 * 86_400)
    assert rules(tmp_path / "y.duckdb")[0] == "gpu-throttled"


@pytest.mark.slow
def test_all_samples_are_in_the_table_at_their_times(tmp_path):
    source = trace("healthy nsys", tmp_path)
    start = began(source, tmp_path)
    log = disk_log(tmp_path / "iostat.json", start)
    ingest(source, tmp_path / "x.duckdb", logs=[log])
    reports = json.loads(log.read_text())["sysstat"]["hosts"][0]["statistics"][1:]
    expected = [(each["timestamp"].replace("T", " ").replace("+0000", ""), each["disk"][0]["util"]) for each in reports]
    query = (
        "select strftime(make_timestamp_ns(c.ts + t.utc_origin_ns), '%Y-%m-%d %H:%M:%S'), c.value from counter as c"
        " inner join trace as t using (trace_id) where c.name = 'disk_utilization' order by c.ts"
    )
    assert ask(tmp_path / "x.duckdb", query) == expected
    query = "select sum(value), count(*) from counter where log_id = 0"
    per_report = 10 + 5 + 40 + 45 + 9000 + 450_000 * 1024 + 31.5 + 100
    assert ask(tmp_path / "x.duckdb", query) == [(len(reports) * per_report + 8, len(reports) * 12 + 1)]


@pytest.mark.slow
def test_the_log_that_record_wrote_is_taken_from_beside_the_trace(tmp_path):
    source = trace("healthy kineto", tmp_path)
    start = began(source, tmp_path)
    lines = ['{"traceq_monitor":1,"host":null,"cpus":8}']
    for second in SECONDS:
        values = [
            [0, None, "gpu_sm_clock", 990],
            [0, None, "gpu_sm_clock_max", 1980],
            [0, None, "gpu_throttle_thermal_hw", 1],
        ]
        lines.append(json.dumps({"ts": round((start.timestamp() + second) * 1e9), "values": values}))
    (tmp_path / f"{source.name.split('.')[0]}.monitor.jsonl").write_text("\n".join(lines))
    ingest(tmp_path, tmp_path / "x.duckdb")
    assert rules(tmp_path / "x.duckdb")[0] == "gpu-throttled"


@pytest.mark.slow
def test_logs_are_named_on_the_command_line(tmp_path):
    source = trace("healthy nsys", tmp_path)
    start = began(source, tmp_path)
    logs = [gpu_log(tmp_path / "gpu.csv", start), disk_log(tmp_path / "iostat.json", start)]
    database = tmp_path / "x.duckdb"
    done = CliRunner().invoke(main, ["ingest", str(source), "-o", str(database)])
    assert done.exit_code == 0, done.output
    # what is there already is read again: with the logs
    done = CliRunner().invoke(
        main, ["ingest", str(source), "-o", str(database), "--with", str(logs[0]), "--with", str(logs[1])]
    )
    assert done.exit_code == 0, done.output
    assert ask(database, "select log_id, tool, placed_by from monitor_log order by all") == [
        (0, "nvidia-smi", "zone"),
        (1, "iostat", "utc"),
    ]
    assert ask(database, "select count(*) from trace") == [(1,)]


def test_a_file_that_is_no_log_is_refused_and_nothing_is_written(tmp_path):
    source = trace("healthy nsys", tmp_path)
    (tmp_path / "notes.txt").write_text("hello\n")
    with pytest.raises(UnknownFormat, match="not a monitor log"):
        ingest(source, tmp_path / "x.duckdb", logs=[tmp_path / "notes.txt"])
    assert not (tmp_path / "x.duckdb").exists()


def notes(database):
    return ask(database, "select severity, code, text from import_note where code not like 'graph%' order by all")


@pytest.mark.slow
def test_damaged_files_that_nobody_named_are_noted_and_named_ones_are_errors(tmp_path):
    source = trace("healthy kineto", tmp_path)
    ingest(source, tmp_path / "alone.duckdb")
    files = [
        tmp_path / f"{source.name.split('.')[0]}.monitor.jsonl",
        tmp_path / "kernel_information.json",
        tmp_path / "inductor_provenance_tracking_node_mappings.json",
    ]
    files[0].write_text('{"traceq_monitor":1,"cpus":2}\n{"ts":1}\n')
    for each in files[1:]:
        each.write_text('{"a": ')
    ingest(source, tmp_path / "x.duckdb")
    more = set(notes(tmp_path / "x.duckdb")) - set(notes(tmp_path / "alone.duckdb"))
    codes = ["compiler_file_left_out", "compiler_file_left_out", "monitor_log_left_out"]
    assert sorted(code for _, code, _ in more) == codes
    assert all(severity == "data_loss" and "beside the trace, and left out" in text for severity, _, text in more)
    assert all(any(str(each) in text for _, _, text in more) for each in files)
    with pytest.raises(UnusableTrace, match="lacks 'values'"):
        ingest(source, tmp_path / "y.duckdb", logs=files[:1])
    for each in files[1:]:
        with pytest.raises(UnusableTrace, match="is not JSON"):
            ingest(source, tmp_path / "y.duckdb", inductor=each)


@pytest.mark.slow
def test_a_log_that_is_given_twice_is_taken_once(tmp_path):
    source = trace("healthy nsys", tmp_path)
    log = gpu_log(tmp_path / "gpu.csv", began(source, tmp_path))
    copy = tmp_path / "copy.csv"
    copy.write_bytes(log.read_bytes())
    ingest(source, tmp_path / "once.duckdb", logs=[log])
    ingest(source, tmp_path / "x.duckdb", logs=[log, log, copy])
    query = "select name, count(*), sum(value) from counter where log_id is not null group by all order by all"
    assert ask(tmp_path / "x.duckdb", query) == ask(tmp_path / "once.duckdb", query)
    texts = [text for _, code, text in notes(tmp_path / "x.duckdb") if code == "given_twice"]
    assert texts == [f"{each} is identical to gpu.csv, and counts once" for each in ("copy.csv", "gpu.csv")]


@pytest.mark.slow
def test_a_log_that_is_placed_outside_of_the_trace_warns_on_the_first_page(tmp_path):
    source = trace("healthy nsys", tmp_path)
    log = gpu_log(tmp_path / "gpu.csv", began(source, tmp_path))
    ingest(source, tmp_path / "x.duckdb", logs=[log], offset=5000)
    ((severity, text),) = [
        (each, text) for each, code, text in notes(tmp_path / "x.duckdb") if code.startswith("monitor")
    ]
    assert severity == "data_loss"
    assert "0 within the trace" in text
    assert "! Data lost on import: gpu.csv" in report(tmp_path / "x.duckdb").to_text()


@pytest.mark.parametrize("offset", ["nan", "inf", "1e300", "-1e10"])
def test_an_offset_is_a_number_of_seconds(offset, tmp_path):
    source = trace("healthy nsys", tmp_path)
    log = gpu_log(tmp_path / "gpu.csv", datetime(2026, 4, 1, tzinfo=UTC))
    options = ["-o", str(tmp_path / "x.duckdb"), "--with", str(log), f"--offset={offset}"]
    done = CliRunner().invoke(main, ["ingest", str(source), *options])
    assert done.exit_code == 2
    assert "give seconds, at most 4,000,000,000" in done.output


def test_an_offset_without_logs_says_what_it_is_for(tmp_path):
    source = trace("healthy nsys", tmp_path)
    done = CliRunner().invoke(main, ["ingest", str(source), "-o", str(tmp_path / "x.duckdb"), "--offset", "5"])
    assert done.exit_code == 2
    assert "added to the times of logs and memory snapshots next to the trace: name them with --with LOG" in done.output
