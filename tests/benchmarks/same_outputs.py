"""Compare what two checkouts of traceq make of the same traces: databases table by table, reports line by line.

    python tests/benchmarks/same_outputs.py make CHECKOUT OUT TRACES...     # databases and reports of one checkout
    python tests/benchmarks/same_outputs.py make CHECKOUT OUT --formats txt,json TRACES...
    python tests/benchmarks/same_outputs.py compare BASE_OUT CANDIDATE_OUT  # exit 1 where they differ

`make` runs the traceq of CHECKOUT with this interpreter, each trace in a process of its own: OUT/NAME.duckdb and
OUT/NAME.{txt,md,html,json}. `compare` prints one line per trace and table or format that differs, with the number of rows or
lines, and the first of them.
"""

from __future__ import annotations

import difflib
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import duckdb

_FORMATS = ("txt", "md", "html", "json")
_TRACE = (".sqlite", ".gz", ".json", ".parquet", ".rpd", ".pb", ".zip")

# The time of an ingest, and a hash of traceq's own code.
_VOLATILE = {"trace": ("ingested_at", "path"), "judgement": ("stamp",)}


def name_of(trace: Path) -> str:
    return "__".join(trace.parts[-2:])


def make(checkout: Path, out: Path, traces: list[Path], formats: tuple[str, ...] = _FORMATS) -> None:
    out.mkdir(parents=True, exist_ok=True)
    for trace in traces:
        name = name_of(trace)
        database = out / f"{name}.duckdb"
        if (out / f"{name}.done").exists():
            continue
        log = [_traceq(checkout, "ingest", str(trace), "-o", str(database), "--force", "--jobs", "1")]
        if database.exists():
            log += [
                _traceq(checkout, "report", str(database), "-o", str(out / f"{name}.{suffix}")) for suffix in formats
            ]
        (out / f"{name}.done").write_text("\n".join(log).replace(str(out), "OUT"))
        print(name, flush=True)


def _traceq(checkout: Path, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(checkout), "COLUMNS": "100"}
    command = [sys.executable, "-m", "traceq", *arguments]
    done = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, check=False)
    return f"exit {done.returncode}\n{done.stderr}"


def compare(base: Path, candidate: Path) -> int:
    differences = 0
    for done in sorted(base.glob("*.done")):
        name = done.name.removesuffix(".done")
        if not (candidate / done.name).exists():
            continue
        for line in _differences(base, candidate, name):
            differences += 1
            print(f"{name}: {line}")
    print(f"{differences} differences")
    return 1 if differences else 0


def _differences(base: Path, candidate: Path, name: str) -> Iterator[str]:
    if (base / f"{name}.done").read_text() != (candidate / f"{name}.done").read_text():
        yield f"messages: {(candidate / f'{name}.done').read_text()[:300]!r}"
    if (base / f"{name}.duckdb").exists() and (candidate / f"{name}.duckdb").exists():
        yield from _tables(base / f"{name}.duckdb", candidate / f"{name}.duckdb")
    for suffix in _FORMATS:
        texts = [(each / f"{name}.{suffix}") for each in (base, candidate)]
        if all(text.exists() for text in texts):
            yield from _lines(suffix, *(text.read_text().replace(f"{text.parent}/", "").splitlines() for text in texts))


def _tables(base: Path, candidate: Path) -> Iterator[str]:
    with closing(duckdb.connect()) as connection:
        connection.execute(f"attach '{base}' as base (read_only)")
        connection.execute(f"attach '{candidate}' as candidate (read_only)")
        for kind in ("table", "view"):
            query = f"select {kind}_name from duckdb_{kind}s() where database_name = $1 and not internal"
            found = [
                {name for (name,) in connection.execute(query, [side]).fetchall()} for side in ("base", "candidate")
            ]
            if found[0] != found[1]:
                yield f"{kind}s: only base {sorted(found[0] - found[1])}, only candidate {sorted(found[1] - found[0])}"
            if kind == "view":
                continue
            for table in sorted(found[0] & found[1]):
                yield from _rows(connection, table)


def _rows(connection: duckdb.DuckDBPyConnection, table: str) -> Iterator[str]:
    columns = [
        [row[0] for row in connection.execute(f'describe {side}."{table}"').fetchall()]
        for side in ("base", "candidate")
    ]
    if columns[0] != columns[1]:
        yield f"{table}: columns {columns[0]} {columns[1]}"
    named = ", ".join(f'"{c}"' for c in columns[0] if c in columns[1] and c not in _VOLATILE.get(table, ()))
    for side, other in (("base", "candidate"), ("candidate", "base")):
        query = f'select {named} from {side}."{table}" except all select {named} from {other}."{table}"'
        rows = connection.execute(query).fetchall()
        if rows:
            yield f"{table}: {len(rows)} rows only in {side}, e.g. {rows[0]!s:.300}"


def _lines(suffix: str, base: list[str], candidate: list[str]) -> Iterator[str]:
    changed = [
        line
        for line in difflib.unified_diff(base, candidate, lineterm="", n=0)
        if line[:1] in "+-" and line[:3] not in ("+++", "---")
    ]
    if changed:
        yield f"{suffix}: {len(changed)} lines, e.g. " + " | ".join(line[:150] for line in changed[:4])


def _traces(arguments: list[str]) -> list[Path]:
    paths = [Path(each) for each in arguments]
    files = [f for path in paths for f in (sorted(path.rglob("*")) if path.is_dir() else [path])]
    return [file for file in files if file.is_file() and file.suffix in _TRACE]


if __name__ == "__main__":
    if sys.argv[1] == "make":
        arguments, formats = sys.argv[4:], _FORMATS
        if arguments[0] == "--formats":
            arguments, formats = arguments[2:], tuple(arguments[1].split(","))
        make(Path(sys.argv[2]).resolve(), Path(sys.argv[3]).resolve(), _traces(arguments), formats)
    else:
        sys.exit(compare(Path(sys.argv[2]), Path(sys.argv[3])))
