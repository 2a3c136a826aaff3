"""An nsys export that names nobody: a new file with the tables and columns that are known, names as sharing.names makes them.

Environments of all processes, command lines, paths and hosts stand in tables and strings that are not copied; pages that were
freed in the old file are not either.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from traceq.common.public_names import is_public
from traceq.importers.nsys import payload, samples
from traceq.importers.nsys.capture import OPTIONS, RANK_VARIABLES
from traceq.importers.nsys.diagnostics import LOST
from traceq.importers.sqlite import quote_name
from traceq.sharing.chrome_names import Anonymiser
from traceq.sharing.names import Names, read_allowed
from traceq.sharing.sqlite_file import NUMBERS, Columns, SourceTable, copy_table, create_table, list_tables, open_copy

_ALLOWED = read_allowed("nsys")
_TABLES: Mapping[str, Mapping[str, str]] = _ALLOWED["tables"]
_TEXTS: Mapping[str, Mapping[str, str]] = _ALLOWED["texts"]
_WHERE: Mapping[str, str] = _ALLOWED["where"]
_KINDS = ("kernel", "call", "os_call", "thread")
_RANK_NAMES = frozenset(name for pair in RANK_VARIABLES for name in pair)
_OF_PAYLOAD = (
    "NCCL communicator ID", "No. of ranks", "Rank", "CUDA device", "Message size [bytes]", "Bytes", "Peer rank", "Root",
)  # fmt: skip
# What auditwheel puts into names of libraries.
_HASH = re.compile(r"-[0-9a-f]{8}(?=\.so)")
# What torch.autograd.profiler.emit_nvtx writes behind the name of an operator.
_OF_EMIT_NVTX = re.compile(
    r"(?!.*\d{11})(?:, (?:(?:seq|stashed seq|op_id) = \d{1,10}|(?:sizes|input_op_ids) = [\[(][\[\]() \d,-]{0,4000}[\])]))+"
)
# The place of a GPU on the bus; versions of nsys and of the schema of an export.
_BUS = re.compile(r"(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]")
_EXPORT_VERSION = re.compile(r"20\d\d(?:\.\d{1,2}){1,2}(?:\.\d{1,5})?(?:-\d{1,12}(?:v\d)?)?|\d{1,2}(?:\.\d{1,3}){0,2}")
_CAPTURED = re.compile(
    r"(?:Cuda|CUDA|Nvtx|NVTX|Events?|Osrt|OSRT|OS|Cublas|Cudnn|Mpi|MPI|Ucx|UCX|Gpu|GPU|Metrics|Sched|Sampling|Cpu|CPU|Trace|Runtime|Api|API"
    r"|Memory|Usage|Uvm|UVM|Page|Faults?|Context|Switch|Graph|Node|Composite|Diagnostic|OpenGL|Vulkan|OpenACC|OpenMP|Nic|NIC|Network|Python"
    r"|Generic|Graphics|Thread|Process)+"
)


def write_anonymous(source: Path, target: Path, names: Names, shown: Path) -> tuple[int, Counter[str]]:
    """Write the nsys export at `source` to `target` without what may name somebody; error messages name `shown` instead.

    Return the number of rows written, and the number of removed things by kind.
    """
    removed: Counter[str] = Counter()
    with open_copy(source, target, shown) as files:
        files.execute("commit")
        _create_functions(files, names, removed)
        files.execute("create temp table used_string (id integer, role text, primary key (id, role)) without rowid")
        files.execute("begin")
        known = list_tables(files)
        rows = 0
        for table, found in known.items():
            if table != "StringIds" and table in _TABLES:
                rows += _copy_known(files, table, found, removed)
            elif table != "StringIds" and not table.startswith("ENUM_"):
                _count_rows(files, table, removed)
        rows += _copy_strings(files, known, names, removed)
    return rows, removed


def _copy_known(files: sqlite3.Connection, table: str, source: SourceTable, removed: Counter[str]) -> int:
    """Copy the columns of a table that are known to be harmless; return the number of rows copied.

    What is left out is counted in `removed`; the ids of strings that rows refer to go into used_string.
    """
    strings, texts = _TABLES[table], _TEXTS.get(table, {})
    kept: Columns = {}
    expressions: dict[str, str] = {}
    for name, (type_, not_null, is_row) in source.columns.items():
        column = f"t.{quote_name(name)}"
        if name in texts:
            kept[name], expressions[name] = ("TEXT", False, False), texts[name]
        elif name in strings or name in NUMBERS:
            kind = type_ if type_.upper() in ("INTEGER", "REAL", "INT", "DOUBLE", "FLOAT", "BIGINT") else "INTEGER"
            kept[name] = kind, not_null, is_row
            number = f"case when typeof({column}) in ('integer', 'real') then {column} end"
            expressions[name] = f"coalesce({number}, 0)" if not_null else number
        else:
            removed["columns that are not known"] += 1
    if not kept:
        return 0
    rows = copy_table(files, table, kept, _WHERE.get(table, "true"), expressions=expressions, source=source.own)
    for name, role in strings.items():
        if name in source.columns:
            files.execute(
                f"insert or ignore into temp.used_string select {quote_name(name)}, ? from main.{quote_name(table)}"
                f" where typeof({quote_name(name)}) = 'integer'",
                [role],
            )
    if table in _WHERE:
        ((before,),) = files.execute(f"select count(*) from src.{quote_name(source.own)}").fetchall()
        removed[f"rows of {table}"] += before - rows
    return rows


def _count_rows(files: sqlite3.Connection, table: str, removed: Counter[str]) -> None:
    """Add the number of rows of a table that is left out to `removed`, under its name if that is harmless."""
    ((rows,),) = files.execute(f"select count(*) from src.{quote_name(table)}").fetchall()
    # Other tables may have any name.
    shown = (
        table
        if re.fullmatch(r"(?:TARGET_INFO|ANALYSIS|CUPTI|CUDA|OSRT|NVTX|GPU|META_DATA|NET|NIC)_[A-Z0-9_]{1,40}", table)
        else "other tables"
    )
    removed[f"rows of {shown}"] += rows


def _copy_strings(files: sqlite3.Connection, known: dict[str, SourceTable], names: Names, removed: Counter[str]) -> int:
    """Copy the strings that copied rows refer to, with unknown names replaced; return their number.

    A string that would be shown differently in two roles has every unknown word replaced.
    """
    source = known.get("StringIds")
    if source is None or not {"id", "value"} <= source.columns.keys():
        return 0
    own = quote_name(source.own)
    create_table(files, "StringIds", {"id": ("INTEGER", True, True), "value": ("TEXT", True, False)})
    roles = _list_roles(names, removed)
    query = (
        f"select s.id, s.value, group_concat(u.role) from src.{own} as s inner join temp.used_string as u on u.id = s.id"
        " group by s.id order by s.id"
    )
    count = 0
    for number, value, used in files.execute(query):
        text = _as_text(value)
        shown = {roles[role](text) for role in used.decode().split(",")}
        found = shown.pop() if len(shown) == 1 else names.replace_words(text)
        files.execute("insert or ignore into main.StringIds values (?, ?)", [number, found])
        count += 1
    ((all_strings,),) = files.execute(f"select count(*) from src.{own}").fetchall()
    removed["strings that nothing kept refers to"] += all_strings - count
    return count


def _list_roles(names: Names, removed: Counter[str]) -> dict[str, Callable[[str], str]]:
    """Return for each role of a string (kernel, range, library, ...) the function that returns its text as it may be shown."""
    return {
        **{kind: partial(names.show, kind) for kind in _KINDS},
        "range": partial(_show_range, names),
        "payload": partial(_show_payload, removed),
        "symbol": partial(_show_symbol, names),
        "library": partial(_show_library, names),
    }


def _create_functions(files: sqlite3.Connection, names: Names, removed: Counter[str]) -> None:
    """Register the Python functions that the SQL in _TEXTS and _WHERE calls."""

    def add_function(name: str, function: Callable[[str], str]) -> None:
        files.create_function(name, 1, lambda value: None if value is None else function(_as_text(value)))

    add_function("shown_range", partial(_show_range, names))
    add_function("shown_payload", partial(_show_payload, removed))
    add_function("shown_program", partial(names.show, "program"))
    add_function("shown_message", lambda text: "events were dropped" if LOST.search(text) else "")
    add_function("shown_gpu", partial(names.show, "device"))
    add_function("shown_bus", lambda text: text if _BUS.fullmatch(text) else "")
    add_function("shown_metric", partial(names.show, "counter"))
    add_function(
        "shown_option_name", lambda text: "PROCESS_0:ENVIRONMENT_VARIABLE" if "ENVIRONMENT_VARIABLE" in text else text
    )
    anonymiser = Anonymiser(names)
    add_function("shown_part", lambda text: json.dumps(anonymiser.show_own(_read_object(text))))
    files.create_function("is_export", 2, lambda name, value: _is_export(_as_text(name), _as_text(value)))
    files.create_function("is_option", 2, lambda name, value: _is_option(_as_text(name), _as_text(value)))


def _as_text(value: object) -> str:
    """Return an SQLite value as text; '' for NULL."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else "" if value is None else str(value)


