"""Whether the tests notice small faults: changes one place of the package after another and runs the tests that cover it.

    python tests/benchmarks/mutants.py choose OLD -o places.json
    python tests/benchmarks/mutants.py run OLD places.json -o before.jsonl
    python tests/benchmarks/mutants.py run NEW places.json -o after.jsonl
    python tests/benchmarks/mutants.py table places.json before.jsonl after.jsonl

OLD and NEW are two checkouts, whose folders may differ: a place is found again by its line and the lines around it. The choice
is seeded, and every shelf of the package has its number of places; of a place that NEW no longer has, the next of its shelf
stands in. Works on a copy; a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from measure import tell

# Shelf of the package: paths in either layout, and how many of the 30 places it has.
SHELVES = {
    "importers/nsys": (r"importers/nsys/.*\.py", 2),
    "importers/chrome": (r"importers/chrome/.*\.py", 2),
    "analyses, SQL": (r"(analysis|sql/(analyzers|ingest|views|doctor))/.*\.sql", 4),
    "analyses, Python": (r"(analysis|analyzers)/.*\.py", 2),
    "rules, SQL": (r"(diagnosis/rules|sql/rules)/.*\.sql", 4),
    "rules, Python": (r"(diagnosis/)?rules/.*\.py", 1),
    "diagnosis": (r"(diagnosis|claims)/.*\.py", 2),
    "runs": (r"(runs|comparisons|budgets|tradeoffs|verification)/.*\.py", 3),
    "reports, SQL": (r"(reports/sql|sql/report)/.*\.sql", 1),
    "reports, Python": (r"reports/.*\.py", 2),
    "loading and database": (r"(loading|database|store)/.*\.py", 2),
    "cli": (r"cli/.*\.py", 2),
    "health": (r"health/.*\.py", 1),
    "exports": (r"exports/.*\.py", 1),
    "capture": (r"capture/.*\.py", 1),
}
# Files of tests that cover a file of the package, cheap ones first; the first line that fits counts, {stem} is the file's name.
TESTS = (
    (r"importers/nsys/", "test_nsys_gpu test_nsys_files test_nsys_*"),
    (r"importers/chrome/", "test_chrome_events test_chrome_*"),
    (r"identities/", "test_identities"),
    (r"rules/.*\.(sql|py)$", "test_cases test_claims -k {rules}"),
    (r"diagnosis/(rules_page|manual)", "test_docs test_registry test_user"),
    (
        r"claims/|diagnosis/|sql/judge/",
        "test_serve test_allocat* test_cache test_judg* test_user* test_regis*",
    ),
    (r"reports/.*redact", "test_redact*"),
    (r"reports/.*(chart|drawing|svg|plot|colour|palette)", "test_charts test_timelines test_to_html"),
    (r"reports/.*(check|sarif|junit)", "test_check_*"),
    (r"reports/.*(tradeoff|curve)", "test_tradeoff*"),
    (r"reports/.*compar", "test_comparison_report test_compar*"),
    (r"reports/.*(to_|html|wrap|table_text|markdown)", "test_to_* test_renderers test_timelines"),
    (
        r"reports/|sql/report/",
        "test_compose_* test_renderers test_units test_build* test_timelines test_to_* test_json_schema",
    ),
    (r"(runs/compare|comparisons)/", "test_change_* test_match test_compar* test_error_rates test_cache_runs"),
    (r"budgets/", "test_toml_lines test_evaluate test_read test_check_* test_examples"),
    (r"tradeoffs?/", "test_cost_curve test_durations test_study test_simulated_series test_tradeoff*"),
    (r"(runs|verif\w*)/", "test_cache_runs test_run_items test_verif* test_baseline* test_comparison*"),
    (r"(loading|store)/", "test_schema test_ingest test_unknown test_ingest_command test_atomicity"),
    (r"database/", "test_schema test_ingest test_sql_command test_tables_command test_unknown test_cache"),
    (r"cli/(_?judging|_?progress|_?terminal)", "test_ingest_command test_demo_command test_terminal"),
    (r"cli/_?(prompt|ready|blocks)", "test_shell_command test_sql_command"),
    (r"cli/rules", "test_user* test_registry test_docs"),
    (r"cli/", "test_{stem}* test_endings test_terminal"),
    (r"health/|sql/(doctor|health)/", "test_judges test_identities test_doctor*"),
    (r"exports/|sql/export/", "test_choose test_fit test_trace_file test_export"),
    (r"capture/", "test_plan test_nsys_command test_record* test_profile* test_callbacks test_doctor_source"),
    (r"/(nesting|cpu_slice|host_name|stack|levels)\w*[./]", "test_nesting test_host_* test_parity"),
    (r"/(collective|communication)", "test_collective* test_communication*"),
    (r"/copy_", "test_copy_*"),
    (r"/data_", "test_data_stall*"),
    (r"/(kernel|operator|gpu_model)", "test_kernel_* test_operator_* test_occupancy"),
    (r"/(memory|allocator)", "test_memory*"),
    (r"/(launch|gpu_slice)", "test_launch* test_idle_gap test_shared_device test_waits_for_graphs"),
    (r"/replay", "test_replay test_replay_*"),
    (r"/(step|mark|recur|statistics|throughput)", "test_step test_marks test_outlier* test_recurr*"),
    (r"", "test_device_time test_host_piece test_idle_gap test_last_gap test_missing_input test_analyses test_scenes"),
)
# What facts and rules give stands in whole reports, too.
IN_REPORTS = r"(?!.*(identities|rules_page|doctor|export))(analysis|analyzers|diagnosis|claims|rules|sql)/"
WHOLE_REPORTS = "test_renderers"
NOT_RUN = ("traces", "benchmarks")
SPARE = 3  # for each place so many more of its shelf
NOT_COPIED = (".git", ".venv", "__pycache__", ".*_cache", ".hypothesis")
FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
MASKED_SQL = re.compile(r"--[^\n]*|'(?:[^']|'')*'|\bcomment on\b(?:'(?:[^']|'')*'|[^;'])*;")
CATEGORY = re.compile(r"'(compute|communication|copy_h2d|copy_d2h|copy_other|memset|idle_[a-z_]+)'")
SWAPPED = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "=": "<>", "<>": "=", "and": "or", "or": "and",
    "is": "is not", "is not": "is", "in": "not in", "not in": "in", "+": "-", "-": "+", "*": "+", "/": "*", "//": "*",
    "sum(": "max(", "max(": "min(", "min(": "max(", "left join": "join", "inner join": "left join", "join": "left join",
    "True": "False", "False": "True",
}  # fmt: skip
SQL = {
    "comparison": re.compile(r"(?<= )(<=|>=|<>|<|>|=)(?= )"),
    "arithmetic": re.compile(r"(?<= )[+-](?= )"),
    "aggregate": re.compile(r"\b(sum|max|min)\("),
    "join": re.compile(r"\b(left|inner) join\b|(?<!\w )\bjoin\b"),
    "boolean": re.compile(r"^ *(and|or)\b(?= )", re.MULTILINE),
    "constant": re.compile(r"(?<![\w.$])\d+(?![\w.])"),
}


@dataclass(frozen=True)
class Place:
    """One change: a line of a file (without its indent), the lines around it, and the line that replaces it."""

    shelf: str
    kind: str
    file: str
    number: int
    around: tuple[str, str]
    line: str
    changed: str

    @property
    def name(self) -> str:
        """Of the place in the results."""
        return f"{self.file}:{self.number} {self.changed}"


def of_sql(text: str) -> Iterator[tuple[str, int, int, str]]:
    """Kind, begin and end in the text, and replacement of everything that can be changed in an SQL file."""
    masked = MASKED_SQL.sub(
        lambda found: found[0] if CATEGORY.match(found[0]) else re.sub(r"[^\n]", "_", found[0]), text
    )
    for kind, pattern in SQL.items():
        for found in pattern.finditer(masked):
            begin = found.end() - len(found[0].strip())
            yield kind, begin, found.end(), changed_word(text[begin : found.end()])
    for found in CATEGORY.finditer(masked):
        others = ("idle_python", "idle_sync") if found[1].startswith("idle_") else ("compute", "memset")
        yield "category", found.start(1), found.end(1), others[found[1] == others[0]]


def changed_word(word: str) -> str:
    """The operator that stands in for another, or the next number."""
    return SWAPPED.get(word) or str(int(word, 0) + 1)


def of_python(text: str) -> Iterator[tuple[str, int, int, str]]:
    """The same of a Python file; annotations, decorators and imports for typing stay."""
    encoded = text.encode()
    lines = [0]
    for line in encoded.splitlines(keepends=True):
        lines.append(lines[-1] + len(line))

    def at(line: int, column: int) -> int:
        return len(encoded[: lines[line - 1] + column].decode())

    def span(node: ast.expr) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return at(node.lineno, node.col_offset), at(node.end_lineno, node.end_col_offset)

    for node in changeable(ast.parse(text)):
        match node:
            case ast.Compare(left=left, comparators=[right]):
                yield from between("comparison", text, span(left)[1], span(right)[0])
            case ast.BinOp(left=left, right=right) if not any(isinstance(e, ast.JoinedStr) for e in (left, right)):
                yield from between("arithmetic", text, span(left)[1], span(right)[0])
            case ast.BoolOp(values=[left, right, *_]):
                yield from between("boolean", text, span(left)[1], span(right)[0])
            case ast.Constant(value=bool() | int()):
                begin, end = span(node)
                yield "constant", begin, end, changed_word(text[begin:end])
            case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
                yield "returned value", *span(value), "None"


def between(kind: str, text: str, begin: int, end: int) -> Iterator[tuple[str, int, int, str]]:
    """The operator between two operands, where it is one that can be changed."""
    operator = text[begin:end].strip(" ()")
    if operator in SWAPPED:
        begin = text.index(operator, begin)
        yield kind, begin, begin + len(operator), SWAPPED[operator]


def changeable(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that say what the program does."""
    yield node
    for field, value in ast.iter_fields(node):
        if field in {"annotation", "returns", "decorator_list"}:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not (
                isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test)
            ):
                yield from changeable(child)


