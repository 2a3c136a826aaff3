"""Run docs/getting-started.md as a reader would.

Clone the last commit of this repository into a temporary folder, and run each ```sh block of the page there, word for
word and in order, in one shell. Only what the page installs is on the PATH beside the system's own programs. Comments
before a block say what is expected of it:

<!-- exits: 0, 4 -->  the exit statuses that its last command may end with; 0 without it
<!-- says: TEXT -->   what its output contains, whatever the white space; may be repeated

Exit status 1, with the reason, where a block does something else. Takes two to four minutes on two cores.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
_PAGE = "docs/getting-started.md"
_BLOCK = re.compile(r"(?P<marks>(?:^<!-- [^\n]* -->\n)*)^```sh\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
_MARK = re.compile(r"^<!-- (?P<name>exits|says): (?P<value>.*) -->$", re.MULTILINE)
# Begins the lines that say where a command of the page begins, and what it took.
_SIGN = "\x1e"


@dataclass(frozen=True)
class Block:
    """Commands of the page: the statuses that the last may exit with, and texts that their output contains."""

    commands: tuple[str, ...]
    exits: frozenset[int]
    says: tuple[str, ...]


def blocks(page: str) -> list[Block]:
    """Return the shell blocks of a page, in order."""
    found = []
    for block in _BLOCK.finditer(page):
        marks = [(mark["name"], mark["value"]) for mark in _MARK.finditer(block["marks"])]
        exits = [int(each) for name, value in marks if name == "exits" for each in value.split(",")]
        says = tuple(value for name, value in marks if name == "says")
        commands = re.findall(r"(?:.*\\\n)*.+\n", block["code"])
        found.append(Block(tuple(commands), frozenset(exits or [0]), says))
    return found


def run(page: Sequence[Block], folder: Path, environment: Mapping[str, str]) -> list[str]:
    """Run the blocks in one shell that begins in `folder`, print what they do, and return what went wrong."""
    output = [""] * len(page)
    number, command = 0, ""
    with subprocess.Popen(
        ["bash", "-c", _script(page)],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as shell:
        for line in shell.stdout or ():
            text, sign, said = line.partition(_SIGN)
            if text:
                output[number] += text
                print(f"    {text.rstrip()}", flush=True)
            if sign and " " in said:
                number, place = map(int, said.split())
                command = page[number].commands[place].rstrip("\n")
                print(f"+ {command}", flush=True)
            elif sign:
                print(f"  {said.strip()} s", flush=True)
    if shell.returncode:
        return [f"{command}\n  ended with {shell.returncode}"]
    return [
        f"{block.commands[-1].rstrip()}\n  does not say: {text}"
        for block, written in zip(page, output, strict=True)
        for text in block.says
        if " ".join(text.split()) not in " ".join(written.split())
    ]


def _script(page: Sequence[Block]) -> str:
    """All blocks as one script, which ends at the first command that fails."""
    lines = ["set -e", f"TIMEFORMAT='{_SIGN}%1R'"]
    for number, block in enumerate(page):
        for place, command in enumerate(block.commands):
            last = place == len(block.commands) - 1
            lines += [f"echo '{_SIGN}{number} {place}'", "set +e" if last else "set -e", f"time {{\n{command}}}"]
        allowed = "|".join(map(str, sorted(block.exits)))
        lines += [
            "page_status=$?; set -e",
            f'case $page_status in {allowed}) ;; 0) exit 1 ;; *) exit "$page_status" ;; esac',
        ]
    return "\n".join(lines)


def _environment(folder: Path) -> dict[str, str]:
    """Return this process' environment as a reader has it: without traceq on the PATH, its cache, this Python's paths."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("TRACEQ_", "PYTHON", "VIRTUAL_ENV"))
    }
    path = [each for each in kept["PATH"].split(os.pathsep) if not (Path(each) / "traceq").exists()]
    return {**kept, "PATH": os.pathsep.join(path), "TRACEQ_CACHE": str(folder / "cache"), "COLUMNS": "100"}


def main() -> int:
    """Run the page in a fresh clone."""
    begin = time.monotonic()
    with TemporaryDirectory(prefix="getting-started.") as name:
        clone = Path(name) / "traceq"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        wrong = run(blocks((clone / _PAGE).read_text("utf-8")), clone, _environment(Path(name)))
    print(f"{_PAGE}: {'failed' if wrong else 'runs as it stands'}, {time.monotonic() - begin:.0f} s")
    print(*wrong, sep="\n", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
