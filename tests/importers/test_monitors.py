"""Logs of monitors: what is in them by readings of their own, against the samples."""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

from traceq.errors import UnknownFormat, UnusableTrace
from traceq.importers import monitors
from traceq.importers.monitors import READERS, read_log, recorded
from traceq.importers.monitors.series import SERIES

LOGS = Path(__file__).with_name("monitors")
KIB, MIB = 1 << 10, 1 << 20


def sum_rows(log):
    """Count and sum of each series."""
    found = defaultdict(lambda: [0, 0.0])
    for each in log.samples:
        found[each.name][0] += 1
        found[each.name][1] += each.value
    return {name: tuple(each) for name, each in found.items()}


def check(log, expected):
    found = sum_rows(log)
    for name, (count, total) in expected.items():
        assert found[name][0] == count, name
        assert math.isclose(found[name][1], total, rel_tol=1e-12, abs_tol=1e-9), name


def make_values(values):
    values = list(values)
    return len(values), math.fsum(values)


def all_numbers(text, key, factor=1):
    """Of JSON as it is written: all numbers of a member, whatever they are in."""
    return [factor * float(each) for each in re.findall(rf'"{re.escape(key)}": ([-\d.]+)', text)]


def list_columns(text, skip=0):
    """Of a table as it is written: the words of each line that begins with a number, from the line `skip` on."""
    return [line.split() for line in text.splitlines() if re.match(r"\s*\d", line)][skip:]


@pytest.mark.parametrize(("name", "clock"), [("iostat.json", "local"), ("iostat_iso.json", "utc")])
def test_iostat(name, clock):
    text = (LOGS / name).read_text()
    log = read_log(LOGS / name)
    assert (log.tool, log.clock, log.host) == ("iostat", clock, "node1")
    expected = {
        "cpu_user": make_values(all_numbers(text, "user")[1:]),
        "cpu_steal": make_values(all_numbers(text, "steal")[1:]),
        "disk_utilization": make_values(all_numbers(text, "util")[1:]),
        "disk_queue": make_values(all_numbers(text, "aqu-sz")[1:]),
        "disk_read": make_values(all_numbers(text, "rkB/s", KIB)[1:]),
        "disk_write": make_values(all_numbers(text, "wkB/s", KIB)[1:]),
        "disk_write_wait": make_values(all_numbers(text, "w_await")[1:]),
        "iostat:f/s": make_values(all_numbers(text, "f/s")[1:]),
        "cpu_count": (1, 2.0),
    }
    check(log, expected)
    # nothing but the first report is left out: 6 of CPUs and 22 of the disk
    reports = len(re.findall("avg-cpu", text))
    assert (len(log.samples), log.left_out) == (28 * (reports - 1) + 1, 28)
    assert {each.instance for each in log.samples} == {None, "vda"}


def test_sadf_agrees_with_iostat_of_the_same_seconds():
    text = (LOGS / "sadf.json").read_text()
    log = read_log(LOGS / "sadf.json")
    assert (log.tool, log.clock, log.host, log.left_out) == ("sar", "utc", "node1", 0)
    expected = {
        "cpu_user": make_values(all_numbers(text, "user")),
        "run_queue": make_values(all_numbers(text, "runq-sz")),
        "disk_utilization": make_values(all_numbers(text, "util-percent")),
        "disk_write": make_values(all_numbers(text, "wkB", KIB)),
        "host_memory_available": make_values(all_numbers(text, "avail", KIB)),
        "swap_in": make_values(all_numbers(text, "pswpin", 4 * KIB)),
        "network_receive": make_values(all_numbers(text, "rxkB", KIB)),
        "sar:memory.dirty": make_values(all_numbers(text, "dirty")),
        "load_1": make_values(all_numbers(text, "ldavg-1")),
    }
    check(log, expected)
    iostat = sum_rows(read_log(LOGS / "iostat.json"))
    for name in ("disk_utilization", "disk_write", "disk_writes", "disk_queue"):
        assert iostat[name] == pytest.approx(sum_rows(log).get(name, iostat[name])), name


