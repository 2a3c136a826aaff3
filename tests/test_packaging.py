"""What the package imports is what it declares, and the lowest versions declared are the ones that are tested."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
FLOORS = (ROOT / "constraints-floors.txt").read_text()

# `traceq rules test` runs the labelled traces of a checkout.
OF_A_CHECKOUT = {"labelled"}
ONLY_FOR_SHELL = ROOT / "traceq" / "cli" / "_prompt.py"
ONLY_FOR_AGENTS = ROOT / "traceq" / "cli" / "mcp.py"
ONLY_FOR_CLUSTERS = ROOT / "traceq" / "dataset" / "cluster.py"
ONLY_FOR_MONITORS = {ROOT / "traceq" / "capture" / each for each in ("monitor.py", "snapshot/gpu.py")}
# Distribution to the module that it brings, where the two differ.
MODULES = {"nvidia-ml-py": "pynvml"}


def names(requirements):
    return {re.split(r"[^\w-]", each)[0] for each in requirements}


DEPENDENCIES = names(PROJECT["dependencies"])
SHELL = names(PROJECT["optional-dependencies"]["shell"])
TORCH = names(PROJECT["optional-dependencies"]["torch"])
MCP = names(PROJECT["optional-dependencies"]["mcp"])
CLUSTER = names(PROJECT["optional-dependencies"]["cluster"])
MONITOR = {MODULES.get(each, each) for each in names(PROJECT["optional-dependencies"]["monitor"])}


@cache
def imported():
    """Distribution name -> the files of the package that import it, wherever in the file."""
    found = {}
    for path in (ROOT / "traceq").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            modules = []
            if isinstance(node, ast.Import):
                modules = [each.name for each in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                modules = [node.module]
            elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "import_module":
                modules = [each.value for each in node.args if isinstance(each, ast.Constant)]
            for module in modules:
                root = module.split(".")[0]
                if root not in sys.stdlib_module_names and root != "traceq":
                    found.setdefault(root.replace("_", "-").lower(), set()).add(path)
    return found


def test_every_package_that_is_imported_is_declared():
    assert imported().keys() - DEPENDENCIES - SHELL - TORCH - MCP - CLUSTER - MONITOR - OF_A_CHECKOUT == set()


def test_every_dependency_is_imported():
    assert (DEPENDENCIES | SHELL | MCP | CLUSTER | MONITOR) - imported().keys() == set()


def test_what_only_the_shell_needs_is_imported_by_its_line_editor_only():
    assert {path for name in SHELL for path in imported()[name]} == {ONLY_FOR_SHELL}


def test_what_only_the_server_for_agents_needs_is_imported_by_it_only():
    assert {path for name in MCP for path in imported()[name]} == {ONLY_FOR_AGENTS}


def test_what_only_clusters_need_is_imported_by_their_module_only():
    assert {path for name in CLUSTER for path in imported()[name]} == {ONLY_FOR_CLUSTERS}


def test_what_only_samples_the_machine_is_imported_there_only():
    assert {path for name in MONITOR for path in imported()[name]} == ONLY_FOR_MONITORS


@pytest.mark.parametrize("requirement", PROJECT["dependencies"] + PROJECT["optional-dependencies"]["shell"])
def test_the_lowest_version_declared_is_the_one_tested(requirement):
    name, low = re.match(r"([\w-]+)>=([\d.]+)", requirement).groups()
    tested = re.search(rf"^{name}==([\d.]+)$", FLOORS, re.MULTILINE)[1]
    assert re.fullmatch(rf"{re.escape(low)}(\.0)*", tested)


def test_nothing_else_has_a_floor():
    assert set(re.findall(r"^([\w-]+)==", FLOORS, re.MULTILINE)) == DEPENDENCIES | SHELL
