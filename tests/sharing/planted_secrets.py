"""Sixty secrets, and traces in which each of them stands in every place where a profiler or a program can put text."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

HOSTS = (
    "gpu17.cluster.acme-research.com", "falcon-login-03", "ip-10-11-12-13.ec2.internal", "dgx-a100-rack4", "kubepod-7f9c2",
    "acmehost42", "node0231.hpc.example.edu", "Annas-MacBook-Pro.local",
)  # fmt: skip
USERS = ("alice.liddell", "bobthebuilder", "c_darwin1859", "dkowalski", "svc-mlops-prod", "xeniaq")
PATHS = (
    "/home/alice.liddell/projects/llama-secret/train.py",
    "/Users/anna/Desktop/Q3-layoffs/run.py", "C:\\\\Users\\\\dkowalski\\\\diffusion\\\\go.py",
    "/mnt/nfs/acme/checkpoints/gpt7-unreleased", "/scratch/xeniaq/hiv-trial-data", "/opt/acme/bin/secretlauncher",
    "~/.ssh/id_ed25519_acme", "s3://acme-private-bucket/weights/v9",
)  # fmt: skip
ADDRESSES = (
    "10.23.45.67", "192.168.178.42", "172.16.254.3", "203.0.113.77", "2001:db8:85a3::8a2e:370:7334", "10.0.0.5:29500",
    "tcp://10.1.1.9:23456", "fe80::1ff:fe23:4567:890a",
)  # fmt: skip
MAILS = ("alice.liddell@acme-research.com", "bob+gpu@example.org", "ops@internal.acme.io", "x.q@uni-testheim.de")
TOKENS = (
    "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", "ghp_16C7e42F292c6912E7710c838347Ae178B4a", "glpat-x9YzAbCdEfGhIjKlMnOp",
    "sk-proj-Zz9aBcDeFgHiJkLmNoPqRsTuVwXyZ012", "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "AIzaSyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY", "xoxb-123456789012-1234567890123-AbCdEfGhIjKlMnOpQrStUvWx",
    "npm_aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789", "pypi-AgEIcHlwaS5vcmcCJGFiY2RlZmdoLWlqa2wtbW5vcA",
    "dop_v1_0123456789abcdef0123456789abcdef", "SG.aBcDeFgHiJkLmNoPqRsTuV.xYz0123456789",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl", "wandb_0a1b2c3d4e5f60718293a4b5c6d7e8f901234567",
)  # fmt: skip
WORDS = (
    "ProjectMoonshine",
    "hunter2!correcthorse", "Patientenakte-4711", "zeus-merger-draft", "AcmeNet9000Ultra", "4111-1111-1111-1111",
    "+49 170 5550123", "Müller-Lüdenscheidt", "機密計画", "tr0ub4dor&3", "confidential_layoff_model", "ssn 078-05-1120",
)  # fmt: skip
SECRETS = (*HOSTS, *USERS, *PATHS, *ADDRESSES, *MAILS, *TOKENS, *WORDS)


def find_secrets(content: bytes) -> list[str]:
    """The secrets that stand in the bytes, in any of the encodings that files have: as they are, escaped, as UTF-16."""
    found = []
    for secret in SECRETS:
        escaped = json.dumps(secret)[1:-1]
        forms = {
            secret.encode(),
            escaped.encode(),
            secret.encode("utf-16-le"),
            secret.encode("utf-16-be"),
            secret.replace("\\\\", "\\").encode(),
        }
        if any(form in content for form in forms):
            found.append(secret)
    return found


def _make_slice(name, ts, dur, category, args, pid=1234, tid=1234):
    return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}


def make_chrome_trace() -> dict:
    """A trace of the PyTorch profiler with three steps, in which every secret stands in every place."""
    events = []
    for step in range(3):
        start = 1000 * step
        events.append(_make_slice(f"ProfilerStep#{step}", start, 1000, "user_annotation", {"External id": step}))
        for number, secret in enumerate(SECRETS):
            at, external = start + 10 * number + 1, 1000 * step + number
            args = {
                "External id": external, "Call stack": secret, "Module Hierarchy": secret, "Concrete Inputs": [secret, "1"],
                "Input type": ["float", secret], "kernel_file": secret, secret: secret, "Input Dims": [[1, 2], secret],
                "Process Group Name": secret, "Process Group Description": secret, "Collective name": secret, "dtype": secret,
                "Process Group Ranks": secret, "correlation": secret,
            }  # fmt: skip
            events.append(_make_slice(f"{secret} step {step}", at, 8, "user_annotation", args))
            events.append(_make_slice("aten::mm", at + 1, 6, "cpu_op", args))
            events.append(_make_slice(f"{secret}(12): run", at + 2, 1, "python_function", {"Python id": number}))
            events.append(
                _make_slice(
                    "cudaLaunchKernel",
                    at + 3,
                    2,
                    "cuda_runtime",
                    {"correlation": external + 1, "External id": external},
                )
            )
            events.append(
                _make_slice(
                    "gemm",
                    at + 5,
                    4,
                    "kernel",
                    {"correlation": external + 1, "device": 0, "stream": 7, secret: secret},
                    0,
                    7,
                )
            )
            events.append(_make_slice("slice", at, 1, secret, {}, secret, secret))
            events.append(
                {
                    "ph": "s",
                    "id": external,
                    "pid": 1234,
                    "tid": 1234,
                    "ts": at + 3,
                    "cat": secret,
                    "name": secret,
                    "x": secret,
                }
            )
            events.append(
                {"ph": "C", "name": secret, "pid": 0, "tid": 0, "ts": at, "args": {secret: 1, "value": secret}}
            )
    for number, secret in enumerate(SECRETS):
        for kind, member in (
            ("process_name", "name"),
            ("thread_name", "name"),
            ("process_labels", "labels"),
            (secret, "x"),
        ):
            events.append({"ph": "M", "name": kind, "pid": 5000 + number, "tid": 1, "ts": 0, "args": {member: secret}})
    members = {
        "schemaVersion": 1, "deviceProperties": [{"id": 0, "name": SECRETS[0], SECRETS[1]: SECRETS[2], "numSms": 108}],
        "distributedInfo": {
            "backend": SECRETS[3], "rank": 0, "world_size": 2, "nccl_version": SECRETS[4],
            "pg_config": [{"pg_name": each, "pg_desc": each, "backend_config": each, "ranks": [0, each]} for each in SECRETS],
        },
        "host_name": SECRETS[0], "trace_id": SECRETS[5], "displayTimeUnit": SECRETS[6],
    }  # fmt: skip
    return {
        **members,
        **{f"{each} key": each for each in SECRETS},
        "traceEvents": events,
        "traceName": PATHS[0],
        "traceq": {"rank": 0, "notes": list(SECRETS)},
    }


def plant_in_nsys(path) -> None:
    """Put every secret into an export: in names that are shown, in environments, metadata, other tables, and in freed pages."""
    with closing(sqlite3.connect(path)) as export:

        def tables():
            return {name for (name,) in export.execute("select name from sqlite_master where type = 'table'")}

        ((last,),) = export.execute("select max(id) from StringIds").fetchall()
        environment = "\0".join(f"SECRET_{number}={secret}" for number, secret in enumerate(SECRETS))
        strings = [*SECRETS, "PATH=/usr/bin\0" + environment]
        ids = range(last + 1, last + 1 + len(strings))
        export.executemany("insert into StringIds values (?, ?)", zip(ids, strings, strict=True))
        columns = [name for (_, name, *_rest) in export.execute("pragma table_info(NVTX_EVENTS)")]
        ((thread, start, end),) = export.execute(
            "select globalTid, start, end from NVTX_EVENTS where end > start limit 1"
        ).fetchall()
        for number, secret in enumerate(SECRETS):
            row = dict.fromkeys(columns)
            row |= {
                "start": start + number,
                "end": end,
                "eventType": 59,
                "globalTid": thread,
                "text": f"{secret} step 1",
                "domainId": 0,
            }
            row |= (
                {"jsonText": json.dumps({"NCCL communicator ID": secret, secret: secret})}
                if "jsonText" in columns
                else {}
            )
            row |= {"binaryData": secret.encode()} if "binaryData" in columns else {}
            row |= {"uint64Value": secret} if "uint64Value" in columns else {}
            _insert(export, "NVTX_EVENTS", row)
            _insert(export, "NVTX_EVENTS", row | {"text": None, "textId": ids[number], "jsonText": None})
            if "ThreadNames" in tables():
                export.execute(
                    "insert into ThreadNames (nameId, globalTid) values (?, ?)", [ids[number], thread + number + 1]
                )
            if "OSRT_API" in tables():
                export.execute("update OSRT_API set nameId = ? where rowid = ?", [ids[number], number + 1])
            if "CUPTI_ACTIVITY_KIND_RUNTIME" in tables():
                export.execute(
                    "update CUPTI_ACTIVITY_KIND_RUNTIME set returnValue = ? where rowid = ?", [secret, number + 1]
                )
        for table in ("META_DATA_CAPTURE", "META_DATA_EXPORT", "EXPORT_META_DATA", "TARGET_INFO_SYSTEM_ENV"):
            export.execute(f"create table if not exists {table} (name text, value text)")
            named = [name for (_, name, *_rest) in export.execute(f"pragma table_info({table})")]
            for number, secret in enumerate(SECRETS):
                row = {"name": f"PROCESS_{number}:ENVIRONMENT_VARIABLE", "value": f"RANK={secret}"}
                _insert(
                    export,
                    table,
                    {key: value for key, value in row.items() if key in named} | _fill_row(export, table, row),
                )
                _insert(
                    export,
                    table,
                    _fill_row(export, table, {"name": secret, "value": environment})
                    | {"name": secret, "value": environment},
                )
        export.execute("create table if not exists PROCESSES (globalPid integer, pid integer, name text)")
        export.execute("create table if not exists DIAGNOSTIC_EVENT (timestamp integer, severity integer, text text)")
        export.execute('create table "SECRET ""TABLE" (secret text, start integer, "end" integer)')
        for number, secret in enumerate(SECRETS):
            _insert(
                export,
                "PROCESSES",
                _fill_row(
                    export,
                    "PROCESSES",
                    {"globalPid": thread & ~0xFFFFFF, "pid": number, "name": f"{secret} --key {secret}"},
                ),
            )
            _insert(
                export,
                "DIAGNOSTIC_EVENT",
                _fill_row(
                    export,
                    "DIAGNOSTIC_EVENT",
                    {"timestamp": 0, "severity": 3, "text": f"events were dropped on {secret}"},
                ),
            )
            export.execute('insert into "SECRET ""TABLE" values (?, 1, 2)', [secret])
        export.execute('create view "a view" as select value from StringIds')
        export.execute("create table freed (text text)")
        export.executemany("insert into freed values (?)", [(secret * 50,) for secret in SECRETS])
        export.commit()
        export.execute("drop table freed")
        export.commit()


def _fill_row(export, table, row):
    """The row with something in every column that must not be NULL."""
    described = export.execute(f"pragma table_info({table})").fetchall()
    return {
        name: row.get(name, 0 if not_null else None)
        for _, name, _, not_null, *_ in described
        if name in row or not_null
    }


def _insert(export, table, row):
    names = ", ".join(f'"{name}"' for name in row)
    export.execute(f"insert into {table} ({names}) values ({', '.join('?' * len(row))})", list(row.values()))
