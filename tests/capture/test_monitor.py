"""What `traceq record` samples beside a program: with made-up psutil and NVML, and with the real psutil where it is installed."""

from __future__ import annotations

import json
import signal
import sys
import threading
import time
from types import SimpleNamespace

import pytest

from traceq.capture import monitor
from traceq.importers.monitors import read_log
from traceq.importers.monitors.series import SERIES


class NVMLError(Exception):
    pass


def make_nvml(gpus=2):
    """One that says of GPU 1 no power, and of both that they are hot."""

    def power(handle):
        if handle == 1:
            raise NVMLError
        return 412_500

    return SimpleNamespace(
        NVMLError=NVMLError,
        NVML_TEMPERATURE_GPU=0,
        NVML_CLOCK_SM=1,
        nvmlInit=lambda: None,
        nvmlDeviceGetCount=lambda: gpus,
        nvmlDeviceGetHandleByIndex=lambda index: index,
        nvmlDeviceGetHandleByUUID=lambda uuid: {"GPU-b": 1}[uuid],
        nvmlDeviceGetUtilizationRates=lambda _: SimpleNamespace(gpu=97),
        nvmlDeviceGetPowerUsage=power,
        nvmlDeviceGetEnforcedPowerLimit=lambda _: 700_000,
        nvmlDeviceGetPowerManagementLimitConstraints=lambda _: (200_000, 700_000),
        nvmlDeviceGetTemperature=lambda handle, _: 88 + handle,
        nvmlDeviceGetClockInfo=lambda _, __: 990,
        nvmlDeviceGetMaxClockInfo=lambda _, __: 1980,
        nvmlDeviceGetMemoryInfo=lambda _: SimpleNamespace(used=1 << 30),
        nvmlDeviceGetCurrentClocksEventReasons=lambda _: 0x48,
    )


def make_psutil():
    """Each time it is asked a disk was busy for 50 ms more, and the CPUs for a second of four."""
    asked = {"disks": 0, "cpus": 0}

    def disks(perdisk):
        assert perdisk
        asked["disks"] += 1
        number = asked["disks"]
        return {
            "loop0": None,
            "made-up": SimpleNamespace(
                read_bytes=1000 * number, write_bytes=0, read_count=number, write_count=0, busy_time=50 * number
            ),
        }

    def cpus():
        asked["cpus"] += 1
        times = {
            "user": asked["cpus"],
            "nice": 0,
            "system": 0,
            "idle": 2 * asked["cpus"],
            "steal": asked["cpus"],
            "guest": 7 * asked["cpus"],
        }
        return SimpleNamespace(_fields=tuple(times), **times)

    return SimpleNamespace(
        disk_io_counters=disks,
        cpu_times=cpus,
        virtual_memory=lambda: SimpleNamespace(available=10, used=20),
        swap_memory=lambda: SimpleNamespace(used=0, sin=0, sout=0),
        getloadavg=lambda: (1.5, 1.0, 1.0),
        net_io_counters=lambda pernic: {"eth0": SimpleNamespace(bytes_recv=0, bytes_sent=0)} if pernic else None,
    )


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(monitor, "_BEAT", 0.05)
    # what is made up costs more than that of so short a beat
    monkeypatch.setattr(monitor, "_MOST_COST", 1.0)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


def record(path, seconds=0.4):
    with monitor.sample_machine(path):
        time.sleep(seconds)