def _show_range(names: Names, text: str) -> str:
    """Return the name of an NVTX range with unknown names replaced: an operator of emit_nvtx, a library's call, or other text."""
    name, comma, rest = text.partition(",")
    if name and comma and _OF_EMIT_NVTX.fullmatch(comma + rest):
        return names.show("operator", name) + comma + rest
    if re.fullmatch(r"NCCL|MPI|cuBLAS|cuDNN|PyTorch|CCCL|NVSHMEM", text) or is_public(text, "call"):
        return text
    return names.show("annotation" if comma else "operator", text)


def _show_payload(removed: Counter[str], text: str) -> str:
    """Return NCCL's payload (JSON text) with only its known members; "" if none is known."""
    values = _read_object(text)
    shown: dict[str, Any] = {key: values[key] for key in _OF_PAYLOAD if isinstance(values.get(key), int)}
    if str(values.get("Reduction operation")) in payload.REDUCTIONS:
        shown["Reduction operation"] = values["Reduction operation"]
    removed["payloads of ranges"] += shown.keys() != values.keys()
    return json.dumps(shown) if shown else ""


def _show_symbol(names: Names, text: str) -> str:
    """Return the name of a C++ or CUDA library function, others as a pseudonym; template arguments may name anything."""
    is_template = "<" in text or "(" in text
    is_foundation = samples.NOT_OWN.match(text) is not None and not is_template
    is_shown = is_foundation and (is_public(text, "call") or "::" in text)
    return text if is_shown else names.show("function", text)


