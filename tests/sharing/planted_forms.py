"""Secrets of twenty forms, five of each, and traces of five formats that have them wherever somebody can put text."""

from __future__ import annotations

import json
import pickle
import random
import sqlite3
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import nsys_export
import rocm_files
from xspace import Ref, make_plane, make_space


class Secret(NamedTuple):
    """A text, and the parts of it of which none may be seen."""

    text: str
    tells: tuple[str, ...]


def make_secrets(seed: int = 0) -> dict[str, list[Secret]]:
    """Five secrets of each form, by its name."""
    chance = random.Random(seed)  # noqa: S311 - nothing secret about them
    return {form: [make(chance, number) for number in range(5)] for form, make in _FORMS.items()}


def find_left(secrets, output: str) -> list[str]:
    """The texts of the secrets of which a part stands in the output."""
    lower = output.lower()
    return [secret.text for secret in secrets if any(tell.lower() in lower for tell in secret.tells)]


def _word(chance):
    """A word that no library uses."""
    return "".join(chance.choice("bdfgjkmpvz") + chance.choice("aeiou") for _ in range(4)) + "q"


def _digits(chance, number):
    return chance.choice("123456789") + "".join(chance.choice("0123456789") for _ in range(number - 1))


def _octets(chance, joint):
    # No number that tiles are made of.
    numbers = [str(chance.choice([value for value in range(101, 255) if value % 8])) for _ in range(4)]
    return Secret(joint.join(numbers), tuple(joint.join(numbers[at : at + 3]) for at in range(2)))


def _of_word(template):
    """A form that is a template of a word and some digits: neither the word, nor the digits where they are many, may stay."""

    def make(chance, number):
        word, digits = _word(chance), _digits(chance, 12)
        text = template[number % len(template)].format(word, digits, word.upper(), word.capitalize())
        return Secret(text, tuple(part for part in (word, digits) if part.lower() in text.lower()))

    return make


def _hash(chance, length, letters="0123456789abcdef"):
    text = "".join(chance.choice(letters) for _ in range(length))
    return text if any(a.isdigit() != b.isdigit() for a, b in pairwise(text)) else text[:4] + "7e3"


def _glued(words, length, letters):
    def make(chance, number):
        hashed = _hash(chance, length, letters)
        return Secret(words[number] + hashed, (hashed, hashed[:10], hashed[-10:]))

    return make


def _telephone(chance, number):
    first, second, last = "0" + _digits(chance, 3), _digits(chance, 6), "0" + _digits(chance, 5)
    text = (
        f"{first} {second}",
        f"{_digits(chance, 6)} {last}",
        f"{first}/{second}",
        f"({first}) {second}",
        f"+49 {first[1:]} {second}1",
    )
    found = text[number]
    return Secret(found, (found, last if number == 1 else second))


def _card(chance, number):
    parts = [_digits(chance, 4) for _ in range(4)]
    joint = (" ", "-", "_", ".", ", ")[number]
    return Secret(joint.join(parts), tuple(joint.join(parts[at : at + 2]) for at in range(3)))


def _mac(chance, number):
    joint = (":", "-", "_", ":", "-")[number]
    parts = [f"{chance.randrange(16, 256):02x}" for _ in range(5)] + ["b7"]
    return Secret(joint.join(parts), tuple(joint.join(parts[at : at + 4]) for at in range(3)))


def _six(chance, _number):
    parts = [f"{chance.randrange(0x1000, 0x10000):x}" for _ in range(3)]
    return Secret(f"2001:db8:{parts[0]}::{parts[1]}:{parts[2]}", (f"{parts[1]}:{parts[2]}", f"db8:{parts[0]}"))