@pytest.mark.usefixtures("quick")
def test_gpus_and_host_are_sampled(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pynvml", make_nvml())
    monkeypatch.setitem(sys.modules, "psutil", make_psutil())
    monkeypatch.setattr(monitor, "_find_disks", lambda counters: [each for each in counters if each == "made-up"])
    path = tmp_path / "train.monitor.jsonl"
    record(path)
    log = read_log(path)
    assert (log.tool, log.clock, log.left_out) == ("traceq record", "utc", 0)
    found = {(each.device, each.instance, each.name): each.value for each in log.samples}
    assert found[0, None, "gpu_power"] == 412.5
    assert (1, None, "gpu_power") not in found
    assert found[1, None, "gpu_temperature"] == 89
    assert (found[0, None, "gpu_throttle_thermal_hw"], found[0, None, "gpu_throttle_power_cap"]) == (1, 0)
    assert (found[None, None, "cpu_user"], found[None, None, "cpu_idle"]) == (25, 50)
    # 50 ms of each beat of about 50 ms
    assert 30 < found[None, "made-up", "disk_utilization"] < 150
    assert {name for _, _, name in found} <= SERIES.keys()
    times = sorted({each.ts for each in log.samples})
    assert abs(times[-1] - time.time_ns()) < 60e9
    assert len(times) >= 4


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(("visible", "temperatures"), [("1", {0: 89}), ("GPU-b,0", {0: 89, 1: 88}), ("", {})])
def test_gpus_are_numbered_as_the_program_numbers_them(visible, temperatures, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    monkeypatch.setitem(sys.modules, "pynvml", make_nvml())
    sample = monitor._open_gpus()
    told = sample() if sample else []
    assert {device: value for device, _, name, value in told if name == "gpu_temperature"} == temperatures


@pytest.mark.usefixtures("quick")
def test_with_nothing_to_sample_with_there_is_no_file(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    monkeypatch.setitem(sys.modules, "psutil", None)
    record(tmp_path / "x.monitor.jsonl", 0.1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("quick")
def test_what_fails_is_said_and_does_not_matter_to_the_program(monkeypatch, tmp_path, capsys):
    broken = make_nvml()
    broken.nvmlDeviceGetUtilizationRates = lambda _: 1 / 0
    monkeypatch.setitem(sys.modules, "pynvml", broken)
    monkeypatch.setitem(sys.modules, "psutil", None)
    record(tmp_path / "x.monitor.jsonl", 0.1)
    assert "sampling of the machine stopped: ZeroDivisionError: division by zero\n" in capsys.readouterr().err
    record(tmp_path / "no" / "such" / "folder.jsonl", 0.1)
    assert "sampling of the machine stopped: FileNotFoundError: " in capsys.readouterr().err


@pytest.mark.slow
def test_samples_that_cost_much_are_further_apart(monkeypatch):
    monkeypatch.setattr(monitor, "_BEAT", 0.01)
    stopped, written = threading.Event(), []

    def burn():
        end = time.thread_time() + 0.003
        while time.thread_time() < end:
            pass
        return []

    thread = threading.Thread(target=monitor.sample_until, args=(stopped, [burn], written.append))
    thread.start()
    time.sleep(2.5)
    stopped.set()
    thread.join()
    # 3 ms each, of at most 0.3 % of the time: one a second
    assert 2 <= len(written) <= 3


@pytest.mark.usefixtures("quick")
def test_the_thread_gets_no_signals(monkeypatch, tmp_path):
    masks = []
    monkeypatch.setattr(monitor, "_run", lambda *_: masks.append(signal.pthread_sigmask(signal.SIG_BLOCK, ())))
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    record(tmp_path / "x", 0)
    assert {signal.SIGINT, signal.SIGTERM, signal.SIGCHLD} <= masks[0]
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before


@pytest.mark.usefixtures("quick")
def test_the_real_psutil(tmp_path):
    pytest.importorskip("psutil")
    path = tmp_path / "train.monitor.jsonl"
    record(path, 0.6)
    found = {each.name: each.value for each in read_log(path).samples}
    assert {"cpu_user", "cpu_idle", "host_memory_available", "load_1", "cpu_count"} <= found.keys()
    assert all(value >= 0 for value in found.values())
    shares = [found[each] for each in found if each.startswith("cpu_") and each not in ("cpu_count", "cpu_pressure")]
    # the rest went into interrupts
    assert 50 < sum(shares) < 100.1
    lines = path.read_text().splitlines()
    assert json.loads(lines[0])["traceq_monitor"] == 1
