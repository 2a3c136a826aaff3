"""The list of dependencies and licences (.ci/sbom.py) holds all that is declared, each with a version and a licence."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from test_packaging import DEPENDENCIES

ROOT = Path(__file__).resolve().parents[1]

# Licences that ask for nothing of a program that only uses the package, by words of their names.
FREE = (
    "MIT",
    "BSD",
    "Apache",
    "PSF",
    "Python Software",
    "HPND",
    "CNRI",
    "MPL",
    "Mozilla",
    "ISC",
    "Unlicense",
    "0BSD",
    "matplotlib",
)


@pytest.fixture(scope="module")
def listed():
    done = subprocess.run([sys.executable, ROOT / ".ci" / "sbom.py"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_it_is_a_cyclonedx_document_of_traceq(listed):
    assert (listed["bomFormat"], listed["specVersion"]) == ("CycloneDX", "1.5")
    assert listed["metadata"]["component"]["name"] == "traceq-perf"
    names = [each["name"] for each in listed["components"]]
    assert names == sorted(set(names))
    assert {name.lower() for name in DEPENDENCIES} <= set(names)
    assert {each["ref"] for each in listed["dependencies"]} == {"traceq-perf", *names}


def test_each_has_a_version_and_a_licence_that_lets_it_be_used(listed):
    for each in listed["components"]:
        assert each["purl"] == f"pkg:pypi/{each['name']}@{each['version']}"
        (licence,) = each["licenses"]
        said = licence.get("expression") or licence["license"]["name"]
        assert any(word.lower() in said.lower() for word in FREE), (each["name"], said)