def test_local_times_of_sadf_are_utc_where_the_machine_is_in_utc():
    log = read_log(LOGS / "sadf_local.json")
    assert log.clock == "utc"
    check(log, {"cpu_user": make_values(all_numbers((LOGS / "sadf_local.json").read_text(), "user"))})


@pytest.mark.parametrize(("name", "clock"), [("vmstat.txt", "utc"), ("vmstat_ny.txt", "local")])
def test_vmstat(name, clock):
    log = read_log(LOGS / name)
    rows = list_columns((LOGS / name).read_text(), skip=1)
    assert (log.tool, log.clock) == ("vmstat", clock)
    expected = {
        "run_queue": make_values(int(row[0]) for row in rows),
        "host_memory_free": make_values(KIB * int(row[3]) for row in rows),
        "swap_in": make_values(KIB * int(row[6]) for row in rows),
        "context_switches": make_values(int(row[11]) for row in rows),
        "cpu_user": make_values(int(row[12]) for row in rows),
        "cpu_steal": make_values(int(row[16]) for row in rows),
        "vmstat:bo": make_values(int(row[9]) for row in rows),
    }
    check(log, expected)
    assert len(log.samples) == sum(len(row) - 2 for row in rows)


@pytest.mark.parametrize("name", ["pidstat.txt", "pidstat_kolkata.txt"])
def test_pidstat(name):
    text = (LOGS / name).read_text()
    log = read_log(LOGS / name)
    rows = [line.split() for line in text.splitlines() if re.match(r"\d\d:", line)]
    assert (log.tool, log.clock, log.host) == ("pidstat", "local", "node1")
    wait, cpu = 6, 7
    expected = {
        "process_wait": make_values(float(row[wait]) for row in rows),
        "process_cpu": make_values(float(row[cpu]) for row in rows),
    }
    if name == "pidstat.txt":
        expected |= {
            "process_memory": make_values(KIB * float(row[12]) for row in rows),
            "process_write": make_values(KIB * float(row[15]) for row in rows),
            "process_major_faults": make_values(float(row[10]) for row in rows),
        }
    check(log, expected)
    assert {each.instance for each in log.samples if each.instance} == {f"{row[2]} {row[-1]}" for row in rows}


def test_the_tools_agree_on_when():
    """They ran side by side: all begin in the same two seconds, each in the zone that it was started in."""
    hours = {"vmstat_ny.txt": -5, "pidstat_kolkata.txt": 5.5}
    names = (
        "iostat.json",
        "iostat_iso.json",
        "sadf.json",
        "vmstat.txt",
        "vmstat_ny.txt",
        "pidstat.txt",
        "pidstat_kolkata.txt",
    )
    starts = [read_log(LOGS / name).samples[0].ts / 1e9 - 3600 * hours.get(name, 0) for name in names]
    assert max(starts) - min(starts) <= 1


def test_nvidia_smi():
    text = (LOGS / "nvidia_smi.csv").read_text()
    log = read_log(LOGS / "nvidia_smi.csv")
    rows = [line.split(", ") for line in text.splitlines()[1:]]
    assert (log.tool, log.clock) == ("nvidia-smi", "local")
    numbers = {
        "gpu_utilization": (4, 1),
        "gpu_memory_used": (6, MIB),
        "gpu_power": (7, 1),
        "gpu_memory_temperature": (10, 1),
        "gpu_sm_clock": (11, 1),
        "gpu_sm_clock_max": (12, 1),
    }
    expected = {
        name: make_values(factor * float(row[place].split()[0]) for row in rows if "[N" not in row[place])
        for name, (place, factor) in numbers.items()
    }
    masks = [int(row[13], 16) for row in rows]
    expected |= {
        "gpu_throttle_thermal_hw": make_values(bool(mask & 0x40) for mask in masks),
        "gpu_throttle_hw_slowdown": make_values(bool(mask & 0x8) for mask in masks),
        "gpu_throttle_power_cap": make_values(bool(mask & 0x4) for mask in masks),
    }
    check(log, expected)
    assert {each.device for each in log.samples} == {0, 1}
    assert log.samples[0].ts % 1_000_000_000 == 101_000_000
    # the name of the GPU, memory temperatures and one power are no numbers
    assert log.left_out == 4 + 2 + 1