_FORMS = {
    "host": _of_word(("{0}-gpu17.rack4.{0}.com", "node-{0}-03", "{0}07", "ip-10-11-12-13.{0}.internal", "dgx-{0}:29500")),
    "user": _of_word(("{0}", "{0}.x", "svc-{0}-prod", "c_{0}1859", "{2}")),
    "path": _of_word(("/home/{0}/train.py", "C:\\Users\\{0}\\go.py", "s3://{0}/weights/v9", "/mnt/nfs/{0}/run", "~/.ssh/id_{0}")),
    "mail": _of_word(("{0}@example.org", "ops+{0}@example.io", "{0}.q@uni.de", "x@{0}.com", "{0}_1@{0}.net")),
    "address": lambda chance, _number: _octets(chance, "."),
    "address with commas": lambda chance, _number: _octets(chance, ","),
    "address in another joint": lambda chance, number: _octets(chance, " _-/:"[number]),
    "address of six": _six,
    "address of a card": _mac,
    "telephone": _telephone,
    "card": _card,
    "token": _of_word(("hf_{1}{0}{0}", "ghp_{0}{1}{0}", "sk-{0}-{1}{0}", "AKIA{2}{1}", "eyJ{0}{1}.eyJ{0}.{0}")),
    "number behind a word": _of_word(("run{1}", "worker{1}", "step {1}", "batch_{1}", "layer{1}forward")),
    "capital hash glued": _glued(("kern", "aten::run", "run", "gemm_", "step"), 16, "0123456789ABCDEF"),
    "hash glued": _glued(("kern", "forward", "run_", "aten::mul", "layer"), 32, "0123456789abcdef"),
    "server": _of_word(
        ("capture_12_{2}", "execute_{1}", "prefill[bs=1 tok=2 {0}=3]", "step[EXTEND bs={1} toks=1]", "ProfilerStep#{1}")
    ),
    "thread": _of_word(("thread {1}", "thread 1 ({0})", "stream {1}", "pt_{0}", "MPI Rank {1}")),
    "hardware": _of_word(("NVIDIA {3}17-DGX4711", "AMD {2} A1120B", "c10::Float{0}", "Float8_{0}", "NVIDIA RTX {1}")),
    "project": _of_word(("Project{3}", "{3}Loss", "eval of {0}", "{0}_attention_kernel", "aten::{0}_op")),
    "words of traceq": _of_word(("eval {1}", "read file {1}", "thread 0 {1}", "idle {1} ms", "kernel {1} per step")),
}  # fmt: skip


# ---- traces


def write_kineto(path: Path, texts) -> Path:
    """Four steps, in each of which every text stands in every place."""
    events = [_name(1, "process_name", texts[0]), _name(1, "thread_name", texts[-1])]
    members = {"hostname": texts[0], "host_name": texts[-1]}
    for number, text in enumerate(texts):
        events += [_name(50 + number, kind, text) for kind in ("process_name", "process_labels")]
        events.append(_name(1, "thread_name", text, tid=50 + number))
        members |= {f"{text} key": text, text: text}
    width = 40 * len(texts) + 100
    for step in range(4):
        start = 1000 + width * step
        events.append(_slice(f"ProfilerStep#{step}", "user_annotation", start, width - 1))
        for number, text in enumerate(texts):
            at, external = start + 40 * number + 1, 1000 * step + number + 1
            args = {"External id": external, "Call stack": text, "Concrete Inputs": [text], "dtype": text, "ptr": text,
                    text: text,
                    "Process Group Name": text, "Collective name": text, "Input type": [text], "correlation": text}  # fmt: skip
            of_call = {"correlation": external, "External id": external}
            events.append(_slice(text, "user_annotation", at, 38, args))
            events.append(_slice(text, "cpu_op", at + 1, 30, args))
            events.append(_slice(f"{text}(12): run", "python_function", at + 2, 20, {"Python id": external}))
            events.append(_slice(f"/srv/{text}.py(3): {text}", "python_function", at + 3, 15, {"Python id": external}))
            events.append(_slice("cudaLaunchKernel", "cuda_runtime", at + 4, 5, of_call))
            events.append(_slice(text, "kernel", at + 10, 25, args | of_call | {"device": 0, "stream": 7}, 0, 7))
            events.append(_slice(text, "user_annotation", at, 38, {}, 1, 50 + number))
            events.append(
                {"ph": "i", "s": "t", "cat": text, "name": text, "pid": 1, "tid": 1, "ts": at, "args": {"log": text}}
            )
            events.append({"ph": "C", "name": text, "pid": 0, "tid": 0, "ts": at, "args": {text: 1}})
    device = {"id": 0, "name": texts[0], "numSms": 108, texts[-1]: texts[0]}
    path.write_text(json.dumps({"schemaVersion": 1, "deviceProperties": [device], **members, "traceEvents": events}))
    return path


def _name(pid, kind, text, tid=1):
    member = "labels" if kind == "process_labels" else "name"
    return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "ts": 0, "args": {member: text}}


def _slice(name, category, ts, dur, args=None, pid=1, tid=1):
    return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args or {}}


