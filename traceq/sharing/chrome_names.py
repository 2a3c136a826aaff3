"""A Chrome trace that names nobody: of each event the members that are known, with names as sharing.names makes them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from traceq.importers.chrome.loose import FAMILY_OF_CATEGORY
from traceq.importers.chrome.records import EventRecords
from traceq.sharing.names import Names, read_allowed

_NUMBER = re.compile(rb"-?\d{1,25}(?:\.\d{1,12})?(?:[eE][+-]?\d{1,3})?")
_QUOTED_NUMBER = re.compile(rb'"-?\d{1,25}(?:\.\d{1,12})?"')
# A number in quotes that may be an id: longer ones may be anything.
_QUOTED_ID = re.compile(rb'"-?\d{1,10}"')
_MEMBERS = frozenset(("ph", "cat", "name", "pid", "tid", "ts", "dur", "id", "id2", "scope", "bp", "s", "args"))
UNKNOWN_REASON = "left out of the whole trace"
_PHASES = frozenset("XMBEisfCIPtbneNOD")
_ALLOWED = read_allowed("chrome")
_CATEGORIES = frozenset((*FAMILY_OF_CATEGORY, *_ALLOWED["categories"]))
_NUMERIC = frozenset(_ALLOWED["numbers"])
# A number or lists of them; no address is one.
_ONE = r"-?\d{1,40}(?:\.\d{0,20})?(?:e[+-]?\d{1,3})?"
_NUMERIC_TEXT = re.compile(rf"[\[(]+{_ONE}(?:[\])]*, ?[\[(]*{_ONE})*[\])]+|{_ONE}|\[\]|\(\)|True|False|None|inf|nan|")
_FRACTION = re.compile(r"-?\d+\.\d+(?:e[+-]?\d+)?")
# No size has more digits, but the largest number of 64 bits, which stands for the end.
_MOST_DIGITS = 10
_OTHER_NUMBER = re.compile(rf"(?<!\d)(?!9223372036854775807(?!\d))\d{{{_MOST_DIGITS + 1},}}")
_KIND_OF_FAMILY: Mapping[str, str] = _ALLOWED["families"]
_NAMES: Mapping[str, str] = _ALLOWED["names"]
_BACKENDS = re.compile(
    r"(?:(?:cpu|cuda|hip):)?(?:nccl|gloo|mpi|ucc|rccl|xccl|hccl)(?:,(?:cpu|cuda):(?:nccl|gloo|mpi|ucc))?"
)
_VERSION = re.compile(r"\d{1,3}(?:\.\d{1,3}){1,2}")
_SYNC_KINDS = re.compile(
    r"(?:Event|Stream|Context) ?(?:Wait ?Event|Sync(?:hronize)?)?(?: Sync)?|EVENT_SYNC|STREAM_WAIT_EVENT|STREAM_SYNC|CONTEXT_SYNC"
)
_LIMITS = re.compile(r"(?:WARPS|REGS|SMEM|BLOCKS|BARRIERS|none|\||, ?| )*")
_COPY_KINDS = re.compile(r"[HDAP](?:to|2)[HDAP]|Dispatch Kernel|(?:Host|Device)To(?:Host|Device)|Memset|\d{1,3}")

# Arguments that are one of some words, or numbers.
_WORDS = {"cuda_sync_kind": _SYNC_KINDS, "limitingFactors": _LIMITS, "kind": _COPY_KINDS}
_TEXTS = {*_NAMES, *_WORDS, "Process Group Ranks", "In split size", "Out split size"}

_Values = Mapping[str, Any]
_decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])


class Anonymiser:
    """Copies the events of a Chrome trace without what may name somebody; `removed` counts what is left out, by kind."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self.removed: Counter[str] = Counter()
        self._identities: dict[bytes, int] = {}

    def show_event(self, raw: bytes | msgspec.Raw) -> bytes | None:
        """Return the event as JSON, with only the members that may be shown; None if nothing of it may be shown."""
        try:
            members = _decoder.decode(raw)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            self.removed["events that are no JSON"] += 1
            return None
        phase = _read_text(members.get("ph"))
        if phase not in _PHASES:
            self.removed["events of unknown kinds"] += 1
            return None
        if phase == "M":
            return self._show_metadata(members)
        category = _read_text(members.get("cat"))
        shown: dict[str, Any] = {"ph": phase, "cat": None if category is None else self._show_category(category)}
        if "name" in members:
            shown["name"] = self._show_name(_read_text(members["name"]), phase, category)
        shown |= {key: self._show_track(members[key]) for key in ("pid", "tid") if key in members}
        shown |= {key: self._show_number(members[key], key) for key in ("ts", "dur") if key in members}
        shown |= self._show_ids(members)
        for key in ("bp", "s"):
            shown[key] = text if (text := _read_text(members.get(key))) in ("e", "g", "p", "t") else None
        if "args" in members:
            shown["args"] = self._show_args(members["args"], is_counter=phase == "C")
        self.removed["unknown members of events"] += len(members.keys() - _MEMBERS)
        return msgspec.json.encode({key: value for key, value in shown.items() if value is not None})

    def _show_ids(self, members: dict[str, msgspec.Raw]) -> dict[str, Any]:
        """Return id, id2 and scope of an event, which join the halves of a range or an arrow, as they may be shown."""
        shown: dict[str, Any] = {"id": self._show_identity(members["id"])} if "id" in members else {}
        pair = _decode(members.get("id2"), of=dict[str, msgspec.Raw])
        if isinstance(pair, dict):
            shown["id2"] = {key: self._show_identity(pair[key]) for key in ("local", "global") if key in pair}
        if (scope := _read_text(members.get("scope"))) is not None:
            shown["scope"] = self._names.show("other", scope)
        return shown

    def _show_identity(self, raw: msgspec.Raw) -> Any:
        """Return an id unchanged if it is a number or null, else the text "id N", where equal ids have the same N."""
        if _NUMBER.fullmatch(bytes(raw)) or _QUOTED_ID.fullmatch(bytes(raw)) or bytes(raw) == b"null":
            return raw
        # No id that the file writes as a number is one of these.
        return f"id {self._identities.setdefault(bytes(raw), len(self._identities))}"

    def _show_category(self, text: str) -> str:
        """Return the category if it is known to be harmless, else a pseudonym."""
        return text if text in _CATEGORIES or text.lower() in _CATEGORIES else self._names.show("other", text)

    def _show_name(self, text: str | None, phase: str, category: str | None) -> str | None:
        """Return the name of an event of this phase (the member ph) and category, with unknown names replaced; None for None."""
        if text is None:
            return None
        if phase in ("s", "t", "f"):
            return text if text in _CATEGORIES or text == "launch" else self._names.show("other", text)
        family = "Trace" if category == "Trace" else FAMILY_OF_CATEGORY.get((category or "").lower(), "other")
        return self._names.show("counter" if phase == "C" else _KIND_OF_FAMILY.get(family, "annotation"), text)

    def _show_metadata(self, members: dict[str, msgspec.Raw]) -> bytes | None:
        """Return a metadata event (name or order of a process or thread) as JSON; None for metadata of unknown kinds."""
        name = _read_text(members.get("name"))
        args = _decode(members.get("args"))
        args = args if isinstance(args, dict) else {}
        if name in ("process_sort_index", "thread_sort_index"):
            shown: Any = {"sort_index": args["sort_index"]} if isinstance(args.get("sort_index"), int) else {}
        elif name in ("process_name", "thread_name") and isinstance(args.get("name"), str):
            shown = {"name": self._names.show("program" if name == "process_name" else "thread", args["name"])}
        elif name == "process_labels" and isinstance(args.get("labels"), str):
            shown = {"labels": self._names.show("thread", args["labels"])}
        else:
            self.removed["unknown metadata"] += 1
            return None
        event: dict[str, Any] = {"ph": "M", "name": name, "args": shown}
        for key in ("pid", "tid"):
            if key in members:
                event[key] = self._show_track(members[key])
        if "ts" in members:
            event["ts"] = self._show_number(members["ts"], "ts")
        return msgspec.json.encode({key: value for key, value in event.items() if value is not None})

    def _show_track(self, raw: msgspec.Raw) -> Any:
        """Return a pid or tid: a number unchanged, a text as it may be shown; None for NULL."""
        if _NUMBER.fullmatch(bytes(raw)) or _QUOTED_ID.fullmatch(bytes(raw)):
            return raw
        text = _read_text(raw)
        return None if text is None else self._names.show("thread", text) if text else ""

    def _show_number(self, raw: msgspec.Raw, key: str) -> msgspec.Raw | None:
        """Return the JSON text of the member `key` unchanged if it is a number, so that times keep every digit; else None."""
        if _NUMBER.fullmatch(bytes(raw)) or _QUOTED_NUMBER.fullmatch(bytes(raw)):
            return raw
        if bytes(raw) != b"null":
            self.removed[f"values of {key} that are no numbers"] += 1
        return None

    def _show_args(self, raw: msgspec.Raw, *, is_counter: bool) -> dict[str, Any]:
        """Return the arguments of an event that may be shown, by name; of a counter's, only its numbers."""
        values = _decode(raw, of=dict[str, msgspec.Raw])
        if not isinstance(values, dict):
            self.removed["arguments that are no object"] += 1
            return {}
        if is_counter:
            return {
                self._names.show("counter", key) if key else key: value
                for key, value in values.items()
                if _NUMBER.fullmatch(bytes(value))
            }
        shown = {}
        for key, value in values.items():
            kept = self._show_argument(key, value)
            if kept is not None:
                shown[key] = kept
            elif bytes(value) not in (b"null", b'""'):
                self.removed[f"argument {key}" if key in _ALLOWED["removed_arguments"] else "unknown arguments"] += 1
        return shown

    def _show_argument(self, key: str, raw: msgspec.Raw) -> Any:
        """Return the value of the argument `key` as it may be shown; None if it must be left out."""
        if key in _NUMERIC and _is_numeric(raw):
            return raw
        if key in _TEXTS and (text := _read_text(raw)) is not None:
            return self._show_text_argument(key, text)
        if key == "occupancy" and isinstance(members := _decode(raw, of=dict[str, msgspec.Raw]), dict):
            inner = {name: self._show_argument(name, value) for name, value in members.items()}
            return {name: value for name, value in inner.items() if value is not None}
        if key == "Input type" and isinstance(types := _decode(raw), list):
            return [self._names.show("type", type_) if isinstance(type_, str) and type_ else "" for type_ in types]
        if key == "Concrete Inputs" and isinstance(inputs := _decode(raw), list):
            return [_numeric_text(value) or "" if isinstance(value, str) else "" for value in inputs]
        return None

    def _show_text_argument(self, key: str, text: str) -> str | None:
        """Return the text of an argument: a name as it may be shown, one of some words or numbers unchanged, or else None."""
        if key in _NAMES:
            return self._names.show(_NAMES[key], text)
        if key in _WORDS:
            return text if _WORDS[key].fullmatch(text) else None
        return _numeric_text(text)

    def show_header(self, members: Mapping[str, msgspec.Raw]) -> dict[str, Any]:
        """Return those members of the file's outermost object, except the events, that may be shown."""
        shown: dict[str, Any] = {
            key: members[key] for key in _ALLOWED["flags"] if key in members and _NUMBER.fullmatch(bytes(members[key]))
        }
        if _read_text(members.get("displayTimeUnit")) in ("ms", "ns"):
            shown["displayTimeUnit"] = _read_text(members["displayTimeUnit"])
        if isinstance(devices := _decode(members.get("deviceProperties")), list):
            shown["deviceProperties"] = [self._show_device(device) for device in devices if isinstance(device, dict)]
        if isinstance(distributed := _decode(members.get("distributedInfo")), dict):
            shown["distributedInfo"] = self._show_distributed(distributed)
        if isinstance(ours := _decode(members.get("traceq")), dict):
            shown["traceq"] = self.show_own(ours)
        for key in members.keys() - shown.keys() - {"traceEvents"}:
            self.removed["members of the file: " + (key if key in _ALLOWED["removed_members"] else "others")] += 1
        return shown

    def _show_device(self, properties: _Values) -> dict[str, Any]:
        """Return those properties of a GPU that may be shown: numbers, and its name."""
        shown = _pick(properties, _ALLOWED["device"], lambda value: isinstance(value, int))
        if isinstance(name := properties.get("name"), str):
            shown["name"] = self._names.show("device", name) if name else ""
        return shown

    def _show_distributed(self, values: _Values) -> dict[str, Any]:
        """Return what may be shown of the member distributedInfo: rank, world size, backend, version of NCCL and groups."""
        shown = _pick(values, ("rank", "world_size", "pg_count"), _is_small)
        shown |= _pick(values, ["backend"], lambda value: _BACKENDS.fullmatch(str(value)))
        shown |= _pick(values, ["nccl_version"], lambda value: _VERSION.fullmatch(str(value)))
        if isinstance(groups := values.get("pg_config"), list):
            shown["pg_config"] = [self._show_group(group) for group in groups if isinstance(group, dict)]
        return shown

    def _show_group(self, values: _Values) -> dict[str, Any]:
        """Return what may be shown of a process group: its name, backend, size and ranks."""
        names = _pick(values, ("pg_name", "pg_desc"), lambda value: isinstance(value, str | int))
        shown: dict[str, Any] = {key: self._names.show("group", str(name)) for key, name in names.items()}
        shown |= _pick(values, ["backend_config"], lambda value: _BACKENDS.fullmatch(str(value)))
        shown |= _pick(values, ["pg_size"], _is_small)
        ranks = values.get("ranks")
        if isinstance(ranks, list):
            shown["ranks"] = [rank for rank in ranks if _is_small(rank) or rank == "..."]
        elif isinstance(ranks, str):
            shown["ranks"] = _numeric_text(ranks) or ""
        return shown

    def show_own(self, said: _Values) -> dict[str, Any]:
        """Return those members that may be shown of the object "traceq", which traceq wrote into the file."""
        shown = _pick(said, ("rank", "world_size"), _is_small)
        if isinstance(part := said.get("trim"), dict):
            shown["trim"] = self._show_trim(part)
        return shown

    def _show_trim(self, part: _Values) -> dict[str, Any]:
        """Return the description of a part that `traceq trim` wrote, with unknown names replaced."""
        sources = ("step_range", "mark", "profiler_step", "annotation", "optimizer", "recurrence", "window", "serving")
        source, steps = part.get("source"), part.get("steps")
        return {
            "window": [time for time in _as_list(part.get("window")) if _is_whole(time)],
            "source": source if isinstance(source, str) and source in sources else "annotation",
            "unit": self._names.show("annotation", str(part.get("unit"))),
            "clock": "gpu" if part.get("clock") == "gpu" else "host",
            "is_followed": part.get("is_followed") is True,
            "training": self._show_thread_of(part.get("training")),
            "steps": [self._show_step(step) for step in _as_list(steps) if isinstance(step, dict)],
        }

    def _show_step(self, step: _Values) -> dict[str, Any]:
        """Return a step of a part's description: times, number, name, thread, and why it is excluded."""
        told = _pick(step, ("ts", "ts_end", "number"), _is_whole)
        told |= {"name": self._names.show("annotation", str(step.get("name"))), **self._show_thread_of(step)}
        if (excluded := step.get("excluded")) is not None:
            told["excluded"] = excluded if excluded in _ALLOWED["reasons"] else UNKNOWN_REASON
        return told

    def _show_thread_of(self, values: Any) -> dict[str, str]:
        """Return the members pid and tid, where they are texts; a text that is no number becomes a name that may be shown."""
        values = values if isinstance(values, dict) else {}
        found = _pick(values, ("pid", "tid"), lambda value: isinstance(value, str))
        return {
            key: text if re.fullmatch(r"-?\d{1,20}", text) else self._names.show("thread", text)
            for key, text in found.items()
        }