def files(tree: Path) -> dict[str, list[str]]:
    """The lines of every file of the package that can be changed, by its path."""
    found = {}
    for path in sorted((tree / "traceq").rglob("*")):
        if path.suffix in {".py", ".sql"} and "__pycache__" not in path.parts:
            found[path.relative_to(tree).as_posix()] = path.read_text("utf-8").split("\n")
    return found


def places(tree: Path) -> Iterator[Place]:
    """Everything that can be changed within a line."""
    for path, lines in files(tree).items():
        shelf = next((name for name, (pattern, _) in SHELVES.items() if re.match(f"traceq/{pattern}$", path)), None)
        if shelf is None:
            continue
        text = "\n".join(lines)
        for kind, begin, end, new in of_sql(text) if path.endswith(".sql") else of_python(text):
            if "\n" in text[begin:end]:
                continue
            number = text.count("\n", 0, begin)
            start = text.rfind("\n", 0, begin) + 1
            changed = f"{lines[number][: begin - start]}{new}{lines[number][end - start :]}"
            yield Place(shelf, kind, path, number + 1, around(lines, number), lines[number].strip(), changed.strip())


def around(lines: list[str], number: int) -> tuple[str, str]:
    """The lines before and after one, without their indent."""
    return (lines[number - 1].strip() if number else "", "".join(lines[number + 1 : number + 2]).strip())