def test_nvidia_smi_without_units_and_of_one_gpu():
    log = read_log(LOGS / "nvidia_smi_nounits.csv")
    assert sum_rows(log) == {
        "gpu_utilization": (3, 155.0),
        "gpu_memory_used": (3, 1631.0 * MIB),
        "gpu_power": (3, pytest.approx(154.56)),
        "gpu_sm_clock": (3, 3510.0),
        "gpu_throttle_power_cap": (3, 2.0),
    }
    assert {each.device for each in log.samples} == {0}


def test_nvidia_smi_of_several_gpus_has_to_say_which(tmp_path):
    path = tmp_path / "gpu.csv"
    lines = [f"2026/01/01 00:00:{second:02}.{ms}, 5 %" for second in range(4) for ms in ("100", "108")]
    path.write_text("timestamp, utilization.gpu [%]\n" + "\n".join(lines) + "\n")
    with pytest.raises(UnusableTrace, match="query index"):
        read_log(path)


def test_nvidia_dmon():
    log = read_log(LOGS / "nvidia_dmon.txt")
    rows = list_columns((LOGS / "nvidia_dmon.txt").read_text())
    assert (log.tool, log.clock) == ("nvidia-smi dmon", "local")
    expected = {
        "gpu_power": make_values(float(row[3]) for row in rows if row[3] != "-"),
        "gpu_utilization": make_values(float(row[6]) for row in rows),
        "gpu_sm_clock": make_values(float(row[11]) for row in rows),
        "gpu_thermal_violation": make_values(float(row[13]) for row in rows),
        "gpu_memory_used": make_values(MIB * float(row[14]) for row in rows),
        "nvidia-smi dmon:rxpci": make_values(float(row[16]) for row in rows),
    }
    check(log, expected)
    assert len(log.samples) + log.left_out == sum(len(row) - 3 for row in rows)


def test_dmon_without_times_says_so(tmp_path):
    path = tmp_path / "dmon.txt"
    path.write_text("# gpu   pwr gtemp    sm\n# Idx     W     C     %\n    0    70    48     5\n")
    log = read_log(path)
    assert (log.clock, sum_rows(log)["gpu_power"]) == ("none", (1, 70.0))


def test_dcgmi_dmon():
    log = read_log(LOGS / "dcgmi_dmon.txt")
    rows = [line.split() for line in (LOGS / "dcgmi_dmon.txt").read_text().splitlines() if " GPU " in line]
    assert (log.tool, log.clock, log.left_out) == ("dcgmi dmon", "utc", 1)
    expected = {
        "gpu_power": make_values(float(row[5]) for row in rows if row[5] != "N/A"),
        "gpu_sm_clock": make_values(float(row[7]) for row in rows),
        "gpu_throttle_thermal_hw": make_values(bool(int(row[8]) & 0x40) for row in rows),
        "dcgmi dmon:SMACT": make_values(float(row[9]) for row in rows),
    }
    check(log, expected)


def test_text_of_the_dcgm_exporter():
    log = read_log(LOGS / "dcgm_exporter.txt")
    lines = [line for line in (LOGS / "dcgm_exporter.txt").read_text().splitlines() if not line.startswith("#")]
    values = {
        name: [float(line.split()[-1]) for line in lines if line.startswith(f"DCGM_FI_DEV_{name}{{")]
        for name in ("SM_CLOCK", "FB_USED")
    }
    assert (log.clock, log.host, log.left_out) == ("utc", "node1", 1)
    check(
        log,
        {
            "gpu_sm_clock": make_values(values["SM_CLOCK"]),
            "gpu_memory_used": make_values(MIB * each for each in values["FB_USED"]),
        },
    )
    # half a second of heat in a second
    check(log, {"gpu_thermal_violation": (1, 50.0)})
    assert sum_rows(log)["gpu_throttle_thermal_hw"] == (1, 1.0)