def write_nsys(path: Path, texts) -> Path:
    """Texts in ranges and domains of NVTX, kernels, names of threads and processes, call stacks, hosts, and messages."""
    strings = {number + 10: text for number, text in enumerate(texts)} | {1: "cudaLaunchKernel_v7000", 2: "python"}
    thread, ranges, kernels, calls, samples = nsys_export.global_id(), [], [], [], []
    domains = [
        {"start": 1, "end": None, "eventType": 75, "globalTid": thread, "domainId": number + 1, "textId": number + 10}
        for number in range(len(texts))
    ]
    width = 40_000 * len(texts) + 1000
    for step in range(4):
        start = 1_000_000 + width * step
        ranges.append({"start": start, "end": start + width - 1, "text": f"step {step}"})
        for number, text in enumerate(texts):
            at, correlation = start + 40_000 * number + 1, 1000 * step + number + 1
            ranges += [
                {
                    "start": at,
                    "end": at + 38_000,
                    "text": text,
                    "domainId": number + 1,
                    "jsonText": json.dumps({text: text}),
                },
                {"start": at + 10, "end": at + 37_000, "textId": number + 10},
                {"start": at + 20, "end": at + 36_000, "text": f"{text}, seq = 3, op_id = 7"},
            ]
            calls.append({"start": at + 4_000, "end": at + 9_000, "globalTid": thread, "correlationId": correlation, "nameId": 1,
                          "returnValue": 0})  # fmt: skip
            kernels.append({"start": at + 10_000, "end": at + 35_000, "deviceId": 0, "contextId": 1, "streamId": 7,
                            "correlationId": correlation, "globalPid": nsys_export.GPID, "demangledName": number + 10,
                            "shortName": number + 10, "gridX": 1, "gridY": 1, "gridZ": 1, "blockX": 32, "blockY": 1, "blockZ": 1,
                            "registersPerThread": 16, "staticSharedMemory": 0, "dynamicSharedMemory": 0})  # fmt: skip
            samples.append(
                {"id": correlation, "symbol": number + 10, "module": number + 10, "stackDepth": 0, "unresolved": 0}
            )
    names = [{"nameId": number + 10, "priority": 1, "globalTid": thread + number} for number in range(len(texts))]
    environment = [
        {"name": f"PROCESS_{number}:ENVIRONMENT_VARIABLE", "value": f"RANK={text}"} for number, text in enumerate(texts)
    ]
    empty = {"eventType": 59, "globalTid": thread, "domainId": 0, "textId": None, "text": None, "jsonText": None}
    return nsys_export.write(
        path,
        strings,
        NVTX_EVENTS=[empty | row for row in (*domains, *ranges)],
        CUPTI_ACTIVITY_KIND_RUNTIME=calls,
        CUPTI_ACTIVITY_KIND_KERNEL=kernels,
        ThreadNames=names,
        SAMPLING_CALLCHAINS=samples,
        PROCESSES=[{"globalPid": nsys_export.GPID, "pid": 111, "name": f"/opt/{text}/{text} --key {text}"} for text in texts],
        TARGET_INFO_SYSTEM_ENV=[{"globalVid": 0, "name": "Hostname", "value": text} for text in texts],
        TARGET_INFO_GPU=[{"id": 0, "name": texts[0], "busLocation": texts[-1], "smCount": 108}],
        META_DATA_CAPTURE=[*environment, *({"name": text, "value": text} for text in texts)],
        DIAGNOSTIC_EVENT=[{"timestamp": 1, "severity": 3, "text": f"dropped on {text}"} for text in texts],
    )  # fmt: skip


def write_rpd(path: Path, texts) -> Path:
    """Texts as kernels, markers, arguments of calls, metadata and monitors of an RPD database."""
    rocm_files.write_rpd(path)
    with closing(sqlite3.connect(path)) as database:
        for table in ("rocpd_op", "rocpd_api", "rocpd_api_ops", "rocpd_kernelapi", "rocpd_copyapi"):
            database.execute(f"delete from {table}")
        database.execute("create table rocpd_metadata (id integer primary key, tag text, value text)")
        for number, text in enumerate(texts):
            database.execute("insert into rocpd_string values (?, ?)", [100 + number, text])
            database.execute("insert into rocpd_metadata (tag, value) values (?, ?)", [text, text])
        width, key = 40_000 * len(texts) + 1000, 0
        for step in range(4):
            start = 1_000_000 + width * step
            database.execute("insert into rocpd_string values (?, ?)", [20 + step, f"traceq.step#{step}"])
            key += 1
            database.execute(
                "insert into rocpd_api values (?, 1, 2, ?, ?, 9, ?)", [key, start, start + width - 1, 20 + step]
            )
            for number in range(len(texts)):
                at = start + 40_000 * number + 1
                for first, last, name, args in (
                    (0, 38_000, 9, 100 + number),
                    (10, 37_000, 100 + number, 100 + number),
                    (4_000, 9_000, 2, 100 + number),
                ):
                    key += 1
                    database.execute(
                        "insert into rocpd_api values (?, 1, 2, ?, ?, ?, ?)", [key, at + first, at + last, name, args]
                    )
                database.execute(
                    "insert into rocpd_op values (?, 0, 0, ?, ?, ?, 4)", [key, at + 10_000, at + 35_000, 100 + number]
                )
                database.execute("insert into rocpd_api_ops values (?, ?, ?)", [key, key, key])
        database.commit()
    return path  # fmt: skip


