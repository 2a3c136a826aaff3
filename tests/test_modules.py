"""What import-linter and ruff cannot say of the package's modules (see pyproject.toml for what they can)."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import traceq

PACKAGE = Path(traceq.__file__).parent

# They are given a connection and ask it: of duckdb they may name types only.
GIVEN_A_CONNECTION = ("diagnosis", "health", "runs", "reports", "exports")
CATCHES_ITS_ERRORS = {"diagnosis/broken.py", "diagnosis/cache.py", "diagnosis/user_rules.py"}


def modules(*rooms):
    return [path for room in rooms for path in sorted((PACKAGE / room).rglob("*.py"))]


def imports_at_run_time(node):
    """Names of the modules that are imported somewhere below `node`, but not those for type checkers."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            yield child.module
        elif not (isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"):
            yield from imports_at_run_time(child)


def rewritten_statements(tree):
    """Lines where a method of the text of an SQL file, as `statement(...)` returns it, makes another text of it."""
    for node in ast.walk(tree):
        called = node.value.func if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Call) else node
        if called is not node and ast.unparse(called).endswith("statement"):
            yield node.lineno


@pytest.mark.parametrize("room", GIVEN_A_CONNECTION)
def test_who_is_given_a_connection_opens_none(room):
    found = {
        path.relative_to(PACKAGE).as_posix(): name
        for path in modules(room)
        for name in imports_at_run_time(ast.parse(path.read_text("utf-8")))
        if name.split(".")[0] == "duckdb"
    }
    assert found.keys() <= CATCHES_ITS_ERRORS


def test_the_text_of_an_sql_file_is_not_rewritten():
    found = {
        path.relative_to(PACKAGE).as_posix(): lines
        for path in modules(".")
        if (lines := list(rewritten_statements(ast.parse(path.read_text("utf-8")))))
    }
    assert found == {}


@pytest.mark.parametrize("code", ['statement("a.sql").replace("x", y)', 'sql.statement("a.sql").format(y)'])
def test_a_rewritten_statement_is_recognised(code):
    assert list(rewritten_statements(ast.parse(code))) == [1]


def test_an_import_for_types_is_told_from_one_at_run_time():
    code = "if TYPE_CHECKING:\n    import duckdb\ndef f():\n    import pyarrow.csv\n    from json import loads"
    assert list(imports_at_run_time(ast.parse(code))) == ["pyarrow.csv", "json"]


def test_options_are_named_and_not_passed_on():
    """Only what hands the options of click to commands, and the tools of agents to theirs, takes any."""
    found = {
        path.relative_to(PACKAGE).as_posix()
        for path in modules("app", "cli")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef) and node.args.kwarg is not None
    }
    assert found == {"cli/_options.py", "cli/mcp.py"}