def _pick(values: _Values, keys: Iterable[str], may_show: Callable[[Any], object]) -> dict[str, Any]:
    """Return the values with these keys for which `may_show` returns true, by key."""
    return {key: values[key] for key in keys if key in values and may_show(values[key])}


def _as_list(value: Any) -> list[Any]:
    """Return the value if it is a list, else an empty list."""
    return value if isinstance(value, list) else []


def _is_whole(value: Any) -> bool:
    """Return whether the value is an int, and not a bool."""
    return isinstance(value, int) and not isinstance(value, bool)


def _is_small(value: Any) -> bool:
    """Return whether the value is an int from 0 to below 2^31."""
    return _is_whole(value) and 0 <= value < 1 << 31


def _numeric_text(text: str) -> str | None:
    """Return a text of sizes or ranks, with fractions rounded to six digits; None for any other text."""
    if not _NUMERIC_TEXT.fullmatch(text):
        return None
    shown = _FRACTION.sub(lambda number: f"{float(number[0]):.6g}", text)
    return None if _OTHER_NUMBER.search(shown) else shown


def _is_numeric(raw: msgspec.Raw) -> bool:
    """Return whether a JSON value is a number, a number in quotes, a boolean, or nested lists of numbers."""
    text = bytes(raw)
    return bool(
        _NUMBER.fullmatch(text)
        or (_QUOTED_NUMBER.fullmatch(text) and len(text.split(b".")[0]) <= _MOST_DIGITS + 2)
        or text in (b"true", b"false")
        or (text.startswith(b"[") and not text.strip(b"[]0123456789,.-+eE \t\r\n"))
    )


