"""What the package imports is what it declares, and the lowest versions declared are the ones that are tested."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from traceq.common.extras import _REQUIREMENTS, install_command

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
FLOORS = (ROOT / "constraints-floors.txt").read_text()

ONLY_FOR_SHELL = ROOT / "traceq" / "cli" / "_prompt.py"
ONLY_FOR_AGENTS = {ROOT / "traceq" / "cli" / name for name in ("mcp.py", "_mcp_http.py", "_mcp_lines.py")}
ONLY_FOR_FIGURES = ROOT / "traceq" / "reports" / "charts" / "figure.py"
ONLY_FOR_FRAMES = ROOT / "traceq" / "app" / "frames.py"
ONLY_FOR_CLUSTERS = ROOT / "traceq" / "dataset" / "cluster.py"
ONLY_FOR_MONITORS = {ROOT / "traceq" / "capture" / each for each in ("monitor.py", "snapshot/machine.py")}
# Distribution to the module that it brings, where the two differ.
MODULES = {"nvidia-ml-py": "pynvml"}


def names(requirements):
    return {re.split(r"[^\w-]", each)[0] for each in requirements}


DEPENDENCIES = names(PROJECT["dependencies"])
SHELL = names(PROJECT["optional-dependencies"]["shell"])
TORCH = names(PROJECT["optional-dependencies"]["torch"])
MCP = names(PROJECT["optional-dependencies"]["mcp"])
PLOTS = names(PROJECT["optional-dependencies"]["plots"])
FRAMES = names(PROJECT["optional-dependencies"]["frames"])
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
            elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("import_module", "import_extra"):
                modules = [each.value for each in node.args[:1] if isinstance(each, ast.Constant)]
            for module in modules:
                root = module.split(".")[0]
                if root not in sys.stdlib_module_names and root != "traceq":
                    found.setdefault(root.replace("_", "-").lower(), set()).add(path)
    return found


def test_every_package_that_is_imported_is_declared():
    assert imported().keys() - DEPENDENCIES - SHELL - TORCH - MCP - PLOTS - FRAMES - CLUSTER - MONITOR == set()


def test_every_dependency_is_imported():
    assert (DEPENDENCIES | SHELL | MCP | PLOTS | FRAMES | CLUSTER | MONITOR) - imported().keys() == set()


def test_what_only_the_shell_needs_is_imported_by_its_line_editor_only():
    assert {path for name in SHELL for path in imported()[name]} == {ONLY_FOR_SHELL}


def test_what_only_the_server_for_agents_needs_is_imported_by_it_only():
    assert {path for name in MCP for path in imported()[name]} == ONLY_FOR_AGENTS


def test_what_only_figures_and_frames_need_is_imported_when_they_are_made_only():
    """Names of types are imported for checkers of types, too."""
    assert imported()["matplotlib"] == {ONLY_FOR_FIGURES, ROOT / "traceq" / "app" / "plots.py"}
    assert ONLY_FOR_FRAMES in imported()["pandas"]


def installed_with(requirements):
    """The distributions that installing these brings, of those in this environment; extras are left out."""
    found, left = {}, [Requirement(each) for each in requirements]
    while left:
        requirement = left.pop()
        if requirement.name in found or not (requirement.marker is None or requirement.marker.evaluate({"extra": ""})):
            continue
        found[requirement.name] = distribution(requirement.name)
        left += [Requirement(each) for each in found[requirement.name].requires or ()]
    return found


def test_text_pages_and_sql_need_neither_figures_nor_frames_nor_pytorch():
    """A reporter weighed 588 MB, with matplotlib and pandas (D17); as much of it as this machine has is counted here."""
    brought = installed_with(PROJECT["dependencies"])
    assert not {"matplotlib", "pandas", "torch", "mcp"} & brought.keys()
    bytes_of = {name: sum(file.size or 0 for file in each.files or ()) for name, each in brought.items()}
    assert sum(bytes_of.values()) < 420e6, bytes_of


def test_what_only_clusters_need_is_imported_by_their_module_only():
    assert {path for name in CLUSTER for path in imported()[name]} == {ONLY_FOR_CLUSTERS}


def test_what_only_samples_the_machine_is_imported_there_only():
    assert {path for name in MONITOR for path in imported()[name]} == ONLY_FOR_MONITORS


EXTRAS = [
    each
    for extra in ("shell", "mcp", "plots", "frames", "cluster", "s3", "pyspy", "monitor")
    for each in PROJECT["optional-dependencies"][extra]
]


@pytest.mark.parametrize("requirement", PROJECT["dependencies"] + EXTRAS)
def test_the_lowest_version_declared_is_the_one_tested(requirement):
    name, low = re.match(r"([\w-]+)>=([\d.]+)", requirement).groups()
    tested = re.search(rf"^{name}==([\d.]+)$", FLOORS, re.MULTILINE)[1]
    assert re.fullmatch(rf"{re.escape(low)}(\.0)*", tested)


def test_nothing_but_dependencies_and_extras_has_a_floor():
    assert set(re.findall(r"^([\w-]+)==", FLOORS, re.MULTILINE)) == DEPENDENCIES | names(EXTRAS)


@pytest.mark.parametrize("extra", _REQUIREMENTS)
def test_the_command_that_messages_show_installs_what_the_extra_declares(extra):
    named = install_command(extra).removeprefix("pip install ").split()
    assert [each.strip("'") for each in named] == PROJECT["optional-dependencies"][extra]


# --- what a plain installation weighs

# MB, of Linux on x86-64: pyarrow 176, NumPy 71, DuckDB 70, ADBC 20, nvtx 11, rich with Pygments 12, all else 7. The extras plots
# and frames bring matplotlib and pandas.
MOST_MEGABYTES = 400


def needed(name, found):
    """Add the distribution and what it needs itself, without extras, to `found`, with the bytes of its files."""
    made = distribution(name)
    key = re.sub(r"[-_.]+", "-", made.metadata["Name"].lower())
    if key not in found:
        found[key] = sum(path.stat().st_size for each in made.files or () if (path := Path(each.locate())).exists())
        for requirement in made.requires or ():
            words = re.match(r"([\w.-]+)[^;]*(?:;(.*))?", requirement)
            # What a marker asks for is there where the marker applies.
            if "extra" not in (words[2] or "") and (words[2] is None or is_installed(words[1])):
                needed(words[1], found)
    return found


def is_installed(name):
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True


def test_a_plain_installation_stays_light():
    found = {}
    for name in DEPENDENCIES:
        needed(name, found)
    assert {"pyarrow", "duckdb", "numpy", "pygments"} <= found.keys()
    assert found.keys() & {"pandas", "matplotlib", "torch", "mcp", "s3fs", "distributed", "prompt-toolkit"} == set()
    heavy = {name: size // 1_000_000 for name, size in found.items() if size >= 1_000_000}
    assert sum(found.values()) / 1e6 < MOST_MEGABYTES, heavy


# --- what texts tell to install

CONSTRAINED = set(re.findall(r"^([\w.-]+)==", (ROOT / "constraints.txt").read_text().lower(), re.MULTILINE))
# Projects of others that are not among the dependencies.
OTHERS = {"adlfs", "atheris", "check-jsonschema", "gcsfs", "holistictraceanalysis", "notebook", "pip-audit"}
TAKE_A_VALUE = {"-c", "-r", "--constraint", "--requirement"}
WORD = re.compile(r"""'([^']*)'|"([^"]*)"|([^\s'"`;&|#)\\]+)""")


