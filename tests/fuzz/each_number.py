"""Each number of a small trace at both ends of what it can be, in every row and in some: no dice, and none is forgotten.

python tests/fuzz/each_number.py kineto
python tests/fuzz/each_number.py nsys

Exits 1 where a try ends otherwise than "ok" or in an error of one line.
"""

from __future__ import annotations

import copy
import json
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import attempt
import mutate_kineto
from values import ENDS

_EXPORT = Path(__file__).resolve().parents[2] / "fixtures" / "run" / "nsys_2026.2.sqlite"
_KINETO = "kineto_2026.json.gz"
# Ends, and every how many-th row has them.
_WAYS = ((ENDS[0], 1), (ENDS[1], 3))

Make = Callable[[], tuple[bytes, str]]


def main() -> int:
    """Try all of a format; 1 where one failed."""
    (format_,) = sys.argv[1:]
    attempt.prepare([format_])
    tried, failed = 0, 0
    for name, make in {"kineto": _kineto_cases, "nsys": _nsys_cases}[format_]():
        found = attempt.attempt(make, format_, whole=True)
        tried += 1
        if found.outcome not in attempt.GOOD:
            failed += 1
            print(f"{name}: {found.outcome}: {found.why[-500:]}", flush=True)
    print(f"{tried} tries, {failed} failed")
    return int(failed > 0)


def _kineto_cases() -> Iterator[tuple[str, Make]]:
    """Yield arguments of events by category, and what is told of devices and ranks."""
    whole = mutate_kineto.load_base(_KINETO)
    known = {
        (str(event.get("cat")), name)
        for event in whole["traceEvents"]
        for name, value in (event.get("args") or {}).items()
        if _is_number(value)
    }
    for category, name in sorted(known):
        for ends, every in _WAYS:
            yield f"{category} {name}, every {every}", partial(_change_events, category, name, ends, every)
    for name in (name for name, value in whole["deviceProperties"][0].items() if _is_number(value)):
        for end in ENDS[0]:
            yield f"deviceProperties {name} {end}", partial(_change_header, "deviceProperties", name, end)
    for name in ("rank", "world_size"):
        for end in ENDS[0]:
            yield f"distributedInfo {name} {end}", partial(_change_header, "distributedInfo", name, end)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) or (isinstance(value, str) and value.lstrip("-").isdecimal())


def _change_events(category: str, name: str, ends: tuple[int, int], every: int) -> tuple[bytes, str]:
    whole = copy.deepcopy(mutate_kineto.load_base(_KINETO))
    having = [
        event
        for event in whole["traceEvents"]
        if str(event.get("cat")) == category and name in (event.get("args") or {})
    ]
    for event, end in zip(having[::every], cycle(ends), strict=False):
        event["args"][name] = end
    return json.dumps(whole).encode(), ".json"


def _change_header(member: str, name: str, end: int) -> tuple[bytes, str]:
    whole: dict[str, Any] = copy.deepcopy(mutate_kineto.load_base(_KINETO))
    told = whole.setdefault(member, {})
    (told[0] if isinstance(told, list) else told)[name] = end
    return json.dumps(whole).encode(), ".json"


def _nsys_cases() -> Iterator[tuple[str, Make]]:
    """Yield columns of tables that have rows."""
    with closing(sqlite3.connect(_EXPORT)) as export:
        tables = [name for (name,) in export.execute("select name from sqlite_master where type = 'table'")]
        columns = [
            (table, row[1])
            for table in tables
            if not table.startswith("ENUM_") and export.execute(f'select 1 from "{table}" limit 1').fetchall()
            for row in export.execute(f'pragma table_info("{table}")')
        ]
    for table, column in columns:
        for ends, every in _WAYS:
            yield f"{table}.{column}, every {every}", partial(_change_column, table, column, ends, every)


def _change_column(table: str, column: str, ends: tuple[int, int], every: int) -> tuple[bytes, str]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.sqlite"
        shutil.copyfile(_EXPORT, path)
        with closing(sqlite3.connect(path, isolation_level=None)) as export:
            export.execute(
                f'update "{table}" set "{column}" = case rowid / {every} % 2 when 0 then ? else ? end'
                f" where rowid % {every} = 0",
                ends,
            )
        return path.read_bytes(), ".sqlite"


if __name__ == "__main__":
    sys.exit(main())