def _read_text(raw: msgspec.Raw | None) -> str | None:
    """Return the JSON value as text; None for null or a missing one."""
    value = _decode(raw)
    return value if isinstance(value, str) else None if value is None else str(value)


def _decode(raw: msgspec.Raw | None, of: Any = Any) -> Any:
    """Return the JSON value, checked to have the type `of`; None if it is missing, damaged or of another type."""
    try:
        return None if raw is None else msgspec.json.decode(raw, type=of)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None


def write_anonymous(path: Path, names: Names, file: BinaryIO) -> tuple[int, Counter[str]]:
    """Write the Chrome trace at `path` to `file` without what may name somebody.

    Return the number of events written, and the number of removed things by kind.
    """
    anonymiser = Anonymiser(names)
    written = 0
    with EventRecords(path) as records:
        before = anonymiser.show_header(records.members_before() or {})
        file.write(msgspec.json.encode(before).removesuffix(b"}") + (b",\n" if before else b"") + b'"traceEvents": [')
        for _, events in records.read_blocks():
            for raw in events:
                event = anonymiser.show_event(raw)
                if event is not None:
                    file.write((b",\n" if written else b"\n") + event)
                    written += 1
        after = anonymiser.show_header(records.members_after())
        file.write(b"\n]" + (b",\n" + msgspec.json.encode(after).removeprefix(b"{") if after else b"}") + b"\n")
    return written, anonymiser.removed
