"""Recognising the files of ROCm's profilers by their content, and opening the SQLite ones so that they cannot be changed."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

from traceq.importers.packed import read_head
from traceq.importers.sqlite import DAMAGED_DATABASE, IS_VIEW, SQLITE, open_read_only, table_names

_JSON = re.compile(rb'(\xef\xbb\xbf)?\s*\{\s*"rocprofiler-sdk-tool"\s*:')
# RPD's Chrome traces begin with an empty event and the names of the GPUs' processes.
_RPD_JSON = re.compile(
    rb'\s*\[\s*(\{\}\s*,\s*)?\{"name"\s*:\s*"process_name",[^{}]*"args"\s*:\s*\{"name"\s*:\s*"GPU\d+"'
)
_SNIFF_BYTES = 4096
# The schema stands at the beginning of a SQLite file.
_SCHEMA_BYTES = 1 << 20

# Tables that say which of the two a SQLite file is; rocpd puts a UUID behind its names.
_OF_RPD = {"rocpd_op", "rocpd_api", "rocpd_api_ops", "rocpd_string"}
_OF_ROCPD = re.compile(r"rocpd_kernel_dispatch(_\w+)?|rocpd_region(_\w+)?|rocpd_info_agent(_\w+)?")


def sniff(path: Path) -> bool:
    """Return whether the file is of one of ROCm's profilers (see kind_of()), plain or gzip'd."""
    return kind_of(path) is not None


def kind_of(path: Path) -> str | None:
    """Return the format of the file: "rocprofv3" (JSON), "rocpd" or "rpd" (SQLite), "rpd_json" (Chrome trace), else None."""
    head = read_head(path, _SNIFF_BYTES)
    if _JSON.match(head):
        return "rocprofv3"
    if _RPD_JSON.match(head):
        return "rpd_json"
    return _database_kind(path) if head.startswith(SQLITE) else None


def _database_kind(path: Path) -> str | None:
    try:
        with closing(open_read_only(path)) as connection:
            names = set(table_names(connection))
    except DAMAGED_DATABASE:
        # gzip'd, or damaged: names of tables stand in its schema all the same
        names = {name.decode() for name in re.findall(rb"\brocpd_\w+", read_head(path, _SCHEMA_BYTES))}
    if names >= _OF_RPD:
        return "rpd"
    return "rocpd" if any(_OF_ROCPD.fullmatch(name) for name in names) else None


def views_for_tables(connection: sqlite3.Connection) -> list[str]:
    """Return the names of rocpd_* views and virtual tables that stand where tables should.

    rocpd's own views, over tables with the same name and a suffix, are not among them. Reading another view would run
    what the file says.
    """
    tables = list(table_names(connection))
    query = f"select name from sqlite_master where {IS_VIEW} and name like 'rocpd\\_%' escape '\\'"  # noqa: S608
    views = [str(name) for (name,) in connection.execute(query)]
    return [view for view in views if not any(table.startswith(f"{view}_") for table in tables)]