def test_amd_smi():
    log = read_log(LOGS / "amd_smi_monitor.csv")
    rows = [line.split(",") for line in (LOGS / "amd_smi_monitor.csv").read_text().splitlines()[1:]]
    assert (log.tool, log.clock, log.left_out) == ("amd-smi", "utc", 4)
    expected = {
        "gpu_power": make_values(float(row[2]) for row in rows),
        "gpu_utilization": make_values(float(row[7]) for row in rows),
        "gpu_memory_used": make_values(MIB * float(row[12]) for row in rows),
    }
    check(log, expected)


def test_prometheus_range():
    log = read_log(LOGS / "prometheus_range.json")
    assert (log.clock, log.host, log.left_out) == ("utc", "node1", 1)
    assert json.loads((LOGS / "prometheus_range.json").read_text())["status"] == "success"
    assert {name: (count, pytest.approx(total)) for name, (count, total) in sum_rows(log).items()} == {
        "gpu_utilization": (2, 195.0),
        "disk_utilization": (2, 190.0),
        "cpu_steal": (1, 25.0),
        "load_1": (1, 3.25),
    }


def test_series_of_several_machines_are_refused(tmp_path):
    """GPU 0 of one is not GPU 0 of the other."""
    found = json.loads((LOGS / "prometheus_range.json").read_text())
    found["data"]["result"][0]["metric"] |= {"Hostname": "node2"}
    found["data"]["result"][1]["metric"] |= {"Hostname": "node1", "device": "sda"}
    path = tmp_path / "range.json"
    path.write_text(json.dumps(found))
    with pytest.raises(UnusableTrace, match="machines"):
        read_log(path)


def test_what_is_recorded_by_traceq_itself(tmp_path):
    path = tmp_path / "train.monitor.jsonl"
    path.write_text(
        '{"traceq_monitor":1,"host":"node1","cpus":4}\n'
        '{"ts":1000000000,"values":[[null,null,"cpu_user",50.0],[0,null,"gpu_power",300]]}\n'
        '{"ts":2000000000,"values":[[null,"vda","disk_utilization",99.0]]}\n'
        '{"ts":3000000000,"val'
    )
    log = read_log(path)
    assert (log.clock, log.host, log.left_out) == ("utc", "node1", 1)
    assert sum_rows(log) == {
        "cpu_user": (1, 50.0),
        "gpu_power": (1, 300.0),
        "disk_utilization": (1, 99.0),
        "cpu_count": (1, 4.0),
    }


@pytest.mark.parametrize("path", sorted(LOGS.iterdir()), ids=lambda path: path.name)
def test_each_log_is_of_one_format_and_its_units_are_the_common_ones(path):
    head = path.read_text()[: 1 << 16]
    assert sum(reader.sniff(head) for reader in READERS) == 1
    for each in read_log(path).samples:
        assert ":" in each.name or each.unit == (SERIES[each.name][0] or None)


def test_every_module_that_reads_logs_is_a_reader_with_a_log_here_and_names_series_that_there_are():
    modules = [import_module(f"{monitors.__name__}.{module.name}") for module in iter_modules(monitors.__path__)]
    readers = [module for module in modules if hasattr(module, "sniff")]
    assert {*readers} == {*READERS}, "a reader is listed in READERS of traceq/importers/monitors/__init__.py"
    for reader in READERS:
        assert reader.TOOL
        assert callable(reader.read)
        if reader is not recorded:  # its log is made by a test
            heads = (path.read_text()[: 1 << 16] for path in LOGS.iterdir())
            assert any(map(reader.sniff, heads)), f"no log of {reader.TOOL} in {LOGS}"
        meanings = getattr(reader, "_KNOWN", {}).values()
        assert {meaning.name for meaning in meanings} <= SERIES.keys(), reader.TOOL


