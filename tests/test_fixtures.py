"""The fixtures are what their makers write, are small, and each is explained in fixtures/README.md."""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FIXTURES = ROOT / "fixtures"
DEMO = ROOT / "traceq" / "app" / "demo" / "training.pt.trace.json.gz"
OUTCOME = re.compile(r"ok|error: [a-z-]+|note: [a-z0-9_]+(; note: [a-z0-9_]+)*")


def described(folder: str) -> dict[str, list[str]]:
    """File name -> the other cells of its line in the README section of a folder."""
    readme = (FIXTURES / "README.md").read_text(encoding="utf-8")
    section = readme.split(f"## {folder}: ")[1].split("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ")]
    return {name: cells for name, *cells in rows if name != "file"}


def files(folder: str) -> dict[str, Path]:
    return {path.name: path for path in sorted((FIXTURES / folder).iterdir())}


def content(path: Path) -> bytes:
    """Bytes of a file; unpacked where that is possible, because another zlib may pack them differently."""
    data = path.read_bytes()
    try:
        return gzip.decompress(data)
    except (OSError, EOFError):
        return data


@pytest.fixture(scope="module")
def rewritten(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rewritten")
    subprocess.run([sys.executable, FIXTURES / "make" / "write.py", folder], check=True, capture_output=True)
    return folder


@pytest.mark.parametrize("folder", ["run", "broken", "inspector"])
def test_every_fixture_has_a_line_in_the_readme_and_every_line_a_fixture(folder):
    assert set(described(folder)) == set(files(folder))


def test_outcomes_are_machine_readable():
    assert [cells for cells in described("broken").values() if not OUTCOME.fullmatch(cells[1])] == []


def test_no_fixture_lies_outside_the_described_folders():
    assert {path.name for path in FIXTURES.iterdir()} == {
        "README.md",
        "broken",
        "compile_logs",
        "history",
        "inspector",
        "hangs",
        "lab",
        "make",
        "pairs",
        "programs",
        "release_0_1",
        "run",
        "run_logs",
    }


def test_writing_again_gives_the_same_files(rewritten):
    written = [path for path in rewritten.rglob("*") if path.is_file()]
    different = [
        str(path.relative_to(rewritten))
        for path in written
        if content(path) != content(ROOT / path.relative_to(rewritten))
    ]
    assert different == []
    assert (
        len(written) == len(files("run")) + len(files("broken")) + len(files("history")) + len(files("inspector")) + 2
    )  # README.md and the demo trace


def test_fixtures_are_small():
    small = [
        *files("run").values(),
        *files("broken").values(),
        *files("release_0_1").values(),
        *files("pairs").values(),
    ]
    assert [path.name for path in small if path.stat().st_size >= 250_000] == []
    assert sum(path.stat().st_size for path in small) < 1_800_000
    assert sum(path.stat().st_size for path in files("history").values()) < 200_000
    assert DEMO.stat().st_size < 200_000