def _show_library(names: Names, text: str) -> str:
    """Return the file name of a library without folders and hash, with unknown names replaced."""
    return names.show("library", _HASH.sub("", re.split(r"[/\\]", text)[-1]))


def _is_export(name: str, value: str) -> bool:
    """Return whether a row of META_DATA_EXPORT holds a version of the export, which may be shown."""
    return (
        re.fullmatch(r"EXPORT_(?:PRODUCT|SCHEMA)_VERSION[A-Z_]{0,10}", name) is not None
        and _EXPORT_VERSION.fullmatch(value) is not None
    )


def _is_option(name: str, value: str) -> bool:
    """Return whether a row of META_DATA_CAPTURE is an option or the rank of a process, with a value that may be shown."""
    if name in OPTIONS:
        is_mode = name == "CUDA_GRAPH_TRACE_OPTIONS:MODE" and value.lower() in ("graph", "node", "none")
        is_kind = name == "CAPTURE_EVENT_TYPE" and _CAPTURED.fullmatch(value) is not None
        return is_mode or is_kind or re.fullmatch(r"\d{1,9}|true|false|True|False", value) is not None
    variable, _, number = value.partition("=")
    return (
        "ENVIRONMENT_VARIABLE" in name and variable in _RANK_NAMES and re.fullmatch(r"[0-9]{1,7}", number) is not None
    )


def _read_object(text: str) -> dict[str, Any]:
    """Return the JSON object in the text; an empty one if it is damaged or no object."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
