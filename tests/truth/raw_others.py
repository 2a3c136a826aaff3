"""The slices of rocprofv3's JSON, RPD (database, or JSON made of it) and XSpace protobufs: no import of traceq."""

import gzip
import json
import sqlite3
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path

# RPD numbers what it did itself from here on.
_OWN_CALLS = 1 << 31

# (kind, name, start, end, track, shape, (start, track) of the launching call or None)
Row = tuple[str, str, int, int, str, tuple[int, ...], tuple[int, str] | None]


def read_rocprofv3(file: Path) -> Iterator[Row]:
    """Dispatches and copies of the agents, calls and roctx ranges of the threads."""
    text = gzip.decompress(file.read_bytes()) if file.name.endswith(".gz") else file.read_bytes()
    for tool in json.loads(text)["rocprofiler-sdk-tool"]:
        gpus = [agent["id"]["handle"] for agent in tool["agents"] if agent["type"] == 2]
        symbols = {symbol["kernel_id"]: symbol["formatted_kernel_name"] for symbol in tool["kernel_symbols"]}
        messages = {pair["key"]: pair["value"] for pair in tool["strings"]["marker_api"]}
        operations = [kind["operations"] for kind in tool["strings"]["buffer_records"]]
        records = tool["buffer_records"]
        launches = {}
        for table in ("hip_api", "hsa_api", "rccl_api", "marker_api"):
            for each in records.get(table, []):
                place = str(each["thread_id"])
                number = each["correlation_id"]["internal"]
                name = operations[each["kind"]][each["operation"]]
                kind = "range" if table == "marker_api" else "call"
                if kind == "call":
                    launches[number] = (each["start_timestamp"], place)
                else:
                    name = messages.get(number, name)
                yield kind, name, each["start_timestamp"], each["end_timestamp"], place, (), None
        for each in records["kernel_dispatch"]:
            info = each["dispatch_info"]
            yield (
                "kernel",
                symbols[info["kernel_id"]],
                each["start_timestamp"],
                each["end_timestamp"],
                f"{gpus.index(info['agent_id']['handle'])}/{each['stream_id']['handle']}",
                (*info["grid_size"].values(), *info["workgroup_size"].values()),
                launches.get(each["correlation_id"]["internal"]),
            )
        for each in records.get("memory_copy", []):
            yield (
                "memcpy",
                operations[each["kind"]][each["operation"]],
                each["start_timestamp"],
                each["end_timestamp"],
                "copies",
                (),
                launches.get(each["correlation_id"]["internal"]),
            )


def read_rpd(file: Path) -> Iterator[Row]:
    """Operations of the GPUs, calls of the threads."""
    with sqlite3.connect(f"file:{file}?mode=ro&immutable=1", uri=True) as connection:
        strings = dict(connection.execute("select id, string from rocpd_string"))
        calls = {}
        for number, thread, start, end, name, args in connection.execute(
            "select id, tid, start, end, apiName_id, args_id from rocpd_api"
        ):
            calls[number] = (start, str(thread))
            if strings[name] == "UserMarker":
                yield "range", strings[args], start, end, str(thread), (), None
            else:
                kind = "other" if number >= _OWN_CALLS else "call"
                yield kind, strings[name], start, end, str(thread), (), None
        owners = dict(connection.execute("select op_id, api_id from rocpd_api_ops"))
        for number, gpu, queue, start, end, text, sort_id in connection.execute(
            "select id, gpuId, queueId, start, end, description_id, opType_id from rocpd_op"
        ):
            sort = strings[sort_id]
            kind = "memcpy" if sort.startswith("Copy") else "memset" if sort == "FillBuffer" else "kernel"
            yield kind, strings[text] or sort, start, end, f"{gpu}/{queue}", (), calls.get(owners.get(number))


