"""Count package code: lines of Python and SQL without blanks, comments and docstrings.

python tests/benchmarks/code_lines.py [CHECKOUT] [--by-room]
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import Counter
from pathlib import Path


def python_lines(text: str) -> int:
    docs: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            and ast.get_docstring(node, clean=False) is not None
        ):
            doc = node.body[0]
            docs |= set(range(doc.lineno, (doc.end_lineno or doc.lineno) + 1))
    code: set[int] = set()
    skipped = {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
        tokenize.ENCODING,
    }
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in skipped:
            code |= set(range(token.start[0], token.end[0] + 1))
    blank = {n for n, line in enumerate(text.splitlines(), 1) if not line.strip()}
    return len(code - docs - blank)


def sql_lines(text: str) -> int:
    return sum(1 for line in text.splitlines() if line.strip() and not line.strip().startswith("--"))


def main() -> None:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".") / "traceq"
    rooms: Counter[str] = Counter()
    for path in root.rglob("*"):
        room = path.relative_to(root).parts[0]
        if path.suffix == ".py":
            rooms["python"] += python_lines(path.read_text())
            rooms[room + " py"] += python_lines(path.read_text())
        elif path.suffix == ".sql":
            rooms["sql"] += sql_lines(path.read_text())
            rooms[room + " sql"] += sql_lines(path.read_text())
    for room, lines in rooms.most_common():
        print(f"{lines:7,} {room}")
    print(f"{rooms['python'] + rooms['sql']:7,} all")


if __name__ == "__main__":
    main()