def installed(line):
    """Return the packages that `pip install`, `pipx install` and `uvx --from` commands in a line install."""
    for begin in re.finditer(r"""(?:\bpipx?\b["']? install|\buvx --from) """, line):
        at, ends, skips = begin.end(), False, False
        while not ends and (word := WORD.match(line, at)):
            at = word.end() + 1
            bare = (word[3] or "").rstrip(",:") if word[3] != "." else "."
            bare = bare if bare == "." else bare.rstrip(".")
            # Prose goes on after a quoted word that no space follows, and after a word with a comma or a full stop.
            ends = line[word.end() : at] != " " or (word[3] is not None and bare != word[3]) or "uvx" in begin[0]
            named = word[1] or word[2] or bare
            if named and not skips and not named.startswith("-"):
                yield named
            skips = named in TAKE_A_VALUE


def is_ours_or_a_dependency(named):
    place = named.partition("[")[0]
    if place.endswith(".whl"):
        return re.fullmatch(r"(?:\S*/)?traceq_perf-(?:\*|[\d.]+-py3-none-any)\.whl", place) is not None
    if place.startswith((".", "/", "$", "{")):
        return True
    name = re.split(r"[<>=!~]", place)[0].lower().replace("_", "-")
    return name in CONSTRAINED | OTHERS


def lines_on_installing():
    """Path with number, and text, of the lines in what users and CI read that may name a distribution to install."""
    folders = ("docs", "traceq", "fixtures/make", ".ci", ".github")
    files = [*ROOT.glob("*.*"), *(path for folder in folders for path in (ROOT / folder).rglob("*"))]
    kinds = {"", ".md", ".yml", ".yaml", ".txt", ".py", ".toml", ".sql", ".html", ".ipynb"}
    for path in files:
        text = path.read_text("utf-8") if path.is_file() and path.suffix in kinds else ""
        if " install " in text or "uvx" in text or "traceq[" in text or "traceq==" in text:
            yield from ((f"{path.relative_to(ROOT)}:{n}", line) for n, line in enumerate(text.splitlines(), 1))


def test_no_text_tells_to_install_what_is_not_ours():
    """`traceq` on the package index is another project, and traceq-perf is not there yet."""
    lines = list(lines_on_installing())
    found = [(place, named) for place, line in lines for named in installed(line)]
    assert len(found) > 25
    assert [each for each in found if not is_ours_or_a_dependency(each[1])] == []
    other = re.compile(r"\btraceq(?:\[(?:mcp|shell|cluster|s3|monitor|torch|dev)|==)")
    assert [place for place, line in lines if other.search(line)] == []


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("Needs it: pip install 'traceq[mcp]'. An agent starts this", ["traceq[mcp]"]),
        ("- pip install traceq -r requirements.txt", ["traceq"]),
        ("pip install atheris, no dependency; pipx install .", ["atheris", "."]),
        ("\"$X/bin/pip\" install --quiet -c constraints.txt -e '.[dev]' && python", [".[dev]"]),
        ("`uvx --from . traceq demo`, then `pip install dist/traceq-*.whl`", [".", "dist/traceq-*.whl"]),
    ],
)
def test_what_a_line_tells_to_install_is_seen(line, named):
    assert list(installed(line)) == named


def test_names_that_are_not_ours_are_noticed():
    for named in ("traceq", "traceq[mcp]", "traceq==0.1.0", "traceq-perf", "dist/traceq-*.whl", "no-such-thing"):
        assert not is_ours_or_a_dependency(named), named
    for named in (
        ".",
        ".[mcp]",
        "./traceq",
        "dist/traceq_perf-*.whl",
        "dist/traceq_perf-0.1.0-py3-none-any.whl[mcp]",
        "mcp>=2.3,<3",
    ):
        assert is_ours_or_a_dependency(named), named
