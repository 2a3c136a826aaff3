"""List the sentences that the package can print, with their places, for a reader to judge.

    python tools/sentences.py                        # all of them: kind, place (file:line), sentence
    python tools/sentences.py --kind "rule text"     # of one kind only
    python tools/sentences.py --draw 100 --seed 50   # that many, drawn by seed

They are found in the sources, not in output: texts of rules' headers and remedies, manual pages of rules in Python,
docstrings and options of commands, messages of exceptions, other texts in Python and SQL, and texts of HTML templates.
A sentence has at least three words. Where a template or an f-string fills something in stands {its expression}.

What it cannot see: a sentence put together from shorter strings, whose parts it lists apart or not at all; which branches
of a template go together; labels of one or two words; texts of JavaScript; comments of tables and columns, which `traceq
tables` prints. And it lists some texts that only the program reads, as it takes each text of three words for a sentence.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
import sys
import tomllib
from collections.abc import Iterator
from html.parser import HTMLParser
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "traceq"

# Keys of a rule's header that hold texts; the others are names and numbers.
HEADER_TEXTS = frozenset(
    "title finds matters measured try fix reason wrong-if heading remark unknown absent unseen clean doubted refuted".split()
)
# Kinds by the beginning of a file's path in the package; the first that fits.
_KINDS = (
    ("diagnosis", "rule text"),
    ("reports/charts", "chart label"),
    ("reports", "page"),
    ("cli", "help"),
    ("", "note"),
)
# Shorter texts are labels and names.
_LEAST_WORDS = 3
_END = re.compile(r"(?<=[.!?;]) +(?=[A-Z`\"{])|\n{2,}")
_WORD = re.compile(r"(?<![\w{.-])[A-Za-z][a-z']*(?![\w(}=.-]*[\w(}=])")
# What begins a text that only the program reads: a query, a pattern, a path.
_NOT_PROSE = re.compile(
    r"\s*(select|with|insert|create|drop|from|update|delete|where|order by|comment on|set|copy|attach|pragma|\(\?|\^|</?\w)\b",
    re.IGNORECASE,
)
_PATTERN = re.compile(r"\\[wbdsS(.]|\|\(|\$\||\.\*")
_HEADER = re.compile(r"-- ?([a-z-]+):\s*(.*)")
_TAG = re.compile(r"\{%.*?%\}|\{#.*?#\}", re.DOTALL)
_NOT_READ = re.compile(rf"<(script|style).*?</(script|style)>|{_TAG.pattern}", re.DOTALL)
_VALUE = re.compile(r"\{\{-?\s*(.*?)\s*-?\}\}", re.DOTALL)


class Sentence(NamedTuple):
    """A sentence with its kind, its file relative to the root, and the line where its text begins."""

    kind: str
    path: str
    line: int
    text: str


def list_sentences(package: Path = PACKAGE) -> list[Sentence]:
    """Return all sentences of the package, by file and line."""
    readers = {".py": _read_python, ".sql": _read_sql, ".toml": _read_toml, ".html": _read_html}
    found: list[Sentence] = []
    for path in sorted(package.rglob("*.*")):
        # Names that plug-ins may use, and patterns of logs: no text that users read.
        if path.suffix not in readers or path.name == "allowed.toml" or path.parent.name == "patterns":
            continue
        place = path.relative_to(package).as_posix()
        default = next(kind for beginning, kind in _KINDS if place.startswith(beginning))
        texts = sorted(readers[path.suffix](path.read_text("utf-8")), key=itemgetter(1))
        found += [
            Sentence(kind or default, path.relative_to(package.parent).as_posix(), line, sentence)
            for kind, line, text in texts
            for sentence in split_text(text)
        ]
    return found


def split_text(text: str) -> Iterator[str]:
    """Yield the sentences of a text, those of at least three words, with single spaces between the words."""
    if _NOT_PROSE.match(text) or _PATTERN.search(text):
        return
    for part in _END.split(text):
        sentence = re.sub(r"\s+", " ", part).strip()
        if len(_WORD.findall(sentence)) >= _LEAST_WORDS and " " in sentence:
            yield sentence


def _read_python(source: str) -> Iterator[tuple[str, int, str]]:
    """Yield (kind or "", line, text) of the texts in a module: docstrings only of commands and rules."""
    tree = ast.parse(source)
    printed = ast.get_docstring(tree) or ""
    if "What it finds" in printed:
        yield "", 1, printed
    silent = {
        id(node.body[0].value)  # type: ignore[attr-defined]
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and any(
            ".command(" in ast.unparse(each) + "(" for each in node.decorator_list
        ):
            yield "help", node.lineno, ast.get_docstring(node) or ""
    yield from _read_texts(tree, "", silent)


def _read_texts(node: ast.AST, kind: str, silent: set[int]) -> Iterator[tuple[str, int, str]]:
    """Yield the texts at and below a node; those below `raise` are errors, and those with an id in `silent` are left out."""
    if id(node) in silent:
        return
    if isinstance(node, ast.Raise):
        kind = "error"
    if isinstance(node, ast.Constant | ast.JoinedStr):
        if text := _text_of(node):
            yield kind, node.lineno, text
        return
    for child in ast.iter_child_nodes(node):
        yield from _read_texts(child, kind, silent)


def _text_of(node: ast.Constant | ast.JoinedStr) -> str:
    """Return the text of a literal, with {the expression} where an f-string fills one in; "" if it is no text."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    parts = [
        f"{{{ast.unparse(part.value)}}}" if isinstance(part, ast.FormattedValue) else str(part.value)  # type: ignore[attr-defined]
        for part in node.values
    ]
    return "".join(parts)


