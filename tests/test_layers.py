"""The pipeline as the imports show it: data flows importers -> ... -> cli, and imports only go back."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from traceq.rules.registry import RULES

PACKAGE = Path(__file__).resolve().parents[1] / "traceq"

# What may be imported from where: a module knows its own layer and those above it here, never one below.
LAYERS = (
    (
        "errors",
        "child",
        "lean",
        "printable",
        "units",
        "durations",
        "percent",
        "categories",
        "findings",
    ),  # words and shapes that everybody may use; they know nothing
    ("written",),  # files that are there in full or not at all
    ("annotate",),  # marks in the user's program
    ("capture",),  # the user's program -> a trace
    ("importers",),  # files -> Arrow batches
    ("sql",),  # the schema and the statements, and how they are run
    ("analyzers",),  # what SQL cannot say well
    ("store",),  # batches -> database, atomically
    ("queries",),  # the user's SQL
    ("catalogue",),  # what a database says of itself
    ("claims",),  # what a rule is given, and what it says
    ("rules",),  # facts -> judgement
    ("diagnosis",),  # judgements -> findings
    ("health",),  # facts -> how far they can be trusted
    ("runs",),  # a database -> what is left of a trace when it is gone
    ("baselines",),  # files of runs, by name
    ("sides",),  # what stands on a side of a comparison
    ("comparisons",),  # two runs -> a verdict
    ("verification",),  # a finding before and after -> whether it was right
    ("tradeoffs",),  # runs of several settings -> the best of them
    ("budgets",),  # runs -> pass or fail
    ("reports", "exports"),  # judgement -> words; a database -> files for other tools
    ("frames", "notebook"),  # a report as DataFrames; as a notebook's cell shows it
    ("report_view", "comparison_view"),  # what Traces.report and traceq.compare return
    ("plots",),  # its charts
    ("traces",),  # traceq.open
    ("cli",),  # arguments -> calls
    ("__main__",),  # python -m traceq
)

# traceq/__init__.py names what is public, from all layers, and imports it when it is asked for.
FACADE = "__init__"
EVERYTHING_IT_MAY_HOLD = {name for layer in LAYERS for name in layer} | {FACADE, "demo"}

# What some may not import although the order allows it.
FORBIDDEN = {
    "importers": {"duckdb"},  # an importer knows its format and the tables' columns, no database
    "reports": {"duckdb", "traceq.store", "traceq.queries"},  # a renderer gets a Report and returns text
    "exports": {"duckdb", "traceq.store", "traceq.queries"},  # like a report
    "health": {"traceq.store", "traceq.queries", "traceq.importers"},  # like a rule
    **{
        # a rule gets a connection and reads tables
        room: {"duckdb", "traceq.store", "traceq.queries", "traceq.importers"}
        for room in ("claims", "rules", "diagnosis", "runs", "baselines", "comparisons", "verification", "tradeoffs")
    },
}
# Reads the Report from the database, and names the type of the connection it is given.
MAY_NAME_DUCKDB = {
    "exports/header.py",
    "exports/lanes.py",
    "exports/pieces.py",
    "exports/trace_file.py",
    "exports/tracks.py",
    "exports/window.py",
    "reports/build.py",
    "reports/build_timelines.py",
    "claims/claim.py",
    "claims/subject.py",
    "diagnosis/judge.py",
    "diagnosis/kept.py",
    "runs/read.py",
    "claims/at_hand.py",
}

# Modules that put names of tables into SQL: there is no parameter for those.
MAY_COMPOSE_SQL = {
    "analyzers/nesting.py": "temporary tables of its own",
    "store/build.py": "tables of the package's own lists",
    "store/ingest.py": "tables of the package's own lists",
    "store/publish.py": "tables that the part itself lists, and paths with their quotes doubled",
    "importers/nsys/filled.py": "tables and columns that the export itself lists, quoted; for SQLite",
    "importers/nsys/source.py": "tables and columns that the export itself lists, quoted; for SQLite",
}
STATEMENT = re.compile(
    r"\s*(select|insert into|update|delete from|create|drop|alter|attach|detach|copy|from|set|pragma|with \w+ as)\s",
    re.IGNORECASE,
)

HEAVY = {"torch", "nvtx", "matplotlib"}
# Derives from a class of one of them, and is therefore as heavy.
MAY_BE_HEAVY = {"reports/charts/svg_renderer.py"}

MODULES = {path.relative_to(PACKAGE).as_posix(): path for path in sorted(PACKAGE.rglob("*.py"))}
every_module = pytest.mark.parametrize("module", MODULES)


class Import(NamedTuple):
    """An imported module; whether it is imported at once, and whether for type checkers only."""

    name: str
    is_at_once: bool
    is_for_types: bool


def tree_of(module: str) -> ast.Module:
    return ast.parse(MODULES[module].read_text("utf-8"))


def imports_of(node: ast.AST, *, at_once: bool = True, for_types: bool = False) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        names: list[str] = []
        if isinstance(child, ast.Import):
            names = [alias.name for alias in child.names]
        elif isinstance(child, ast.ImportFrom):
            assert child.level == 0, "imports are absolute"
            names = [f"{child.module}.{alias.name}" for alias in child.names]
        yield from (Import(name, at_once, for_types) for name in names)
        in_function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
        guarded = isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"
        yield from imports_of(child, at_once=at_once and not in_function, for_types=for_types or guarded)


def imported_by(module: str) -> list[Import]:
    return list(imports_of(tree_of(module)))


def room_of(module: str) -> str:
    """The module or package right below traceq that the file belongs to."""
    return Path(module).parts[0].removesuffix(".py")


def is_or_is_in(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def level_of(room: str) -> int:
    return next(number for number, layer in enumerate(LAYERS) if room in layer)


def test_every_room_has_its_place_in_the_order():
    assert {room_of(module) for module in MODULES} - EVERYTHING_IT_MAY_HOLD == set(), "say in LAYERS where it belongs"


def test_the_order_names_nothing_that_is_not_there():
    assert {name for layer in LAYERS for name in layer} - {room_of(module) for module in MODULES} == set()


@every_module
def test_imports_only_go_back_along_the_pipeline(module):
    room = room_of(module)
    if room == FACADE:
        return
    rooms = {each.name.split(".")[1] for each in imported_by(module) if each.name.startswith("traceq.")}
    # traceq itself has nothing to import but its version.
    later = {other for other in rooms - {"__version__"} if level_of(other) > level_of(room)}
    beside = {other for other in rooms - {"__version__", room} if level_of(other) == level_of(room)}
    assert (later, beside) == (set(), set())


def test_the_package_imports_nothing_by_itself():
    """`import traceq` must not cost an import of duckdb."""
    assert [
        each for each in imported_by("__init__.py") if is_or_is_in(each.name, "traceq") and not each.is_for_types
    ] == []


@every_module
def test_what_is_forbidden_is_not_imported(module):
    forbidden = FORBIDDEN.get(room_of(module), set())
    if module in MAY_NAME_DUCKDB:
        forbidden = forbidden - {"duckdb"}
    found = {each.name for each in imported_by(module) for name in forbidden if is_or_is_in(each.name, name)}
    assert found == set()


@pytest.mark.parametrize("module", sorted(MAY_NAME_DUCKDB))
def test_who_may_name_duckdb_does_so_for_its_types_only(module):
    assert {each.is_for_types for each in imported_by(module) if is_or_is_in(each.name, "duckdb")} == {True}


@pytest.mark.parametrize("format_", sorted(path.parent.name for path in (PACKAGE / "importers").glob("*/__init__.py")))
def test_a_format_knows_no_other_format(format_):
    own = f"importers/{format_}/"
    imported = {each.name for module in MODULES if module.startswith(own) for each in imported_by(module)}
    foreign = {
        name
        for name in imported
        if is_or_is_in(name, "traceq.importers") and not is_or_is_in(name, f"traceq.importers.{format_}")
    }
    assert foreign == set()


@every_module
def test_nothing_heavy_is_imported_before_it_is_used(module):
    if module in MAY_BE_HEAVY:
        return
    heavy = HEAVY | {f"traceq.{each.removesuffix('.py').replace('/', '.')}" for each in MAY_BE_HEAVY}
    at_once = [each.name for each in imported_by(module) if each.is_at_once and not each.is_for_types]
    assert [name for name in at_once if any(is_or_is_in(name, each) for each in heavy)] == []


def test_a_rule_is_a_file_and_a_file_a_rule():
    files = {Path(module).stem for module in MODULES if Path(module).parent.as_posix() == "rules"}
    assert files - {"__init__", "registry"} == set(RULES)


def composed_sql(tree: ast.Module) -> list[int]:
    """Lines of f-strings, format calls, sums and % that begin like an SQL statement."""
    lines = []
    for node in ast.walk(tree):
        parts: list[ast.expr] = []
        if isinstance(node, ast.JoinedStr):
            parts = node.values[:1] if len(node.values) > 1 else []
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mod):
            parts = [node.left]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
            parts = [node.func.value]
        if any(isinstance(part, ast.Constant) and STATEMENT.match(str(part.value)) for part in parts):
            lines.append(node.lineno)
    return lines


@every_module
def test_sql_is_not_put_together_from_strings(module):
    composed = composed_sql(tree_of(module))
    assert (composed == []) == (module not in MAY_COMPOSE_SQL), composed


@pytest.mark.parametrize(
    "text",
    [
        'f"select {x}"',
        '"select a" f" from {x}"',
        '"insert into " + x',
        '"delete from %s" % x',
        '"Copy {} to".format(x)',
        'f"""\n  with a as (select {x})"""',
    ],
)
def test_composed_sql_is_recognised(text):
    assert composed_sql(ast.parse(text)) == [1]


@pytest.mark.parametrize("text", ['"select 1"', 'f"{x}: no such file"', 'f"selected {x}"', 'f"select nothing"'])
def test_other_text_is_not_taken_for_sql(text):
    assert composed_sql(ast.parse(text)) == []


@every_module
def test_only_the_command_line_prints(module):
    printing = [
        node.lineno
        for node in ast.walk(tree_of(module))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert printing == [] or room_of(module) == "cli"
