"""Where matplotlib keeps its list of fonts: at home, or where that cannot be written in scratch of traceq's.

By itself it then says so in three lines, and makes a folder that a signal leaves behind.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path

from traceq.common.scratch import temporary_folder

_SETTING = "MPLCONFIGDIR"
_AT_HOME = {"XDG_CONFIG_HOME": ".config", "XDG_CACHE_HOME": ".cache"}


@cache
def import_matplotlib() -> None:
    """Import what looks for these files; once imported it does not look again."""
    if _SETTING in os.environ or not sys.platform.startswith("linux") or _is_at_home():
        import matplotlib.font_manager
        import matplotlib.style

        return
    with temporary_folder() as place:
        os.environ[_SETTING] = str(place)
        try:
            import matplotlib.font_manager
            import matplotlib.style  # noqa: F401
        finally:
            del os.environ[_SETTING]


def _is_at_home() -> bool:
    try:
        for variable, name in _AT_HOME.items():
            place = Path(os.environ.get(variable) or Path.home() / name) / "matplotlib"
            place.mkdir(parents=True, exist_ok=True)
            if not os.access(place, os.W_OK | os.X_OK):
                return False
    except (OSError, RuntimeError):  # nobody has a home
        return False
    return True