def _read_sql(source: str) -> Iterator[tuple[str, int, str]]:
    """Yield ("", line, text) of the texts in a rule's header, and of literals of the statements below."""
    texts: list[tuple[str, int, str]] = []
    lines = source.splitlines()
    body = next((number for number, line in enumerate(lines) if not line.startswith("--")), len(lines))
    for number, line in enumerate(lines[:body], 1):
        if match := _HEADER.match(line):
            texts.append((match[1], number, match[2]))
        elif texts:
            key, at, before = texts[-1]
            texts[-1] = key, at, f"{before} {line.removeprefix('--').strip()}"
    for key, number, text in texts:
        if key in HEADER_TEXTS:
            for part in _TAG.split(text):
                yield "", number, _VALUE.sub(r"{\1}", part)
    statements = "\n".join("" if line.lstrip().startswith("--") else line for line in lines[body:])
    for match in re.finditer(r"'((?:[^']|'')*)'", re.sub(r"(?m) -- .*$", "", statements)):
        is_comment = re.search(r"comment on [^;]*\bis\s+$", statements[: match.start()][-300:])
        if not is_comment:
            yield "", body + statements[: match.start()].count("\n") + 1, match[1].replace("''", "'")


def _read_toml(source: str) -> Iterator[tuple[str, int, str]]:
    """Yield ("", line, text) of the texts in a file of remedies."""
    lines = source.splitlines()
    at = 0
    for entries in tomllib.loads(source).values():
        for text in (text for text in entries.values() if isinstance(text, str)):
            at = next((number for number in range(at + 1, len(lines) + 1) if text[:40] in lines[number - 1]), at)
            yield "", at, text


class _Texts(HTMLParser):
    """Collects the texts of a page with their lines: those between tags, and labels in attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, int, str]] = []

    def handle_starttag(self, _tag: str, attrs: list[tuple[str, str | None]]) -> None:
        texts = [value for name, value in attrs if value and name in ("aria-label", "title", "alt", "placeholder")]
        self.found += [("", self.getpos()[0], text) for text in texts]

    def handle_data(self, data: str) -> None:
        self.found.append(("", self.getpos()[0], data.strip()))


def _read_html(source: str) -> Iterator[tuple[str, int, str]]:
    """Yield ("", line, text) of the texts of a template of Jinja for a page, or for blocks of one."""
    without_tags = _NOT_READ.sub(lambda match: "\n" * match[0].count("\n"), source)
    texts = _Texts()
    texts.feed(_VALUE.sub(r"{\1}", without_tags))
    yield from texts.found


def main() -> int:
    """Print the sentences asked for, one a line; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", choices=sorted({*(kind for _, kind in _KINDS), "error"}))
    parser.add_argument("--draw", type=int, metavar="N")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    found = [each for each in list_sentences() if options.kind in (None, each.kind)]
    if options.draw is not None:
        chosen = random.Random(options.seed).sample(range(len(found)), min(options.draw, len(found)))  # noqa: S311
        found = [found[index] for index in sorted(chosen)]
    for each in found:
        print(f"{each.kind}\t{each.path}:{each.line}\t{each.text}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