def test_the_page_lists_all_names_that_tools_have_in_common():
    page = (Path(__file__).parents[2] / "docs" / "monitors.md").read_text()
    listed = re.findall(r"^\| `(\w+)` \| (\S*) ?\| (.*) \|$", page, re.MULTILINE)
    assert {name: (unit, words) for name, unit, words in listed} == SERIES


@pytest.mark.parametrize(
    "text",
    ["", "hello, world\n", '{"traceEvents": []}', "timestamp,value\n1,2\n", "# a title\n", '{"sysstat": 1}', "{"],
)
def test_what_is_no_log_is_refused(tmp_path, text):
    path = tmp_path / "x"
    path.write_text(text)
    with pytest.raises((UnknownFormat, UnusableTrace), match="x"):
        read_log(path)


@pytest.mark.parametrize("path", sorted(LOGS.iterdir()), ids=lambda path: path.name)
def test_a_log_cut_anywhere_is_read_or_refused(path, tmp_path):
    whole = path.read_bytes()
    cut = tmp_path / "cut"
    for place in range(0, len(whole), max(1, len(whole) // 60)):
        cut.write_bytes(whole[:place])
        try:
            read_log(cut)
        except (UnknownFormat, UnusableTrace):
            continue


GPU = "timestamp, index, power.draw [W]\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"sysstat":{"hosts":[]}}', "wrote no reports into it"),
        (
            '{"sysstat":{"hosts":[{"statistics":[{"disk":5,"avg-cpu":"x","timestamp":7}]}]}}',
            "has the wrong type",
        ),
        ('{"traceq_monitor":1,"cpus":2}\n{"ts":1}', "it lacks 'values'"),
        (
            '{"traceq_monitor":1,"cpus":2}\n{"ts":"x","values":[[0,null,"gpu_power",1]]}',
            "impossible times or GPU numbers",
        ),
        (
            '{"traceq_monitor":1,"cpus":2}\n{"ts":1e30,"values":[[0,null,"gpu_power",1]]}',
            "impossible times or GPU numbers",
        ),
        (GPU + "2026/11/26 10:00:00.000, 0, 390,00 W\n", "decimal commas"),
        (GPU + "9999/11/26 10:00:00.000, 0, 390.00 W\n", "impossible times or GPU numbers"),
        (GPU + "2026/11/26 10:00:00.000, 99999999999, 390.00 W\n", "impossible times or GPU numbers"),
    ],
)
def test_what_is_wrong_is_said_in_words(text, words, tmp_path):
    (tmp_path / "log").write_text(text)
    with pytest.raises(UnusableTrace, match=words):
        read_log(tmp_path / "log")


def test_powershell_writes_utf_16(tmp_path):
    text = GPU + "2026/11/26 10:00:00.000, 0, 390.00 W\n"
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        (tmp_path / encoding).write_text(text, encoding)
    (log, *others) = (read_log(tmp_path / each) for each in ("utf-8", "utf-8-sig", "utf-16"))
    assert others == [log, log]
    assert [each.value for each in log.samples] == [390]


def test_a_time_that_cannot_be_read_is_named(tmp_path):
    (tmp_path / "log").write_text(GPU + "26/11/26 10:00:00, 0, 390.00 W\n")
    log = read_log(tmp_path / "log")
    assert (log.clock, log.odd_time) == ("none", "26/11/26 10:00:00")


def test_a_number_without_end_is_none(tmp_path):
    (tmp_path / "log").write_text(GPU + "2026/11/26 10:00:00, 0, 1e999 W\n2026/11/26 10:00:01, 0, 300 W\n")
    log = read_log(tmp_path / "log")
    assert ([each.value for each in log.samples], log.left_out) == ([300], 1)