def choose(tree: Path, seed: int) -> list[Place]:
    """The places of every shelf, those that stand in included, in the order in which they are taken."""
    by_shelf: dict[str, dict[str, list[Place]]] = defaultdict(lambda: defaultdict(list))
    every = list(places(tree))
    seen = Counter((place.line, *place.around, place.changed) for place in every)
    for place in every:
        if seen[place.line, *place.around, place.changed] == 1:
            by_shelf[place.shelf][place.kind].append(place)
    chosen = []
    for shelf, (_, number) in SHELVES.items():
        # a stream of its own, so that a shelf's choice does not depend on the others
        rng = random.Random(f"{seed} {shelf}")  # noqa: S311 - repeatable on purpose
        kinds = by_shelf[shelf]
        taken: set[str] = set()
        while len(taken) < number * (1 + SPARE) and kinds:
            kind = rng.choice(sorted(kinds))
            place = kinds[kind].pop(rng.randrange(len(kinds[kind])))
            if not kinds[kind]:
                del kinds[kind]
            if place.file not in taken:
                taken.add(place.file)
                chosen.append(place)
    return chosen


def found(place: Place, package: dict[str, list[str]]) -> tuple[str, int] | None:
    """Where a tree has the place: path and index of the line; None where it does not, or where several lines are as likely."""
    alike: dict[int, list[tuple[str, int]]] = defaultdict(list)
    for path, lines in package.items():
        for number, line in enumerate(lines):
            if line.strip() == place.line and path.endswith(Path(place.file).suffix):
                same = sum(a == b for a, b in zip(around(lines, number), place.around, strict=True))
                alike[2 * same + (Path(path).name == Path(place.file).name)].append((path, number))
    best = max(alike, default=0)
    return alike[best][0] if best and len(alike[best]) == 1 else None


