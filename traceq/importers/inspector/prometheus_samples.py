"""Means that the Inspector plugins tell Prometheus: those of all operations of a GPU since the scrape before, by kind and size.

As the text that the node exporter collects (one snapshot per GPU, without a time), or as the answer of Prometheus to
`/api/v1/query_range`. Sizes are classes ("4-5GB": from 4 to below 5 GiB), bandwidths geometric means, times means.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from traceq.errors import UnusableTrace
from traceq.importers.inspector.reading import fit_value, open_packed
from traceq.importers.rows import Notes

TOOL = "the Inspector plugin"

SAMPLE_SCHEMA = pa.schema({
    "file": pa.int32(), "host": pa.string(), "gpu": pa.int32(), "communicator_name": pa.string(), "group_size": pa.int32(),
    "nodes": pa.int32(), "op": pa.string(), "size_low": pa.int64(), "size_high": pa.int64(), "algorithm": pa.string(),
    "utc_ns": pa.int64(), "bus_bandwidth": pa.float64(), "mean_dur": pa.float64(),
})  # fmt: skip

# By metric: the column that it fills, and by what its values are multiplied (times become ns).
_METRICS = {
    "nccl_bus_bandwidth_gbs": ("bus_bandwidth", 1.0), "nccl_p2p_bus_bandwidth_gbs": ("bus_bandwidth", 1.0),
    "nccl_collective_exec_time_microseconds": ("mean_dur", 1000.0), "nccl_p2p_exec_time_microseconds": ("mean_dur", 1000.0),
}  # fmt: skip
_DROPPED = ("nccl_collectives_dropped_total", "nccl_p2p_dropped_total")
_SAMPLE = re.compile(r"(nccl_\w+)\{(.*)\}\s+(\S+)(?:\s+(\d+))?\s*$")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_SIZE = re.compile(r"(\d+)(?:-(\d+))?([KMGT]?)B")
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_LARGEST = 1 << 30
# More GB/s or us no GPU has.
_MOST_VALUE = 1e18


def has_records(head: str) -> bool:
    """Return whether the text holds one of the plugin's metrics, as text or in an answer of Prometheus."""
    return re.search(rf'(^|"__name__"\s*:\s*")({"|".join(_METRICS)})\b', head, re.MULTILINE) is not None


def has_other_metrics(head: str) -> bool:
    """Return whether a text for Prometheus holds metrics that are not the plugin's, as the scrape of an exporter does."""
    return re.search(r"^(?!nccl_)[a-zA-Z_:][\w:]*(\{.*\})? +[-+0-9.]", head, re.MULTILINE) is not None


def read_rows(path: Path, file: int, notes: Notes) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield a batch of inspected_sample; lines that cannot be read are counted in `notes`.

    Raises UnusableTrace for a file of more than 1 GiB, and an answer of Prometheus that is damaged.
    """
    with open_packed(path) as stream:
        content = stream.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise UnusableTrace(f"{path}: more than 1 GiB of samples; ask Prometheus for a shorter time or a longer step")
    text = content.decode("utf-8", "replace")
    samples = _ScrapedMeans(file)
    if text.lstrip().startswith("{"):
        try:
            samples.read_matrix(json.loads(text))
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError, OverflowError) as error:
            raise UnusableTrace(f"{path}: a damaged answer of Prometheus ({error}); ask it again") from error
    else:
        samples.read_text(text)
    notes.data_loss(
        "inspector_damaged", samples.damaged, "Samples of collectives that cannot be read; they are left out."
    )
    text = "Operations that the Inspector dropped before they were asked for; its means lack them."
    notes.data_loss("inspector_dropped", samples.dropped, text)
    if batch := samples.make_batch():
        yield "inspected_sample", batch


class _ScrapedMeans:
    """The samples of one file: values of one GPU, kind, size and time become one row."""

    def __init__(self, file: int) -> None:
        self.damaged = self.dropped = 0
        self._file = file
        self._rows: dict[tuple[Any, ...], dict[str, Any]] = {}

    def read_text(self, text: str) -> None:
        """Add the samples of a text, line by line."""
        for line in text.splitlines():
            # the scrape of an exporter holds more than the plugin's metrics
            if not line.startswith("nccl_"):
                continue
            found = _SAMPLE.match(line)
            if found is None:
                self.damaged += 1
                continue
            labels = {name: re.sub(r"\\(.)", r"\1", value) for name, value in _LABEL.findall(found[2])}
            time = int(found[4]) * 1_000_000 if found[4] else None
            self._add_value(found[1], labels, time, found[3])

    def read_matrix(self, answer: dict[str, Any]) -> None:
        """Add the samples of an answer of Prometheus. Raises what Python does where it is damaged."""
        for series in answer["data"]["result"]:
            labels = series["metric"]
            for time, value in series["values"]:
                self._add_value(labels["__name__"], labels, round(float(time) * 1e9), value)

    def _add_value(self, metric: str, labels: dict[str, str], time: int | None, text: str) -> None:
        """Add one value of a metric with these labels at `time` (ns since 1970; None if unknown)."""
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if metric in _DROPPED and 0 <= value < 1 << 53:
            self.dropped += int(value)
            return
        op = labels.get("collective") or labels.get("p2p_operation")
        size = _SIZE.fullmatch(labels.get("message_size", ""))
        if metric not in _METRICS:
            return
        if not 0 <= value < _MOST_VALUE or op is None or size is None:
            self.damaged += 1
            return
        column, factor = _METRICS[metric]
        low, high = int(size[1]), int(size[2] or size[1])
        row = {
            "file": self._file,
            "host": labels.get("node"),
            "gpu": _to_number(labels.get("gpu", "").removeprefix("GPU")),
            "communicator_name": labels.get("comm_name"),
            "group_size": _to_number(labels.get("nranks", "")),
            "nodes": _to_number(labels.get("n_nodes", "")),
            "op": op,
            "size_low": low * _UNITS[size[3]],
            "size_high": high * _UNITS[size[3]],
            "algorithm": labels.get("algo_proto"),
            "utc_ns": time,
        }
        self._rows.setdefault(tuple(row.values()), row)[column] = value * factor

    def make_batch(self) -> pa.RecordBatch | None:
        """Return the rows as a batch of inspected_sample; None without any."""
        if not self._rows:
            return None
        columns = [
            pa.array([fit_value(row.get(field.name), field.type) for row in self._rows.values()], field.type)
            for field in SAMPLE_SCHEMA
        ]
        return pa.RecordBatch.from_arrays(columns, schema=SAMPLE_SCHEMA)


def _to_number(text: str) -> int | None:
    """Return the text as a whole number of at most 9 digits, else None."""
    return int(text) if re.fullmatch(r"\d{1,9}", text, re.ASCII) else None
