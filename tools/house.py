"""Count what a stranger stumbles over in the package, and compare it with ceilings that only fall.

    python tools/house.py [FOLDER ...]         # counts of the package, or of some of its folders
    python tools/house.py --list HABIT [FOLDER ...]   # every place of one habit: one_word, participle, ...
    python tools/house.py --check              # exit 1 where a count is above its ceiling in tools/ceilings.json
    python tools/house.py --lower              # lower the ceilings to today's counts

Code lines are those of tests/benchmarks/code_lines.py. docs/decisions says why a ceiling was raised.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CEILINGS = ROOT / "tools" / "ceilings.json"

# One word is enough for a function where it is an imperative verb of the field.
VERBS = frozenset(
    "abort add align allocate append apply assign attach bisect bound build cancel check choose claim clamp clean clear"
    " clip close collect combine commit compare compile complete compress compute connect convert copy count create"
    " decode decompress dedent delete describe detach diff divide download draw drop dump emit encode enter escape"
    " estimate evaluate execute exit expand explain export extend extract fail fetch fill filter find finish fit flush"
    " fold follow forget format freeze gather generate grade group guess handle hash highlight import indent index infer"
    " ingest insert install interpolate interrupt join judge keep kill label launch limit link list load locate lock"
    " log look lookup main make map mark match measure merge migrate move name normalize number open order pack pad"
    " parse pick plan plot prepare print profile publish push put quote raise rank read record redact reduce refuse"
    " register release remember remove rename render repair replace replay report request require resample resolve"
    " restore retry return rewind round run sample save scale scan search select send serve set shorten show shrink"
    " simulate skip sleep sniff solve sort split stage start stop store strip submit subtract sum summarize sweep"
    " tabulate take test time tokenize train transform translate trim truncate try unlock unpack update upload validate"
    " verify wait walk warn watch weigh wrap write yield".split()
)
_IRREGULAR = frozenset(
    "asked begun bound bought broken brought built chosen done drawn drawn fallen felt found given gone grown held"
    " hidden kept known laid left lent lost made meant met paid said seen sent shown spent stood"
    " taken thought thrown told torn understood won worn written".split()
)
# Finite verbs and prepositions that are no name of a value or an action.
_NOT_PARTICIPLES = frozenset(
    "bed embed exceed feed need need_of proceed seed speed succeed cut put read set shut split".split()
)

_HABITS = {
    "what_docstring": re.compile(r"^(What|Of what|Where|Whose|How|The same|So many|Which|Whatever)\b"),
    "riddle": re.compile(
        r"\b(so many|the same for|where there is none|is no [a-z]+ of|of what|what is not|nothing else than|"
        r"that it is|as it were|makes of it|goes by)\b",
        re.IGNORECASE,
    ),
}


def places(folders: list[Path]) -> dict[str, list[str]]:
    """Return, by habit, each place (`path:line name`) of it in the Python files below `folders`."""
    found: dict[str, list[str]] = defaultdict(list)
    classes: dict[str, list[str]] = defaultdict(list)
    for path in (file for file in _files(folders) if file.suffix == ".py"):
        where = path.relative_to(ROOT)
        found["modules"].append(str(where))
        for node in ast.walk(ast.parse(path.read_text())):
            place = f"{where}:{getattr(node, 'lineno', 1)}"
            if isinstance(node, ast.ClassDef):
                classes[node.name.strip("_")].append(f"{place} {node.name}")
            for habit, example in _habits(node):
                found[habit].append(f"{place} {example}")
    for same in classes.values():
        found["repeated_class"] += same[1:]
    return found


def _habits(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield each habit of a node of the syntax tree, with the name or text that shows it."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield "functions", node.name
        for habit in _habits_of_name(node.name):
            yield habit, node.name
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        text = ast.get_docstring(node) or ""
        for habit, pattern in _HABITS.items():
            if pattern.search(text):
                yield habit, f"{text!r:.100}"
    if isinstance(node, ast.For | ast.comprehension) and isinstance(node.target, ast.Name) and node.target.id == "each":
        yield "each", "each"


def _files(folders: list[Path]) -> list[Path]:
    """Return all files in and below the folders, sorted."""
    return sorted(file for folder in folders for file in ([folder] if folder.is_file() else folder.rglob("*.*")))


def _habits_of_name(name: str) -> Iterator[str]:
    """Yield each habit of a function's name: one word, no verb, a participle."""
    words = name.strip("_").split("_")
    if name.startswith("__"):
        return
    if len(words) == 1:
        yield "one_word"
        if words[0] not in VERBS:
            yield "one_word_no_verb"
    if words[0] in _IRREGULAR or re.fullmatch(r"[a-z]{3,}ed", words[0]):
        yield "participle"


def counts(folders: list[Path]) -> dict[str, int]:
    """Return how many places each habit has below `folders`, and their code lines."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "benchmarks"))
    from code_lines import python_lines, sql_lines

    result = {habit: len(found) for habit, found in sorted(places(folders).items())}
    files = [(file.suffix, file.read_text()) for file in _files(folders) if file.suffix in (".py", ".sql")]
    result["code_lines"] = sum(python_lines(text) if suffix == ".py" else sql_lines(text) for suffix, text in files)
    return result


def above_ceilings(today: dict[str, int]) -> list[str]:
    """Return a line of text for each count of `today` (by habit) that is above its ceiling."""
    ceilings = json.loads(CEILINGS.read_text())
    above = {name: most for name, most in ceilings.items() if today.get(name, 0) > most}
    return [f"{name}: {today[name]:,} of at most {most:,}" for name, most in above.items()]


def main() -> int:
    """Print counts or places, or compare with the ceilings; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path, default=[ROOT / "traceq"])
    parser.add_argument("--list", metavar="HABIT")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--lower", action="store_true")
    options = parser.parse_args()
    folders = [folder.resolve() for folder in options.folders]
    if options.list:
        print("\n".join(places(folders)[options.list]))
        return 0
    today = counts(folders)
    if options.lower:
        ceilings = json.loads(CEILINGS.read_text()) if CEILINGS.exists() else {}
        CEILINGS.write_text(json.dumps({k: min(v, ceilings.get(k, v)) for k, v in today.items()}, indent=2) + "\n")
    elif options.check:
        above = above_ceilings(today)
        print("\n".join(above) or "no count is above its ceiling")
        return 1 if above else 0
    else:
        print("\n".join(f"{value:7,} {habit}" for habit, value in today.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