def tests_of(tree: Path, path: str) -> list[str]:
    """The arguments of pytest that run what covers a file; tests that mention its name come first."""
    named = next(tests for pattern, tests in TESTS if re.search(pattern, path))
    patterns, _, chosen = named.partition(" -k ")
    stem = Path(path).stem.strip("_")
    tests: dict[str, bool] = {}
    whole = f" {WHOLE_REPORTS}" if re.match(f"traceq/{IN_REPORTS}", path) else ""
    for pattern in f"{patterns.replace('{stem}', stem)}{whole}".split():
        for test in sorted((tree / "tests").rglob(f"{pattern}.py")):
            if not set(test.parts) & set(NOT_RUN):
                mentions = re.search(rf"\b{stem}\b", test.read_text("utf-8")) is not None
                tests.setdefault(test.relative_to(tree).as_posix(), mentions)
    arguments = sorted(tests, key=lambda test: not tests[test])
    return [*arguments, "-k", " or ".join([*rules_of(tree, stem), WHOLE_REPORTS])] if chosen else arguments


def rules_of(tree: Path, stem: str) -> list[str]:
    """The rule of that name, or the rules whose files name what they share."""
    rules = {path.stem for path in (tree / "traceq").rglob("rules/**/*.py")}
    if (tree / "tests" / "labelled" / "cases" / f"{stem}.py").exists():
        return [stem]
    naming = {
        path.stem
        for path in (tree / "traceq").rglob("*.*")
        if path.suffix in {".py", ".sql"}
        and "rules" in path.parts
        and re.search(rf"\b{stem}\b", path.read_text("utf-8"))
    }
    return sorted(naming & rules) or sorted(rules)


class Copy:
    """A copy of a checkout in which places are changed and tests run."""

    def __init__(self, tree: Path, work: Path, cpu: int) -> None:
        self.tree = work / "copy"
        self.cpu = cpu
        shutil.rmtree(self.tree, ignore_errors=True)
        shutil.copytree(tree, self.tree, ignore=shutil.ignore_patterns(*NOT_COPIED))
        shared = tree.resolve().parent / "shared"
        if shared.is_dir() and not (work / "shared").exists():
            (work / "shared").symlink_to(shared)
        # checked by content: a change that keeps a file's size within the same second would not be seen otherwise
        compiled = [sys.executable, "-m", "compileall", "-q", "--invalidation-mode", "checked-hash", "traceq", "tests"]
        subprocess.run(compiled, cwd=self.tree, check=True)

    def pytest(self, arguments: list[str]) -> tuple[int | None, str, float]:
        """Exit code (None: stopped at the limit), output, and seconds of CPU of the tests up to the first that fails."""
        options = ["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "--hypothesis-seed=14"]
        environment = os.environ | {"PYTHONPATH": str(self.tree), "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "1000"}
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "pytest", *options, *arguments],
                cwd=self.tree,
                env=environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (self.cpu, self.cpu)),  # noqa: PLW1509 - one thread
            )
            try:
                code: int | None = process.wait(timeout=6 * self.cpu)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                code = None
            output.seek(0)
            text = output.read()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return code if code is None or code >= 0 else None, text, seconds

    def judge(self, place: Place) -> dict[str, object]:
        """Whether the tests that cover the place notice its change."""
        package = files(self.tree)
        where = found(place, package)
        if where is None:
            return {"outcome": "gone"}
        path, number = where
        file = self.tree / path
        whole = file.read_text("utf-8")
        lines = package[path].copy()
        lines[number] = lines[number].replace(place.line, place.changed)
        arguments = tests_of(self.tree, path)
        seconds = 0.0
        red: list[str] = []
        while True:
            file.write_text("\n".join(lines), "utf-8")
            try:
                code, output, spent = self.pytest([*arguments, *(f"--deselect={test}" for test in red)])
            finally:
                file.write_text(whole, "utf-8")
            seconds += spent
            told: dict[str, object] = {"at": f"{path}:{number + 1}", "seconds": round(seconds, 1)}
            if code is None:
                return {"outcome": "out of time", **told}
            if code == 0:
                return {"outcome": "survived", **told}
            failed = FAILED.findall(output)
            if not failed:
                raise SystemExit(f"{place.name}\n{' '.join(arguments)}\n{output[-3000:]}")
            # a test that fails without the change as well has noticed nothing
            if self.pytest([failed[0]])[0] == 0:
                return {"outcome": "caught", "by": failed[0], **told}
            red.append(failed[0])


