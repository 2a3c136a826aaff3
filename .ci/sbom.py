"""Print what traceq needs to run, with versions and licences, as a CycloneDX 1.5 document in JSON: .ci/sbom.py [EXTRA...].

What is installed here is listed, so run it where traceq is installed with nothing else: pip install -c constraints.txt traceq.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

_ROOT = "traceq"
_PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"


def document(extras: set[str]) -> dict[str, object]:
    """The document: traceq, and a component for each package that it or one of these needs here."""
    found: dict[str, Distribution] = {}
    needs: dict[str, list[str]] = {}
    left = [(_ROOT, frozenset(extras))]
    while left:
        name, wanted = left.pop()
        if name in needs:
            continue
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:
            continue  # for another system or version of Python
        required = [*map(Requirement, (found[name].requires or ()) if name != _ROOT else _declared(extras))]
        used = [each for each in required if _is_used(each, wanted)]
        needs[name] = sorted({_canonical(each.name) for each in used})
        left += [(_canonical(each.name), frozenset(each.extras)) for each in used]
    root = found.pop(_ROOT)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": _component(_ROOT, root)},
        "components": [_component(name, found[name]) for name in sorted(found)],
        "dependencies": [
            {"ref": name, "dependsOn": [each for each in needs[name] if each in needs]} for name in sorted(needs)
        ],
    }


def _declared(extras: set[str]) -> list[str]:
    """What this checkout declares: what is installed may be older."""
    project = tomllib.loads(_PROJECT.read_text())["project"]
    return [*project["dependencies"], *(each for extra in extras for each in project["optional-dependencies"][extra])]


def _is_used(requirement: Requirement, extras: frozenset[str]) -> bool:
    marker = requirement.marker
    return marker is None or any(marker.evaluate({"extra": extra}) for extra in {"", *extras})


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _component(name: str, found: Distribution) -> dict[str, object]:
    return {
        "type": "library",
        "bom-ref": name,
        "name": name,
        "version": found.version,
        "purl": f"pkg:pypi/{name}@{found.version}",
        "licenses": [_licence(found)],
    }


def _licence(found: Distribution) -> dict[str, object]:
    """What the package says: an expression, else its classifiers, else the field of old, which may be the whole text."""
    if expression := found.metadata.get("License-Expression"):
        return {"expression": expression}
    classified = [
        each.rpartition(" :: ")[2]
        for each in found.metadata.get_all("Classifier") or ()
        if each.startswith("License ::")
    ]
    said = (found.metadata.get("License") or "").strip().splitlines()
    return {"license": {"name": " and ".join(classified) or (said[0] if said else "not said")}}


if __name__ == "__main__":
    json.dump(document(set(sys.argv[1:])), sys.stdout, indent=2)
    sys.stdout.write("\n")
