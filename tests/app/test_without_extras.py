"""What a plain installation does: ingest, report, SQL and compare, without the packages of any extra, nvtx, and adbc where not
needed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
KINETO, NSYS = (ROOT / "fixtures" / "run" / name for name in ("kineto_2026.json.gz", "nsys_2026.2.sqlite"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
# Distributions whose module has another name.
MODULES = {"nvidia-ml-py": "pynvml", "prompt-toolkit": "prompt_toolkit"}
WANTED = [
    re.split(r"[<>=]", requirement)[0]
    for name, requirements in PROJECT["optional-dependencies"].items()
    for requirement in requirements
    if name != "dev"
]
EXTRAS = ("nvtx", *sorted({MODULES.get(name, name) for name in WANTED}))
ADBC = ("adbc_driver_manager", "adbc_driver_sqlite")

USED = """
import sys, traceq
source, place = sys.argv[1:3]
with traceq.open(source) as traces:
    view = traces.report()
    for name in ("report.html", "report.md", "report.json"):
        view.save(f"{place}/{name}")
    (row,) = traces.sql("select count(*) from kernel").fetchall()
    table = traces.sql("select name, dur from kernel").to_arrow_table()
assert table.num_rows == row[0] > 0
assert traceq.compare(source, source).verdict
print(view.to_text())
"""


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """Run Python, and all processes that it starts, where some modules are not installed."""
    folder = tmp_path_factory.mktemp("plain")

    def run(missing, *arguments):
        place = folder / str(len(missing))
        for name in missing:
            (place / name).mkdir(parents=True, exist_ok=True)
            content = f"raise ModuleNotFoundError('No module named {name}', name={name!r})"
            (place / name / "__init__.py").write_text(content)
        environment = {
            **os.environ,
            "PYTHONPATH": f"{place}{os.pathsep}{ROOT}",
            "TRACEQ_CACHE": str(folder / "cache"),
        }
        return subprocess.run(
            [sys.executable, *map(str, arguments)], capture_output=True, text=True, check=False, env=environment
        )

    return run


@pytest.mark.parametrize(("source", "missing"), [(KINETO, EXTRAS + ADBC), (NSYS, EXTRAS)], ids=["kineto", "nsys"])
def test_commands_and_the_python_api_need_no_extra(source, missing, plain, tmp_path):
    database = tmp_path / "one.duckdb"
    ingest = plain(missing, "-m", "traceq", "ingest", source, "-o", database)
    assert ingest.returncode == 0, ingest.stderr
    for arguments, said in (
        (("report", database), "Fix first"),
        (("sql", database, "select count(*) as n from kernel", "--format", "csv"), '"n"\n'),
        (("sql", database, "select count(*) as n from kernel", "--format", "json"), '"n"'),
        (("compare", database, database), "No change: "),
    ):
        done = plain(missing, "-m", "traceq", *arguments)
        assert (done.returncode, said in done.stdout) == (0, True), (done.stdout, done.stderr)
    used = plain(missing, "-W", "error", "-c", USED, database, tmp_path)
    assert used.returncode == 0, used.stderr
    assert "Fix first" in used.stdout
    assert 'id="t1-step-ledger" role="img"' in (tmp_path / "report.html").read_text("utf-8")
    assert (tmp_path / "report.md").read_text("utf-8").startswith("# traceq report")
    assert json.loads((tmp_path / "report.json").read_text("utf-8"))["traces"]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("report.findings", "data frames need pandas, the extra frames of traceq: pip install 'pandas>=2.2'"),
        ("traceq.compare(source, source).causes", "data frames need pandas"),
        (
            "traceq.plots.gaps(report)",
            "figures and PNG files need matplotlib, the extra plots of traceq: pip install 'matplotlib>=3.8'",
        ),
    ],
)
def test_what_needs_an_extra_says_which_and_how_to_get_it(code, words, plain):
    program = f"import sys, traceq; source = sys.argv[1]; report = traceq.report(source)\ntry: {code}\n"
    done = plain(EXTRAS, "-c", f"{program}except traceq.MissingTool as error: print(error)", KINETO)
    assert done.returncode == 0, done.stderr
    assert words in done.stdout


def test_a_picture_without_matplotlib_is_svg(plain, tmp_path):
    report = plain(EXTRAS, "-m", "traceq", "report", KINETO, "-o", tmp_path / "r.md", "--charts")
    assert report.returncode == 0, report.stderr
    assert "](r-t1-gaps.svg)" in (tmp_path / "r.md").read_text("utf-8")
    assert (tmp_path / "r-t1-gaps.svg").read_bytes().startswith(b'<?xml version="1.0"')


def test_nothing_is_loaded_before_it_is_used(plain):
    modules = {*EXTRAS, *ADBC, "duckdb", "pyarrow"}
    code = f"import sys, traceq; print(sorted({modules!r} & set(sys.modules)))"
    assert plain((), "-c", code).stdout.strip() == "[]"
