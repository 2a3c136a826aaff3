from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import planted_secrets
import pytest
from msgspec.structs import replace

from traceq.app.anonymise import anonymise
from traceq.app.doctor import HealthView, _find_named, doctor
from traceq.sharing.secrets import find_secrets

FIXTURES = Path(__file__).parents[2] / "fixtures"


def list_kinds(path):
    return {each.kind: each.number for each in find_secrets(path)}


def test_every_kind_of_secret_is_seen(tmp_path):
    (tmp_path / "trace.json").write_text(json.dumps(planted_secrets.make_chrome_trace()))
    found = list_kinds(tmp_path / "trace.json")
    assert {*found} == {
        *("home directories", "host names", "mail addresses", "network addresses", "tokens and passwords", "paths"),
    }
    assert found["tokens and passwords"] >= 10


def test_environments_are_seen_behind_the_first_nul_and_in_compressed_files(tmp_path):
    content = b"PATH=/bin\0USER=alice\0HOSTNAME=falcon\0HOME=/home/alice\0API_TOKEN=xyzzy\0"
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(content))
    assert list_kinds(tmp_path / "a.json.gz") == {
        "home directories": 1,
        "host names": 1,
        "users": 1,
        "environment variables": 2,
        "tokens and passwords": 1,
    }


def test_the_border_of_two_reads_hides_nothing(tmp_path):
    token = b" hf_QwErTyUiOpAsDfGhJkLzXcVbNm "
    for before in (0, 10, 20):
        (tmp_path / "a").write_bytes(b"x" * ((4 << 20) - before) + token)
        assert {*list_kinds(tmp_path / "a")} == {"tokens and passwords"}


@pytest.mark.parametrize("name", ["kineto_2026.json.gz", "nsys_2026.2.sqlite"])
def test_canaries_are_seen_until_the_trace_is_anonymised(name, tmp_path):
    assert "home directories" in list_kinds(FIXTURES / "run" / name)
    shared = tmp_path / f"shared{name[name.index('.json') if '.json' in name else name.rindex('.') :]}"
    anonymise(FIXTURES / "run" / name, shared)
    assert list_kinds(shared) == {}


@pytest.mark.slow
def test_doctor_says_what_a_trace_names_and_what_to_do(tmp_path):
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(planted_secrets.make_chrome_trace()))
    view = doctor(path)
    assert "The file names home directories (" in " ".join(view.to_text().split())
    assert "traceq anonymise TRACE -o FILE" in " ".join(view.to_text().split())
    assert json.loads(view.to_json())["traces"][0]["names"]["tokens and passwords"] >= 10
    anonymise(path, tmp_path / "shared.json")
    assert "anonymise" not in doctor(tmp_path / "shared.json").to_text()


def test_doctor_looks_at_the_files_of_each_trace_and_no_others(tmp_path, monkeypatch):
    names = (b"a\xff.json", b"b.json")
    (tmp_path / "dd").mkdir()
    for name, secret in zip(names, ("/home/alice/x", "no secret"), strict=True):
        text = json.dumps(
            {"traceEvents": [{"ph": "X", "name": secret, "pid": 1, "tid": 1, "ts": 1, "dur": 1, "cat": "cpu_op"}]}
        )
        (tmp_path / "dd" / os.fsdecode(name)).write_text(text)
    (tmp_path / "dd" / "notes.txt").write_text("mail me@example.org")
    monkeypatch.chdir(tmp_path)
    for source in ("dd", "dd/*.json"):
        found = {Path(path).name: {one.kind for one in secrets} for path, secrets in doctor(source).secrets.items()}
        assert found == {"a\\xff.json": {"home directories"}}, source


def test_a_trace_is_found_by_its_path_from_another_folder(tmp_path):
    traces = [tmp_path / name for name in ("sub/a.json", "a.json", "x/b.json", os.fsdecode(b"a\xff.json"))]
    wanted = ("a.json", "../x/b.json", "./x/b.json", "a\\xff.json", f"{tmp_path}/a\\xff.json", "/a.json", "c.json")
    assert [_find_named(traces, path) for path in wanted] == [traces[place] for place in (1, 2, 2, 3, 3)] + [None, None]


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b'{"hostname": "gpu-node-17", "x": 1}', "host names"),
        (b'{"machine_id":"0123456789abcdef"}', "host names"),
        (b'{"command": ["python", "train.py"]}', "command lines"),
        (b"\x0a\x08hostname\x12\x0bgpu-node-17\x00", "host names"),
        (b'"/workspace/acme/x.py"', "paths"),
        (b'"/root/acme"', "paths"),
        (b'"s3://acme-private/bucket"', "paths"),
        (b'"python train.py --token hunter2"', "tokens and passwords"),
        (b'"aws_secret_access_key: wJalrXUtnFEMI/K7MDENG"', "tokens and passwords"),
        (b'"--api_key=abcdef123"', "tokens and passwords"),
    ],
)
def test_signs_of_other_formats_and_of_command_lines_are_seen(content, kind, tmp_path):
    (tmp_path / "a").write_bytes(content)
    assert kind in list_kinds(tmp_path / "a")


def test_files_in_a_directory_are_looked_at(tmp_path):
    (tmp_path / "export").mkdir()
    (tmp_path / "export" / "a.parquet").write_bytes(b"/home/alice")
    (tmp_path / "export" / "b.parquet").write_bytes(b"/home/bob")
    assert list_kinds(tmp_path / "export") == {"home directories": 2}


@pytest.mark.slow
def test_anonymise_is_advised_only_where_it_can_be(tmp_path):
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(planted_secrets.make_chrome_trace()))
    (health,) = doctor(path).content
    view = HealthView((replace(health, format="rocm"),), {health.path: find_secrets(path)})
    text = " ".join(view.to_text().split())
    assert "cannot be anonymised yet; share a report instead: traceq report --ticket" in text
    assert "traceq anonymise" not in text
