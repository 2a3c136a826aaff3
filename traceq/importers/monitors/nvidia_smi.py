"""`nvidia-smi --query-gpu=... --format=csv[,nounits]`: a line a GPU and sample, with a header that names fields and units."""

from __future__ import annotations

import csv
import re

from traceq.errors import UnusableTrace
from traceq.importers.monitors.reading import Log, Sample, clock_of, is_steady, parse_number, parse_time
from traceq.importers.monitors.series import MIB, Meaning, decode_reasons, name_series

TOOL = "nvidia-smi"

_KNOWN = {
    "utilization.gpu": Meaning("gpu_utilization"), "utilization.memory": Meaning("gpu_memory_utilization"),
    "memory.used": Meaning("gpu_memory_used", MIB), "memory.free": Meaning("gpu_memory_free", MIB),
    "memory.total": Meaning("gpu_memory_total", MIB), "power.draw": Meaning("gpu_power"),
    "power.limit": Meaning("gpu_power_limit"), "power.max_limit": Meaning("gpu_power_limit_max"),
    "temperature.gpu": Meaning("gpu_temperature"), "temperature.memory": Meaning("gpu_memory_temperature"),
    "clocks.sm": Meaning("gpu_sm_clock"), "clocks.mem": Meaning("gpu_memory_clock"),
    "clocks.max.sm": Meaning("gpu_sm_clock_max"), "clocks.max.mem": Meaning("gpu_memory_clock_max"),
    "reasons.gpu_idle": Meaning("gpu_throttle_idle"),
    "reasons.applications_clocks_setting": Meaning("gpu_throttle_clock_setting"),
    "reasons.sw_power_cap": Meaning("gpu_throttle_power_cap"),
    "reasons.hw_slowdown": Meaning("gpu_throttle_hw_slowdown"),
    "reasons.sync_boost": Meaning("gpu_throttle_sync_boost"),
    "reasons.sw_thermal_slowdown": Meaning("gpu_throttle_thermal_sw"),
    "reasons.hw_thermal_slowdown": Meaning("gpu_throttle_thermal_hw"),
    "reasons.hw_power_brake_slowdown": Meaning("gpu_throttle_power_brake"),
}  # fmt: skip

# Longer names of the same field, and those of older drivers.
_SAME = {"clocks.current.sm": "clocks.sm", "clocks.current.memory": "clocks.mem", "clocks.max.memory": "clocks.max.mem"}
_REASONS = re.compile(r"clocks_(event|throttle)_reasons\.")
_HEADER = re.compile(r"\s*timestamp\b.*,|.*\b(utilization\.gpu|power\.draw|clocks\.(current\.)?sm|temperature\.gpu)\b")
_FIELD = re.compile(r"\s*([\w.]+)\s*(?:\[(.*)\])?\s*$")

# Fields that say which GPU, the best first.
_IDENTITY = ("index", "pci.bus_id", "gpu_bus_id", "uuid", "gpu_uuid", "serial")
_WORDS = {"active": 1.0, "not active": 0.0, "enabled": 1.0, "disabled": 0.0}


def sniff(head: str) -> bool:
    """Return whether the first line is a CSV header that names fields of nvidia-smi."""
    first = head.lstrip("\ufeff").partition("\n")[0]
    return "," in first and bool(_HEADER.match(first)) and "." in first


def read(text: str) -> Log:
    """Return the log of all GPUs in the CSV of nvidia-smi --query-gpu.

    Raises UnusableTrace where a line does not say which of several GPUs it is of, or has more values than the header.
    """
    rows = list(csv.reader(text.lstrip("\ufeff").splitlines(), skipinitialspace=True))
    fields = [_FIELD.match(each) for each in rows[0]]
    names = [_plain_name(field[1]) if field else "" for field in fields]
    units = [each[2] if each else None for each in fields]
    body = [row for row in rows[1:] if len(row) == len(names) and row != rows[0]]
    if not body and any(len(row) > len(names) for row in rows):
        raise UnusableTrace(
            "nvidia-smi: its lines have more values than its header; if numbers have decimal commas (390,00 W), record it"
            " with LC_ALL=C"
        )
    times = [_time(names, row) for row in body]
    devices = _number_devices(names, body, [each[0] for each in times if each])
    samples: list[Sample] = []
    left_out = len(rows) - 1 - len(body)
    # The mask has all reasons: single ones beside it would count twice.
    skipped = {each for each in names if each.startswith("reasons.") and "reasons.active" in names} - {"reasons.active"}
    for row, time, device in zip(body, times, devices, strict=True):
        for unit, name, cell in zip(units, names, row, strict=True):
            if name == "timestamp" or name in _IDENTITY or name in skipped:
                continue
            values = _read_cell(name, unit, cell)
            left_out += not values
            samples += [Sample(time[0] if time else 0, device, None, *value) for value in values]
    odd = (
        next((row[names.index("timestamp")] for row, time in zip(body, times, strict=True) if time is None), "")
        if ("timestamp" in names)
        else ""
    )
    return Log(TOOL, samples, clock_of(times), left_out=left_out, odd_time=odd)


def _plain_name(name: str) -> str:
    name = _REASONS.sub("reasons.", name.strip())
    return _SAME.get(name, name)


def _time(names: list[str], row: list[str]) -> tuple[int, bool] | None:
    return parse_time(row[names.index("timestamp")]) if "timestamp" in names else None


def _number_devices(names: list[str], rows: list[list[str]], times: list[int]) -> list[int]:
    """Return the number of the GPU of each row; `names` are the columns, `times` the rows' times (ns).

    GPUs that are told by bus id, uuid or serial are numbered in the order in which they appear. Without such a column
    there is one GPU, 0; raises UnusableTrace where lines in bursts show that there are several.
    """
    told = next((field for field in _IDENTITY if field in names), None)
    if told is None:
        if not is_steady(times):
            raise UnusableTrace("nvidia-smi: the log does not say which GPU a line is about; query index, too")
        return [0] * len(rows)
    ids = [row[names.index(told)].strip() for row in rows]
    if told == "index":
        return [int(number) for number in ids]
    order = {fromkey: place for place, fromkey in enumerate(dict.fromkeys(ids))}
    return [order[number] for number in ids]


def _read_cell(name: str, unit: str | None, cell: str) -> list[tuple[str, str | None, float]]:
    """Return (series, unit, value) for each series in a cell; `name` is the cell's column.

    The mask of throttling reasons gives a series for each reason, other cells one; empty where the cell is no number.
    """
    cell = cell.strip()
    if name == "reasons.active" and cell.lower().startswith("0x"):
        return [(decode_reason, None, value) for decode_reason, value in decode_reasons(int(cell, 16))]
    value = _WORDS.get(cell.lower())
    if value is None:
        value = parse_number(cell.removeprefix("P") if name == "pstate" else cell)
    # What begins with a number need not be one: names of GPUs, dates of drivers.
    if value is None or (not unit and name not in _KNOWN and not re.fullmatch(r"P?[-+.\d]+", cell)):
        return []
    return [name_series(TOOL, name, unit, value, _KNOWN)]