def rpd_chrome(events: list[dict]) -> Iterator[Row]:
    """Read the same from the list of Chrome events that rpd2tracing makes: a process of the name GPU0, GPU1, ... for each GPU.

    An arrow leads from the call, whose slice holds the arrow's start, to the start of the operation.
    """
    gpus = {
        each["pid"]: each["args"]["name"].removeprefix("GPU")
        for each in events
        if each.get("name") == "process_name" and each["args"]["name"].startswith("GPU")
    }
    slices = [each for each in events if each.get("ph") == "X"]
    calls = sorted((int(each["ts"]) * 1000, str(each["tid"])) for each in slices if each["pid"] not in gpus)
    arrows = {(each["id"], each["ph"]): int(each["ts"]) * 1000 for each in events if each.get("ph") in {"s", "f"}}
    from_ = {arrows[number, "f"]: start for (number, side), start in arrows.items() if side == "s"}
    for each in slices:
        start = int(each["ts"]) * 1000
        end, text = start + int(each["dur"]) * 1000, each["args"].get("desc", "")
        if each["pid"] in gpus:
            kind = "memcpy" if text.startswith("Copy") else "memset" if text == "FillBuffer" else "kernel"
            place = bisect_right(calls, (from_.get(start, -1), "~")) - 1
            launch = calls[place] if place >= 0 else None
            yield kind, each["name"], start, end, f"{gpus[each['pid']]}/{each['tid']}", (), launch
        else:
            kind = "call" if each["name"].startswith("hip") else "other"
            yield kind, each["name"], start, end, str(each["tid"]), (), None


def read_xplane(file: Path) -> Iterator[Row]:
    """Read the lines of streams, calls of the GPU's runtime, and what else the threads of the host say.

    Other lines of a GPU (names, steps) are made from the streams.
    """
    planes = [_parse_message(plane) for plane in _parse_message(file.read_bytes()).get(1, [])]
    named = sorted(((_decode_text(plane[2][0]), plane) for plane in planes), key=lambda pair: pair[0] != "/host:CPU")
    launches = {}
    for name, plane in named:
        events = {key: _decode_text(value.get(2, [b""])[0]) for key, value in _map(plane, 4).items()}
        stats = {key: _decode_text(value.get(2, [b""])[0]) for key, value in _map(plane, 5).items()}
        gpu = name.rpartition(":")[2]
        for line in map(_parse_message, plane.get(3, [])):
            label = _decode_text(line.get(2, [b""])[0])
            for event in map(_parse_message, line.get(4, [])):
                start = line.get(3, [0])[0] * 1000 + event.get(2, [0])[0]
                start, end = start // 1000, (start + event.get(3, [0])[0]) // 1000
                told = {stats[stat[1][0]]: stat for stat in map(_parse_message, event.get(4, []))}
                number = next(iter(_take_first(told.get("correlation_id"))), None)
                what = events[event[1][0]]
                if name.startswith("/device:GPU:"):
                    track = f"{gpu}/{label.partition('#')[2].partition('(')[0]}"
                    kind = "memcpy" if "(Memcpy" in label else "kernel" if label.startswith("Stream") else "other"
                    yield kind, what, start, end, track, (), launches.get(number)
                elif name == "/host:CPU":
                    is_call = number is not None
                    if is_call:
                        launches[number] = (start, label)
                    yield "call" if is_call else "range", what, start, end, label, (), None


def _take_first(stat: dict | None) -> list[int]:
    return [] if stat is None else stat.get(3, stat.get(4, []))


def _map(plane: dict, field: int) -> dict[int, dict]:
    pairs = [_parse_message(entry) for entry in plane.get(field, [])]
    return {pair.get(1, [0])[0]: _parse_message(pair[2][0]) for pair in pairs}


def _decode_text(value: bytes) -> str:
    return value.decode(errors="replace")


def _parse_message(data: bytes) -> dict[int, list]:
    """The fields of a protobuf message, by number, each with all its values."""
    found: dict[int, list] = {}
    place = 0
    while place < len(data):
        key, place = _parse_varint(data, place)
        wire = key & 7
        if wire == 0:
            value, place = _parse_varint(data, place)
        else:
            length = {1: 8, 5: 4}.get(wire)
            if length is None:
                length, place = _parse_varint(data, place)
            value, place = data[place : place + length], place + length
        found.setdefault(key >> 3, []).append(value)
    return found


def _parse_varint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[place]
        place += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, place