def read_results(path: Path) -> dict[str, dict[str, object]]:
    """What a run has written so far, by the name of the place."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    return {result.pop("place"): result for result in map(json.loads, lines)}


def run(tree: Path, chosen: list[Place], results: Path, cpu: int, spare: int) -> None:
    """Judge the places of every shelf until it has its number of them, and `spare` more."""
    known = read_results(results)
    counted: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="traceq-mutants-") as work:
        copy = Copy(tree.resolve(), Path(work), cpu)
        for place in chosen:
            if counted[place.shelf] >= SHELVES[place.shelf][1] + spare:
                continue
            if place.name not in known:
                begin = time.monotonic()
                known[place.name] = copy.judge(place) | {"wall": round(time.monotonic() - begin, 1)}
                with results.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"place": place.name, **known[place.name]}) + "\n")
                tell(f"{known[place.name]['outcome']:<12} {place.name}")
            counted[place.shelf] += known[place.name]["outcome"] != "gone"


def table(chosen: list[Place], before: Path, after: Path) -> None:
    """Tell what both runs say of the same places, and how many each caught."""
    old, new = read_results(before), read_results(after)
    counted: Counter[str] = Counter()
    caught = [0, 0]
    for place in chosen:
        both = [
            side[place.name] for side in (old, new) if side.get(place.name, {"outcome": "gone"})["outcome"] != "gone"
        ]
        if len(both) < len(caught) or counted[place.shelf] >= SHELVES[place.shelf][1]:
            continue
        counted[place.shelf] += 1
        outcomes = [str(side["outcome"]) for side in both]
        caught = [total + (outcome == "caught") for total, outcome in zip(caught, outcomes, strict=True)]
        tell(f"| {place.shelf} | {both[1]['at']} | `{place.line}` | `{place.changed}` | {' | '.join(outcomes)} |")
    tell(f"{counted.total()} places: before {caught[0]} caught, after {caught[1]}")


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    choosing = commands.add_parser("choose", help="write the places that are changed")
    choosing.add_argument("tree", type=Path)
    choosing.add_argument("-o", "--output", type=Path, required=True)
    choosing.add_argument("--seed", type=int, default=14)
    running = commands.add_parser("run", help="change each place and run its tests")
    running.add_argument("tree", type=Path)
    running.add_argument("places", type=Path)
    running.add_argument("-o", "--output", type=Path, required=True)
    running.add_argument(
        "--cpu", type=int, default=150, metavar="S", help="most seconds of CPU of one run of the tests"
    )
    running.add_argument("--caught", type=Path, metavar="RESULTS", help="only places that an earlier run caught")
    running.add_argument("--spare", type=int, default=0, metavar="N", help="places of each shelf beyond its number")
    comparing = commands.add_parser("table", help="compare two runs")
    for name in ("places", "before", "after"):
        comparing.add_argument(name, type=Path)
    asked = parser.parse_args()
    if asked.command == "choose":
        asked.output.write_text(
            json.dumps([asdict(place) for place in choose(asked.tree, asked.seed)], indent=1), "utf-8"
        )
        return
    rows = json.loads(asked.places.read_text("utf-8"))
    chosen = [Place(**row | {"around": tuple(row["around"])}) for row in rows]
    if asked.command == "run":
        if asked.caught:
            earlier = read_results(asked.caught)
            chosen = [place for place in chosen if earlier.get(place.name, {}).get("outcome") == "caught"]
        run(asked.tree, chosen, asked.output, asked.cpu, asked.spare)
    else:
        table(chosen, asked.before, asked.after)


if __name__ == "__main__":
    main()
