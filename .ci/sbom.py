"""Print what traceq needs to run, with versions and licences, as a CycloneDX 1.5 document in JSON: .ci/sbom.py [EXTRA...].

What is installed here is listed, so run it where traceq is installed with nothing else: pip install -c constraints.txt .
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Iterable
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

from traceq.common.version import __version__

_PROJECT = tomllib.loads((Path(__file__).resolve().parents[1] / "pyproject.toml").read_text())["project"]
_ROOT = _PROJECT["name"]


def document(extras: set[str]) -> dict[str, object]:
    """Build the document: traceq, and a component for each package that it needs here, directly or not."""
    found: dict[str, Distribution] = {}
    needs: dict[str, list[str]] = {}
    # What this checkout declares: what is installed of traceq may be older.
    declared = [
        *_PROJECT["dependencies"],
        *(each for extra in extras for each in _PROJECT["optional-dependencies"][extra]),
    ]
    left = _used(_ROOT, declared, frozenset(), needs)
    while left:
        name, wanted = left.pop()
        if name in needs:
            continue
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:
            continue  # for another system or version of Python
        left += _used(name, found[name].requires or (), wanted, needs)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": _component(_ROOT, __version__, {"expression": _PROJECT["license"]})},
        "components": [_component(name, found[name].version, _licence(found[name])) for name in sorted(found)],
        "dependencies": [
            {"ref": name, "dependsOn": [each for each in needs[name] if each in needs]} for name in sorted(needs)
        ],
    }


def _used(
    name: str, declared: Iterable[str], extras: frozenset[str], needs: dict[str, list[str]]
) -> list[tuple[str, frozenset[str]]]:
    """Return the packages (with their extras) that `name` needs here, and note their names in `needs`."""
    used = [each for each in map(Requirement, declared) if _is_used(each, extras)]
    needs[name] = sorted({_canonical(each.name) for each in used})
    return [(_canonical(each.name), frozenset(each.extras)) for each in used]


def _is_used(requirement: Requirement, extras: frozenset[str]) -> bool:
    marker = requirement.marker
    return marker is None or any(marker.evaluate({"extra": extra}) for extra in {"", *extras})


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _component(name: str, version: str, licence: dict[str, object]) -> dict[str, object]:
    return {
        "type": "library",
        "bom-ref": name,
        "name": name,
        "version": version,
        "purl": f"pkg:pypi/{name}@{version}",
        "licenses": [licence],
    }


def _licence(found: Distribution) -> dict[str, object]:
    """Return the licence of a package: its expression, else its classifiers, else the old field (which may hold a whole text)."""
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
