"""Files that are no traces are called what they are, in one line with a way out, and the command ends with 1."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import struct
import zipfile

import pytest


def as_message(*fields):
    """A message of a protobuf: (number, value) each, an integer or bytes."""
    parts = []
    for number, value in fields:
        key = number << 3 | (2 if isinstance(value, bytes) else 0)
        for bits in (key, len(value)) if isinstance(value, bytes) else (key, value):
            rest = bits
            while rest > 0x7F:
                parts.append(bytes([rest & 0x7F | 0x80]))
                rest >>= 7
            parts.append(bytes([rest]))
        parts.append(value if isinstance(value, bytes) else b"")
    return b"".join(parts)


def as_records(*events):
    """Records of TensorFlow, as event files are made of: length, checksum, content, checksum."""
    return b"".join(struct.pack("<QI", len(event), 1) + event + b"\x02\0\0\0" for event in events)


def as_archive(member):
    """A zip archive of one member."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr(member, b"x")
    return content.getvalue()


TRACK, SLICE = (
    as_message((60, as_message((1, 7), (2, b"stream 0")))),
    as_message((8, 300), (10, 1), (11, as_message((9, 1)))),
)
SPEEDSCOPE = {"profiles": [], "shared": {"frames": []}}
NODE = {"id": 1, "name": "[pytorch|profiler|execution_trace|process]", "ctrl_deps": 1}
NOT_PICKLED = "a pickle, but not a memory snapshot"

FILES = {
    "pointer.json": (b"version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 9\n", "git lfs pull"),
    "pointer.nsys-rep": (b"version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 9\n", "git lfs pull"),
    "page.json": (b"\n<!DOCTYPE html><title>Sign in</title>", "HTML or XML page"),
    "page.nsys-rep": (b"<!DOCTYPE html><title>Sign in</title>", "HTML or XML page"),
    "empty.json": (b"", "the file is empty; was"),
    "empty.nsys-rep": (b"", "the file is empty; was"),
    "blank.json": (b" \n\n", "the file is empty but for blanks"),
    "empty.json.gz": (gzip.compress(b""), "the gzip'd file is empty"),
    "py-spy.json": (
        {"$schema": "https://www.speedscope.app/file-format-schema.json", **SPEEDSCOPE},
        "a speedscope profile",
    ),
    "exporter.json": ({"exporter": "speedscope@1.5.2", **SPEEDSCOPE}, "a speedscope profile"),
    "shared.json": ({"shared": {"frames": [{"name": "f"}]}, "profiles": []}, "a speedscope profile"),
    "et.json": (
        {"schema": "1.1.1-chakra.0.0.4", "pid": 1, "nodes": [NODE]},
        "an execution trace of PyTorch (which operator uses whose tensors), without times",
    ),
    "eg.json": (
        {"nodes": [NODE | {"name": "[pytorch|profiler|execution_graph|process]"}]},
        "an execution trace (or graph)",
    ),
    "sdk.pftrace": (as_message((1, SLICE), (1, TRACK), (1, SLICE)), "a binary trace of Perfetto"),
    "long.pftrace": (as_message(*[(1, SLICE)] * 400), "traceconv json"),
    "cut.pftrace": (as_message((1, SLICE + as_message((11, b"n" * 9000)))), "a binary trace of Perfetto"),
    "sdk.pftrace.gz": (gzip.compress(as_message((1, SLICE))), "is gzip'd and contains a binary trace of Perfetto"),
    "pprof.pb": (as_message((1, as_message((1, 1), (2, 2))), (6, b"samples")), "nothing that traceq knows"),
    "report.nsys-rep": (b"\x0aBINARY", "nsys export --type sqlite"),
    "report.qdrep": (b"\x0aBINARY", "nsys export --type sqlite"),
    "raw.qdstrm": (b"\x0aBINARY", "QdstrmImporter"),
    "report.ncu-rep": (b"NVR\x00\x08\x01", "a report of Nsight Compute"),
    "renamed.json": (b"NVR\x00\x08\x01", "a report of Nsight Compute"),
    "old.ncu-rep": (b"\x08\x01", "a report of Nsight Compute"),
    "events.out.tfevents.1.host": (
        as_records(b"\x09" + struct.pack("<d", 1.7e9) + b"\x1a\x0dbrain.Event:2"),
        "an event file of TensorBoard, not a profile",
    ),
    "events.out.tfevents.2.host": (
        as_records(b"\x09" + struct.pack("<d", 1.7e9) + b"\x1a\x0dbrain.Event:2"),
        "traceq report TRACE --with events.out.tfevents.2.host",
    ),
    "train.log": (
        b"step:  1  loss:  8.0000  memory: 32.90GiB(41.60%)  tps: 2,048\n" * 3,
        "a training log, not a trace",
    ),
    "state.pkl": (pickle.dumps({"step": 1}), NOT_PICKLED),
    "state0.pkl": (pickle.dumps({"step": 1}, 0), NOT_PICKLED),
    "list0.pkl": (pickle.dumps([1], 0), NOT_PICKLED),
    "model.pt": (as_archive("archive/data.pkl"), "a file of torch.save"),
    "notes.zip": (as_archive("notes.txt"), "a zip archive without a JSON trace"),
    "traces.tar": (b"a.json".ljust(257, b"\0") + b"ustar\x0000", "tar -xf"),
    "trace.json.zst": (b"\x28\xb5\x2f\xfd\0", "zstd -d"),
    "trace.json.xz": (b"\xfd7zXZ\x00\0", "xz -d"),
    "trace.json.bz2": (b"BZh91AY", "bzip2 -d"),
    "perf.data": (b"PERFILE2", "Linux' perf"),
    "answer.json": ({"error": "Not Found"}, "it has no traceEvents list"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_called_what_it_is(tmp_path, monkeypatch, traceq, name):
    monkeypatch.setenv("PATH", str(tmp_path))  # without nsys
    content, told = FILES[name]
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    result = traceq("report", path)
    text = result.output
    assert (result.exit_code, result.exception.__class__) == (1, SystemExit)
    assert told in text
    assert str(path) in text
    assert text.startswith("traceq: error: ")
    assert len(text.splitlines()) == 1
