"""Lists of events as tools write them: bare, never closed, a line an event without commas, or no list at all."""

from __future__ import annotations

import json

import pytest
from chrome_trace import count_notes, make_op, read_tables, write_text
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from traceq.importers import chrome
from traceq.importers.chrome import cut, source

EVENTS = [{"args": {"list": [{"x": "}"}, number]}, **make_op(f"op{number}", number, 1)} for number in range(9)]
LINES = [json.dumps(event) for event in EVENTS]
NAMES = [event["name"] for event in EVENTS]

WRITTEN = {
    "a bare list": ("[" + ",".join(LINES) + "]", {}),
    "an object of the list alone": ('{"traceEvents":[' + ",".join(LINES) + "]}", {}),
    "an empty event first": ("[{},\n" + ",".join(LINES) + "]", {"empty_event": 1}),
    "a comma first": ("[\n,\n" + ",\n".join(LINES) + "]", {}),
    "never closed": ("[\n" + ",\n".join(LINES), {"truncated": 1}),
    "never closed, a comma last": ("[\n" + ",\r\n".join(LINES) + ",\r\n", {"truncated": 1}),
    "lines without commas": ("[\n" + "\n".join(LINES) + "\n]\n", {"missing_comma": 8}),
    "lines without commas in an object": ('{"traceEvents": [\n' + "\r\n".join(LINES) + "\n]}", {"missing_comma": 8}),
    "lines without commas, never closed": ("[" + "\n".join(LINES) + "\n", {"missing_comma": 8, "truncated": 1}),
    "a line an event": ("\n".join(LINES) + "\n", {"missing_comma": 8}),
    "a line an event, with commas": (",\n".join(LINES) + "\n", {}),
    "a line an event, cut": (
        "\n".join(LINES) + "\n" + LINES[0][:40],
        {"missing_comma": 9, "truncated": 1},
    ),
    "nothing between": ("".join(LINES), {}),
}


@pytest.mark.parametrize("how", WRITTEN)
def test_every_list_of_events_is_read(tmp_path, how):
    text, notes = WRITTEN[how]
    path = write_text(tmp_path, text)
    assert chrome.sniff(path)
    tables = read_tables(path)
    assert [row["name"] for row in tables["cpu_slice"]] == NAMES
    assert count_notes(tables) == notes


@pytest.mark.parametrize("brackets", [("[", "]"), ("", ""), ('{"traceEvents":[', "]}")])
def test_long_files_of_lines_lose_nothing(tmp_path, monkeypatch, brackets):
    """Commas are put in across the edges of what is read at once, too."""
    monkeypatch.setattr(cut, "BLOCK_BYTES", 1 << 12)
    lines = [json.dumps({**EVENTS[number % 9], "name": f"op{number}"}) for number in range(500)]
    tables = read_tables(write_text(tmp_path, brackets[0] + "\n".join(lines) + "\n" + brackets[1]))
    assert [row["name"] for row in tables["cpu_slice"]] == [f"op{number}" for number in range(500)]
    assert count_notes(tables) == {"missing_comma": 499}


@given(st.lists(st.sampled_from(["}", "{", "\n", " ", ",", '"a":1', "]"]), max_size=30), st.integers(1, 9))
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_commas_do_not_depend_on_the_edges_of_reads(parts, size):
    text = "".join(parts).encode()
    whole, pieces = source.EventLines(is_closed=True), source.EventLines(is_closed=True)
    at_once = whole.add_commas(text) + whole.take_rest()
    in_parts = (
        b"".join(pieces.add_commas(text[at : at + size]) for at in range(0, len(text), size)) + pieces.take_rest()
    )
    assert (in_parts, pieces.missing) == (at_once, whole.missing)
    assert at_once.replace(b",", b"") == text.replace(b",", b"")


@pytest.mark.parametrize(
    "text",
    [
        '[{"name": "x"}]',
        '[[{"ph": "X"}]]',
        '[{"a": {"ph": "X"}}]',
        "[{}, {}, {}]",
        '{"ph": 7.2, "water": "tap"}',
        '{"a": {"ph": "X", "ts": 1}}',
        '{"a": 1}\n{"b": 2}\n',
        "[" + '{"a":' * 50_000,
    ],
)
def test_what_only_resembles_events_is_not_taken(tmp_path, text):
    assert not chrome.sniff(write_text(tmp_path, text))


def test_counters_of_a_gpu_are_of_that_device(tmp_path):
    """Put Kineto's hardware_counters on the GPU that their process names."""
    sample = {
        "ph": "C",
        "cat": "hardware_counters",
        "name": "inst",
        "pid": "GPU 1 Counters",
        "ts": 5,
        "args": {"sum": 3.5},
    }
    tables = read_tables(
        write_text(tmp_path, json.dumps([sample, {**sample, "pid": 7, "args": {"sum": 1, "of": "x"}}]))
    )
    found = [(row["device"], row["name"], row["ts"], row["value"]) for row in tables["counter"]]
    assert found == [(1, "inst.sum", 5000, 3.5), (None, "inst.sum", 5000, 1.0)]
    assert count_notes(tables) == {"not_a_number": 1}
