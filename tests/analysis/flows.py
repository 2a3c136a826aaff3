"""Which tables the text of SQL files reads and makes, views and macros of the schema resolved."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import traceq
from traceq.analysis.flow import Flow
from traceq.analysis.order import _IN_PYTHON, flow_of
from traceq.database.connect import SCHEMA

PACKAGE = Path(traceq.__file__).parent
ANALYSIS = PACKAGE / "analysis"

_CREATED = re.compile(r"create (?:or replace )?temp (?:table|macro) (\w+)")
_CHANGED = re.compile(r"^(?:insert into|update|delete from) (\w+)")
_DROPPED = re.compile(r"^drop table (\w+)")
_READ = re.compile(r"(?<!distinct )\b(?:from|join)\s+(?!query_table)(\w+)(?![.\w])")
_GIVEN = re.compile(r"\w\('(_\w+)'")
_CTE = re.compile(r"(?:\bwith(?: recursive)?|,)\s*(\w+)(?:\s*\([\w, ]+\))?\s+as\s+(?:not )?(?:materialized\s+)?\(")
_DEFINITION = re.compile(r"create or replace (?:view|macro) (\w+)(?:\([^)]*\))? as(?: table)?\s(.*?);\n", re.DOTALL)
_TABLE = re.compile(r"create table (?:if not exists )?(\w+)")


def list_files() -> list[Path]:
    """Return the SQL files of analyses: not those that declare tables, in files or in memory, nor identities."""
    schema = {*(PACKAGE / name for name in SCHEMA), *ANALYSIS.glob("*/tables.sql")}
    return sorted(file for file in ANALYSIS.rglob("*.sql") if file not in schema and file.parent.name != "identities")


@cache
def flow_in(text: str) -> Flow:
    """Return what SQL reads that it has not made itself, and what it makes and does not drop."""
    # names of tables that macros are given stay
    bare = re.sub(r"'(?!_\w+')(?:[^']|'')*'", "''", re.sub(r"--[^\n]*", "", text))
    read: set[str] = set()
    made: set[str] = set()
    for statement in map(str.strip, bare.split(";")):
        changed = set(_CHANGED.findall(statement))
        read |= ({*_READ.findall(statement), *_GIVEN.findall(statement)} - {*_CTE.findall(statement)}) - made
        read |= {name for name in changed - made if name.startswith("_")}
        made = (made | changed | {*_CREATED.findall(statement)}) - {*_DROPPED.findall(statement)}
    return Flow(frozenset(read), frozenset(made))


@cache
def read_definitions() -> dict[str, frozenset[str]]:
    """Return what each view and macro of the schema reads."""
    texts = "\n".join((PACKAGE / name).read_text("utf-8") for name in SCHEMA)
    return {name: flow_in(body).reads for name, body in _DEFINITION.findall(texts)}


def tables_read(text: str) -> set[str]:
    """Return the tables that SQL reads, also through views and macros of the schema, and temporary tables and macros."""
    left, found = list(flow_in(text).reads), set()
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += read_definitions().get(name, ())
    return {
        name for name in found if name.startswith("_") or name in list_importer_tables() | list_analysis_tables()
    } - set(read_definitions())


@cache
def list_analysis_tables() -> frozenset[str]:
    """Return the public tables that analyses fill, or fill up."""
    texts = [file.read_text("utf-8") for file in ANALYSIS.glob("*/tables.sql")]
    return frozenset({"collective", *(name for text in texts for name in _TABLE.findall(text))})


@cache
def list_importer_tables() -> frozenset[str]:
    """Return the public tables that importers fill, and some analyses after them."""
    return frozenset(_TABLE.findall((PACKAGE / "database/schema.sql").read_text("utf-8")))


@cache
def _read_by_python() -> frozenset[str]:
    names: set[str] = set()
    for file in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                names |= {node.value} if re.fullmatch(r"_\w+", node.value) else flow_in(node.value).reads
    return frozenset(names.union(*(flow_of(name).reads for name in _IN_PYTHON)))


def head_of(file: Path) -> Flow:
    """Return what the head of the SQL file should say that it reads, and leaves for others."""
    text = file.read_text("utf-8")
    reads = {name for name in tables_read(text) if name.startswith("_") or name in list_analysis_tables()}
    others = _read_by_python().union(
        *(flow_in(other.read_text("utf-8")).reads for other in PACKAGE.rglob("*.sql") if other != file)
    )
    makes = {name for name in flow_in(text).makes if not name.startswith("_") or name in others}
    return Flow(frozenset(reads), frozenset(makes))


def python_head(module: str) -> Flow:
    """Return what a Python module of analyses reads and leaves, with those of its folder that it imports and their SQL files."""
    left, seen = [module], set[str]()
    reads, makes = set[str](), set[str]()
    while left:
        name = left.pop()
        if name in seen:
            continue
        seen.add(name)
        tree = ast.parse((PACKAGE.parent / f"{name.replace('.', '/')}.py").read_text("utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(module.rpartition(".")[0] + "."):
                left.append(node.module or "")
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = _sql_named(node.value, name) or node.value
                reads |= {table for table in tables_read(text) if table in _list_known_tables()}
                makes |= {table for table in flow_in(text).makes if table in _list_known_tables()}
    return Flow(frozenset(reads - makes), frozenset(makes))


@cache
def _list_known_tables() -> frozenset[str]:
    heads = [head_of(file) for file in list_files()]
    steps = [flow_of(name) for name in _IN_PYTHON]
    return list_analysis_tables().union(*(flow.makes for flow in (*heads, *steps)))


def _sql_named(value: str, module: str) -> str | None:
    """Return the text of the SQL file, by its path or by its name in the folder of the module; None for other strings."""
    if not re.fullmatch(r"[\w/]+(\.sql)?", value):
        return None
    near = PACKAGE.parent / module.rpartition(".")[0].replace(".", "/") / f"{value}.sql"
    paths = [path for path in (PACKAGE / value, near) if path.suffix == ".sql" and path.exists()]
    return paths[0].read_text("utf-8") if paths else None
