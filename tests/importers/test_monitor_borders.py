"""Walk through the numbers of all monitors' logs at borders: kept, counted or refused, and never another number."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest
from borders import INTEGERS, NESTED

import traceq
from traceq.app.ingest import ingest
from traceq.errors import TraceqError
from traceq.importers.monitors import read_log
from traceq.importers.monitors.prometheus_names import convert_gauge
from traceq.importers.monitors.reading import parse_device, parse_number
from traceq.importers.monitors.series import SERIES, decode_reasons

LOGS = sorted(Path(__file__).with_name("monitors").iterdir())
WORDS = [*map(str, (-1, 2**31, 2**63, 10**30)), "1e308", "1e400", "nan", "0x1f", "", "text", "[1]"]
# So often is another word put into a log of text, and a value into one of JSON.
_PLACES = 5


def change_text(text, word, place):
    """Put the word in the place of a number of the text that stands for itself, or of one of JSON."""
    found = list(re.finditer(r"(?<![\w.:/-])\d+(\.\d+)?(?![\w.:/-])", text))
    match = found[len(found) * place // _PLACES]
    return text[: match.start()] + word + text[match.end() :]


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.name)
def test_every_number_is_kept_counted_or_refused(tmp_path, log):
    text = log.read_text()
    usual = read_log(log)
    path = tmp_path / log.name
    read = 0
    for word in WORDS:
        for place in range(_PLACES):
            path.write_text(change_text(text, word, place))
            try:
                found = read_log(path)
            except TraceqError as error:
                assert "\n" not in str(error)  # noqa: PT017 - some are refused, others read
                continue
            read += 1
            assert all(abs(sample.value) < 1e100 for sample in found.samples)
            assert all(0 <= sample.ts < 2**62 for sample in found.samples)
            assert {sample.device for sample in found.samples} <= {None, *range(2**16)}
    assert usual.samples
    assert read > len(WORDS)


@pytest.mark.parametrize("value", [*INTEGERS, 1e99, 1e308, math.inf, math.nan, 0.5, "text", None, *NESTED])
def test_samples_of_record_are_kept_or_counted(tmp_path, value):
    path = tmp_path / "a.monitor.jsonl"
    rows = [{"ts": 10**18 + n, "values": [[0, None, "gpu_power", v]]} for n, v in enumerate((1, value))]
    path.write_text("\n".join(json.dumps(row) for row in ({"traceq_monitor": 1, "cpus": None}, *rows)))
    log = read_log(path)
    assert len(log.samples) + log.left_out == 2
    assert {sample.value for sample in log.samples} <= {1, parse_number(value)}


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("value", [*INTEGERS, math.inf, math.nan, 0.5, "text", *NESTED])
def test_names_of_record_are_texts_and_its_gpus_numbers(tmp_path, place, value):
    path = tmp_path / "a.monitor.jsonl"
    sample = [0, None, "gpu_power", 1]
    sample[place] = value
    path.write_text('{"traceq_monitor": 1, "cpus": 2}\n' + json.dumps({"ts": 10**18, "values": [sample]}))
    try:
        samples = read_log(path).samples
    except TraceqError as error:
        samples = []
        assert "\n" not in str(error)  # noqa: PT017 - some are refused, others read
    assert all(isinstance(sample.instance, str | None) and sample.device in (None, 0, value) for sample in samples)


@pytest.mark.parametrize(
    ("text", "number", "device"),
    [("0x1f", None, None), ("45 %", 45, 45), ("1.5", 1.5, None), ("-1", -1, None), ("7", 7, 7), ("1e400", None, None)],
)
def test_numbers_and_gpus(text, number, device):
    assert (parse_number(text), parse_device(text)) == (number, device)


@pytest.mark.parametrize("mask", [-1, 0.5, 2.0**64, 1e308])
def test_what_is_no_mask_has_no_reasons(mask):
    assert decode_reasons(mask) == []
    assert [bit for _, bit in decode_reasons(5)] == [1, 0, 1, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("blank", [2147483632, 2147483635, 2.0**47, 2.0**47 + 3, float(2**63 - 16)])
def test_blanks_of_dcgm_are_no_values(blank):
    assert convert_gauge("DCGM_FI_DEV_GPU_TEMP", blank) == []
    assert convert_gauge("DCGM_FI_DEV_GPU_TEMP", 45) == [("gpu_temperature", SERIES["gpu_temperature"][0], 45)]


def test_what_was_left_out_is_noted(tmp_path):
    trace, log = tmp_path / "t.json", tmp_path / "t.monitor.jsonl"
    event = {"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 9}
    trace.write_text(json.dumps({"schemaVersion": 1, "baseTimeNanoseconds": 10**18, "traceEvents": [event]}))
    rows = [{"ts": 10**18 + 2000, "values": [[None, None, "load_1", value]]} for value in (1, 1e308, None)]
    log.write_text("\n".join(json.dumps(row) for row in ({"traceq_monitor": 1, "cpus": None}, *rows)))
    ingest([trace], tmp_path / "a.duckdb")
    with traceq.open(tmp_path / "a.duckdb") as traces:
        notes = traces.sql("select count from import_note where code = 'monitor_log_left_out'").fetchall()
        values = traces.sql("select value from counter where name = 'load_1'").fetchall()
    assert (notes, values) == ([(2,)], [(1.0,)])
