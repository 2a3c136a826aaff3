"""A release: the changelog, the wheel and the sdist."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from traceq.common.version import __version__

ROOT = Path(__file__).resolve().parents[1]
KINDS = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")


def release():
    spec = importlib.util.spec_from_file_location("release", ROOT / ".ci" / "release.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CHANGELOG = (
    "# Changelog\n\n## [Unreleased]\n\n## [1.2.0] - 2026-01-02\n\n### Added\n\n- A thing.\n\n## [1.1.0]\n\n- Old.\n"
)


@pytest.mark.parametrize(
    ("tag", "version", "said"),
    [
        ("v1.2.0", "1.2.0", None),
        ("v1.2.1", "1.2.0", "the tag is v1.2.1"),
        ("v1.3.0", "1.3.0", "has no section [1.3.0]"),
        ("v1.1.0", "1.1.0", "has no date"),
    ],
)
def test_a_tag_is_released_only_with_its_version_and_a_dated_section(tag, version, said):
    reason = release().objection(tag, version, CHANGELOG)
    assert (reason is None) if said is None else (said in reason)


def test_the_changelog_keeps_its_form():
    sections = release().sections((ROOT / "CHANGELOG.md").read_text("utf-8"))
    assert next(iter(sections)) == "Unreleased"
    assert __version__ in sections or sections["Unreleased"][1]
    for name, (date, text) in sections.items():
        assert name == "Unreleased" or release().DATE.fullmatch(date or ""), name
        titles = [line.removeprefix("### ") for line in text.splitlines() if line.startswith("### ")]
        assert all(title.split(" ")[0] in KINDS for title in titles), (name, titles)


def test_the_version_stands_in_one_place():
    assert f'__version__ = "{__version__}"' in (ROOT / "traceq" / "common" / "version.py").read_text()
    assert __version__ not in (ROOT / "pyproject.toml").read_text()


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The wheel and the sdist, built without the network from what is installed."""
    pytest.importorskip("build")
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = folder.glob("*.whl")
    (sdist,) = folder.glob("*.tar.gz")
    return wheel, sdist


def test_the_wheel_holds_all_that_the_package_reads(built):
    with zipfile.ZipFile(built[0]) as archive:
        names = set(archive.namelist())
    package = {path for path in (ROOT / "traceq").rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert {str(path.relative_to(ROOT)) for path in package} <= names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not any(name.startswith(("tests/", "docs/")) for name in names)


def test_the_sdist_holds_the_tests_and_the_documentation(built):
    with tarfile.open(built[1]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"README.md", "CHANGELOG.md", "docs/getting-started.md", "tests/test_release.py", "action.yml"} <= names


def test_the_installed_wheel_reports(built, tmp_path):
    target = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--quiet", "--target", str(target)]
    subprocess.run([*pip, str(built[0])], check=True, capture_output=True)
    # Before what is installed of a checkout.
    environment = {**os.environ, "PYTHONPATH": str(target)}
    code = (
        "import traceq, sys; print(traceq.__file__); from traceq.cli import run; sys.argv = ['traceq', 'demo']; run()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(target))
    assert "Fix first: " in done.stdout
