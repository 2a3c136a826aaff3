"""What the terminal that a command writes to can show."""

from __future__ import annotations

import os
import shutil
import sys

# Where nothing says how wide lines may be: in files and pipes.
_WIDTH = 100


def terminal() -> tuple[int, bool]:
    """The columns that stdout has, and whether it shows colours.

    COLUMNS says how wide it is, whatever it is. NO_COLOR forbids colours, FORCE_COLOR (but for 0) demands them;
    else there are colours on a terminal that is not dumb.
    """
    is_terminal = sys.stdout.isatty()
    said = os.environ.get("COLUMNS", "")
    if said.isdecimal() and int(said):
        width = int(said)
    else:
        width = shutil.get_terminal_size((_WIDTH, 0)).columns if is_terminal else _WIDTH
    return width, _colours(is_terminal=is_terminal)


def _colours(*, is_terminal: bool) -> bool:
    # Of both, NO_COLOR wins: so it does in Python itself.
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return is_terminal and os.environ.get("TERM") != "dumb"
