"""Suggest files whose names are close to that of a missing path."""

from __future__ import annotations

import difflib
import os
from itertools import islice
from pathlib import Path

# A folder of more entries is not looked through to the end.
_MOST_ENTRIES = 10_000
_MOST_SUGGESTIONS = 2
# Of names without their suffixes, which unrelated traces have in common.
_CLOSE = 0.7


def find_near(path: Path) -> list[str]:
    """Return at most two paths beside `path` whose names are close to its name, the closest first."""
    names: dict[str, list[str]] = {}
    try:
        with os.scandir(path.parent) as entries:
            for entry in islice(entries, _MOST_ENTRIES):
                if not entry.name.startswith("."):
                    names.setdefault(_bare_stem(entry.name), []).append(entry.name)
    except OSError:
        return []
    close = difflib.get_close_matches(_bare_stem(path.name), names, n=_MOST_SUGGESTIONS, cutoff=_CLOSE)
    found = [name for stem in close for name in sorted(names[stem])]
    alike = difflib.get_close_matches(path.name, found, n=_MOST_SUGGESTIONS, cutoff=0)
    return [str(path.with_name(name)) for name in alike]


def way_out(path: Path, otherwise: str = "") -> str:
    """Return "; did you mean A or B?" for similar paths, else that the folder is missing, else `otherwise`."""
    if suggestions := find_near(path):
        return f"; did you mean {' or '.join(suggestions)}?"
    return otherwise if path.parent.is_dir() else f": there is no folder {path.parent}"


def _bare_stem(name: str) -> str:
    """Return the file name up to its first dot, in lower case."""
    return name.partition(".")[0].casefold()
