"""Starting quickly: keeping a process from importing what it has no use for."""

from __future__ import annotations

import sys


class _NoPandas:
    """An import hook that finds no pandas."""

    @staticmethod
    def find_spec(name: str, _path: object = None, _target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("this process does without pandas", name=name)


def do_without_pandas() -> None:
    """Make pandas look absent, for processes of traceq's own that hand out no data frames.

    Arrow imports pandas, where there is one, to see whether what it is given is a data frame: 0.4 s of every start.
    """
    sys.meta_path.insert(0, _NoPandas())
