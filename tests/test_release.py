"""A release: the changelog, the wheel and the sdist."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tarfile
import zipfile
from collections import Counter
from pathlib import Path

import pytest
import yaml
from hatchling.metadata.core import ProjectMetadata
from hatchling.plugin.manager import PluginManager

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


def test_the_changelog_is_readable_and_has_no_change_twice():
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert [line for line in text.splitlines() if len(line) > 120] == []
    entries = [" ".join(each.split()) for each in re.split(r"^- ", text, flags=re.MULTILINE)[1:]]
    assert [begin for begin, times in Counter(each[:50] for each in entries).items() if times > 1] == []


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The wheel and the sdist."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = folder.glob("*.whl")
    (sdist,) = folder.glob("*.tar.gz")
    return wheel, sdist


def test_the_files_carry_the_name_of_the_distribution(built):
    assert [each.name for each in built] == [
        f"traceq_perf-{__version__}-py3-none-any.whl",
        f"traceq_perf-{__version__}.tar.gz",
    ]


def test_the_wheel_holds_all_that_the_package_reads(built):
    with zipfile.ZipFile(built[0]) as archive:
        names = set(archive.namelist())
    package = {path for path in (ROOT / "traceq").rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert {str(path.relative_to(ROOT)) for path in package} <= names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert {name.partition("/")[0] for name in names} == {"traceq", f"traceq_perf-{__version__}.dist-info"}


def test_the_sdist_holds_the_tests_the_documentation_and_what_builds_it(built):
    with tarfile.open(built[1]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert names >= {
        *("README.md", "CHANGELOG.md", "docs/getting-started.md", "tests/test_release.py", "action.yml"),
        "tools/metadata_hook.py",
    }


def metadata():
    """The metadata as a build computes them."""
    return ProjectMetadata(str(ROOT), PluginManager()).core


def relative_links(text):
    return re.findall(r"!?\[[^\]]*\]\((?!https?:)[^)]*\)", text)


def test_without_a_repository_the_description_has_no_link_that_leads_nowhere(monkeypatch):
    monkeypatch.delenv("TRACEQ_REPOSITORY_URL", raising=False)
    monkeypatch.setenv("GITHUB_REPOSITORY", "somebody/else")  # installed in somebody's workflow
    found = metadata()
    assert found.urls == {}
    assert relative_links((ROOT / "README.md").read_text("utf-8"))
    assert relative_links(found.readme) == []
    assert "](" not in found.readme
    assert "The page of the demo trace" in found.readme
    assert "docs/accuracy.md" in found.readme


def test_a_release_links_to_its_tag(monkeypatch):
    monkeypatch.setenv("TRACEQ_REPOSITORY_URL", "https://git.example/o/r/")
    found = metadata()
    assert found.readme_content_type == "text/markdown"
    assert set(found.urls) == {"Homepage", "Documentation", "Changelog", "Issues"}
    assert relative_links(found.readme) == []
    tag = f"v{__version__}"
    assert f"(https://git.example/o/r/raw/{tag}/docs/pictures/report.png)" in found.readme
    linked = re.findall(rf"\(https://git.example/o/r/(?:raw|blob)/{tag}/([^)#]+)", found.readme)
    linked += [each.partition(f"/blob/{tag}/")[2] for each in found.urls.values() if "/blob/" in each]
    assert [path for path in linked if not (ROOT / path).exists()] == []


def test_the_release_workflow_says_where_the_repository_is():
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text("utf-8"))
    (build,) = (step for step in workflow["jobs"]["build"]["steps"] if step.get("name") == "Build")
    assert build["env"] == {"TRACEQ_REPOSITORY_URL": "${{ github.server_url }}/${{ github.repository }}"}