def write_xplane(path: Path, texts) -> Path:
    """Texts as kernels, ranges, threads, planes, hosts and statistics of an XSpace."""
    us, kernels, host = 1_000_000, [], []
    for step in range(4):
        start = (40 * len(texts) + 10) * us * step
        host.append((f"train {step}", start, (40 * len(texts) + 9) * us, {"_r": 1, "step_num": step}))
        for number, text in enumerate(texts):
            at, correlation = start + 40 * us * number + us, 1000 * step + number + 1
            told = {"correlation_id": correlation, "hlo_op": Ref(text), "hlo_module": Ref(text), "tf_op": Ref(text), text: text,
                    "kernel_details": Ref("regs:32 static_shared:0 dynamic_shared:0 grid:1,1,1 block:32,1,1")}  # fmt: skip
            kernels.append((text, at + 10 * us, 25 * us, told))
            host.append((text, at, 38 * us, {text: text, "long_name": text}))
            host.append((f"${text}.py:12 {text}", at + us, 30 * us))
            host.append(("cuLaunchKernel", at + 2 * us, 5 * us, {"correlation_id": correlation}))
    threads = {(99, "python/99"): host} | {(200 + number, text): [] for number, text in enumerate(texts)}
    told = {
        "device_vendor": "Nvidia",
        "core_count": 108,
        "compute_cap_major": 8,
        "compute_cap_minor": 0,
        texts[0]: texts[-1],
    }
    planes = [
        make_plane("/device:GPU:0", {(13, "Stream #13(Compute)"): kernels, (14, texts[0]): []}, 0, told),
        make_plane("/host:CPU", threads),
        *(make_plane(text, {}, stats={text: text}) for text in texts),
    ]
    path.write_bytes(make_space(*planes, host=texts[0]))
    return path


def write_snapshot(path: Path, texts) -> Path:
    """Texts as frames, files, annotations, settings and categories of a memory snapshot."""
    events, blocks, at = [], [], 4096
    for number, text in enumerate(texts):
        frames = [
            {"name": text, "filename": f"/srv/{text}.py", "line": 12},
            {"name": "run", "filename": text, "line": 3},
        ]
        shared = {
            "size": 1 << 22,
            "stream": 0,
            "frames": frames,
            "user_metadata": text,
            "category": text,
            "compile_context": text,
        }
        events.append({"action": "alloc", "addr": at, "time_us": 10 + number, **shared})
        blocks.append(
            {"address": at, "size": 1 << 22, "requested_size": 1 << 22, "state": "active_allocated", **shared}
        )
        at += 1 << 22
    events.append({"action": "oom", "device_free": 77, "size": 1 << 30, "stream": 0, "time_us": 5000, "frames": frames})
    segment = {"device": 0, "address": 4096, "total_size": at - 4096, "stream": 0, "segment_type": "large",
               "segment_pool_id": (0, 0), "is_expandable": False, "frames": [], "blocks": blocks}  # fmt: skip
    annotations = [
        {"name": text, "stage": stage, "time_us": 9, "device": 0, text: text}
        for text in texts
        for stage in ("START", "END")
    ]
    content = {"segments": [segment], "device_traces": [events], "external_annotations": annotations,
               "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": texts[0], texts[-1]: True}}  # fmt: skip
    path.write_bytes(pickle.dumps(content, 4))
    return path


# By format: the name of its file, and what writes it.
FORMATS = {
    "kineto": ("trace.json", write_kineto),
    "nsys": ("trace.sqlite", write_nsys),
    "rpd": ("trace.rpd", write_rpd),
    "xplane": ("trace.xplane.pb", write_xplane),
    "snapshot": ("snapshot.pickle", write_snapshot),
}
