"""docs/ says what the program does: generated pages are compared, and rewritten with --update-golden."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import version
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from command_lines import find_commands, parse_command
from failure_list import assert_none
from golden import Golden

import traceq
from traceq.cli import main
from traceq.cli.tables import write_dictionary
from traceq.database import catalogue
from traceq.diagnosis.rules.registry import all_rules
from traceq.diagnosis.rules_page import manual_page

DOCS = Path(__file__).parents[1] / "docs"

WIDTH = 100

LONGEST_LINE = 130
"""Of prose in a page that is written by hand, so that a diff shows what changed. Cells of tables may be longer."""

GENERATED = {"accuracy.md", "advice.md", "cli.md", "rules.md", "tables.md", "thresholds.md"}

CLI_INTRODUCTION = """\
# Command line

What `traceq COMMAND --help` prints. Errors are explained in [messages.md](messages.md).
"""


@pytest.fixture
def docs(request):
    return Golden(DOCS, update=request.config.getoption("--update-golden", default=False))


@pytest.fixture(scope="module")
def known():
    with catalogue.empty_database() as connection:
        return catalogue.list_all(connection)


def commands():
    context = click.Context(main)
    return {name: main.get_command(context, name) for name in main.list_commands(context)}


def test_tables_md_is_the_catalogue(docs, known):
    docs.check("tables.md", write_dictionary(known))


@pytest.mark.skipif(version("click").startswith("8.4."), reason="click 8.4 writes optional choices in another way")
def test_cli_md_is_the_help_of_every_command(docs):
    group = click.Context(main, info_name="traceq", terminal_width=WIDTH, **main.context_settings)
    contexts = [group]
    for name, command in commands().items():
        context = click.Context(command, group, name, terminal_width=WIDTH)
        contexts.append(context)
        if isinstance(command, click.Group):
            inner = ((each, command.get_command(context, each)) for each in command.list_commands(context))
            contexts += [click.Context(each, context, known, terminal_width=WIDTH) for known, each in inner]
    sections = [f"\n## {each.command_path}\n\n```text\n{each.get_help()}\n```\n" for each in contexts]
    docs.check("cli.md", CLI_INTRODUCTION + "".join(sections))


def test_rules_md_is_the_manual_pages(docs):
    printed = (
        CliRunner()
        .invoke(main, ["rules", "list", "--rules", "extra", "--format", "md"], env={"TRACEQ_RULES": None})
        .stdout
    )
    assert printed == manual_page(all_rules())
    docs.check("rules.md", printed)


def test_every_rule_has_sections_and_a_reference_and_a_title_of_its_own():
    pages = [rule.manual for rule in all_rules()]
    assert [page.title for page in pages if not page.references] == []
    assert len({page.title for page in pages}) == len(pages)


def test_every_table_and_column_says_what_it_is(known):
    bare = [table.name for table in known if not table.comment]
    bare += [f"{table.name}.{c.name}" for table in known for c in table.columns if not c.comment]
    assert bare == []


def test_every_command_and_option_has_help():
    for name, command in commands().items():
        assert command.help, name
        options = [p for p in command.params if isinstance(p, click.Option)]
        assert [option.name for option in options if not option.help] == [], name


def test_the_list_of_commands_says_what_each_says_itself():
    assert {name: command.short_help for name, command in commands().items()} == {
        name: help_line for name, (_, help_line) in main.lazy.items()
    }


def misunderstood(command):
    """Return the program's complaint about a command line, None if it is right; files need not exist."""
    try:
        parse_command(command).close()
    except click.exceptions.Exit:  # --help
        return None
    except click.UsageError as error:
        said = error.format_message()
        return None if said.endswith("does not exist.") else said
    return None


def test_every_command_line_of_the_docs_is_understood():
    pages = [DOCS.parent / "README.md", *sorted(DOCS.rglob("*.md"))]
    found = [(page.name, command) for page in pages for command in find_commands(page.read_text("utf-8"))]
    assert len(found) > 150
    assert_none(f"{page}: {command}: {said}" for page, command in found if (said := misunderstood(command)))


def test_a_command_line_that_is_wrong_is_noticed():
    page = "```sh\ntraceq report x.json --colour\n$ traceq convert a b\n  traceq rules lst | head\ntraceq cache\n```\ntraceq is"
    commands = list(find_commands(page))
    assert commands == ["traceq report x.json --colour", "traceq convert a b", "traceq rules lst", "traceq cache"]
    assert [bool(misunderstood(command)) for command in commands] == [True, True, True, False]


def errors(root=traceq.TraceqError):
    for error in root.__subclasses__():
        yield error
        yield from errors(error)


def test_every_error_has_its_entry_in_messages_md():
    sections = re.split(r"^## (.+)\n", (DOCS / "messages.md").read_text("utf-8"), flags=re.MULTILINE)[1:]
    entries = dict(zip(sections[::2], sections[1::2], strict=True))
    ours = {error for error in errors() if error.__module__ == "traceq.errors"}
    assert set(entries) == {error.slug for error in ours}
    for error in ours:
        assert f"`traceq.{error.__name__}`" in entries[error.slug]
        assert "What to do:" in entries[error.slug]


def test_every_note_code_is_explained():
    """Codes are string literals: keys of Chrome's table, arguments in the nsys importer, values in SQL."""
    from traceq.importers.chrome.header import NOTES

    package = Path(traceq.__file__).parent
    nsys = "\n".join(path.read_text("utf-8") for path in (package / "importers" / "nsys").glob("*.py"))
    codes = set(NOTES) | set(re.findall(r"\.(?:info|data_loss|error)\(\s*\"([a-z_0-9]+)\"", nsys))
    for name in ("analysis/notes.sql", "analysis/missing_input.sql", "analysis/replay/replay_too_large.sql"):
        codes |= set(re.findall(r"\$trace_id, '(?:info|data_loss|error)', '(\w+)'", traceq_sql(name)))
    explained = set(re.findall(r"`([a-z_0-9]+)`", (DOCS / "messages.md").read_text("utf-8")))
    assert len(codes) > 30
    assert not codes - explained


def traceq_sql(name):
    from traceq.database.sql import statement

    return statement(name)


@pytest.mark.parametrize("page", [DOCS.parent / "README.md", *sorted(DOCS.rglob("*.md"))], ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\((?!https?:)([^)#]+)[^)]*\)", page.read_text("utf-8"))
    assert not [link for link in links if not (page.parent / link).exists()]


def paths_named(text):
    """Words that begin with a folder of the checkout, and names in backticks of a Python or SQL file in a folder."""
    rooted = re.findall(r"(?<![\w/.-])(?:traceq|tests|fixtures|docs)/[\w./*-]*", text)
    return {path.rstrip(".") for path in (*rooted, *re.findall(r"`([\w*-]+/[\w./*-]+\.(?:py|sql))`", text))}


def exists(path):
    """Whether the checkout or the package has the path, with anything in the place of words in capitals (NAME, TOPIC)."""
    pattern = re.sub(r"(?<=[/_])[A-Z]+(?=[/.])", "*", path)
    return any((root / path).exists() or any(root.glob(pattern)) for root in (DOCS.parent, DOCS.parent / "traceq"))


@pytest.mark.parametrize("page", [DOCS.parent / "README.md", *sorted(DOCS.rglob("*.md"))], ids=lambda page: page.name)
def test_paths_that_a_page_names_exist(page):
    assert [path for path in sorted(paths_named(page.read_text("utf-8"))) if not exists(path)] == []


def test_a_path_that_does_not_exist_is_noticed():
    text = "See `traceq/no_such_room/`, tests/test_docs.py. A rule is `traceq/NO/RULE.xyz` or `sql/gone.sql`; docs/metrics.md."
    missing = ["sql/gone.sql", "traceq/NO/RULE.xyz", "traceq/no_such_room/"]
    assert [path for path in sorted(paths_named(text)) if not exists(path)] == missing


def test_the_index_names_every_page():
    index = (DOCS / "README.md").read_text("utf-8")
    linked = set(re.findall(r"\]\(([^)#]+)", index))
    pages = {path.name for path in DOCS.glob("*.md")} - {"README.md"}
    assert pages - linked == set()


WITHOUT_LINK = re.compile(r"\b(?:METRICS|DESIGN|RANKS|FORMATS|TRACES|PEERS)(?:\.md\b| (?:section )?[A-Z]?\d| says)")


def test_nothing_cites_a_paper_that_no_clone_has():
    cited = [
        f"{path.relative_to(DOCS.parent)}: {found[0]}"
        for folder in ("docs", "tests", "traceq", "fixtures/make")
        for path in (DOCS.parent / folder).rglob("*.*")
        if path.suffix in (".md", ".py", ".sql", ".toml") and path != Path(__file__)
        for found in WITHOUT_LINK.finditer(path.read_text("utf-8"))
    ]
    assert cited == []


def test_no_page_says_a_thing_twice_in_a_list():
    for page in DOCS.rglob("*.md"):
        titles = re.findall(r"^[*-] (\*\*[^*]+\*\*\S* \S+)", page.read_text("utf-8"), re.MULTILINE)
        assert len(titles) == len(set(titles)), (page.name, titles)


def _blank(code):
    return "\n" * code.group().count("\n")


def test_lines_of_prose_fit_into_a_diff():
    assert_none(
        f"{page.relative_to(DOCS)}:{number}: {len(line)} characters of at most {LONGEST_LINE}"
        for page in [*sorted(DOCS.glob("*.md")), *sorted((DOCS / "decisions").glob("*.md"))]
        if page.name not in GENERATED
        for number, line in enumerate(re.sub(r"```.*?```", _blank, page.read_text(), flags=re.DOTALL).splitlines(), 1)
        if len(line) > LONGEST_LINE and not line.startswith("|")
    )


def test_functions_that_the_architecture_names_are_in_the_files_it_names():
    text = (DOCS / "architecture.md").read_text("utf-8")
    named = re.findall(r"`(\w+/[\w/]+\.py)`\s+\(`(\w+)`", text)
    assert {("app/pipeline.py", "make_database"), ("analysis/order.py", "fill")} <= set(named)
    root = DOCS.parent / "traceq"
    assert [name for name in named if f"def {name[1]}(" not in (root / name[0]).read_text("utf-8")] == []


def test_the_architecture_lists_every_room_in_its_layer_with_what_is_in_it():
    rows = re.findall(r"^\| (\d+) \| `(\w+)/` \| (.*) \|$", (DOCS / "architecture.md").read_text("utf-8"), re.MULTILINE)
    contracts = tomllib.loads((DOCS.parent / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    layers = [re.findall(r"\w+", layer) for layer in reversed(contracts[0]["layers"])]
    in_layers = {room: str(number) for number, layer in enumerate(layers, 1) for room in layer if room != "errors"}
    assert {room: layer for layer, room, _ in rows} == in_layers
    root = DOCS.parent / "traceq"
    assert {room for _, room, _ in rows} == {path.parent.name for path in root.glob("*/__init__.py")}
    named = [(room, path) for _, room, text in rows for path in re.findall(r"`(\w+(?:\.py|/))`", text)]
    assert len(named) > 30
    assert_none(
        f"{room}/{path}" for room, path in named if not any((root / place / path).exists() for place in (room, ""))
    )


def test_the_readme_is_short_and_its_example_is_what_the_command_prints():
    text = (DOCS.parent / "README.md").read_text("utf-8")
    assert text.count("\n") <= 120
    example = re.search(r"<!-- report of (\S+) -->\n```text\n(.*?)```", text, re.DOTALL)
    trace = DOCS.parent.parent / "shared" / "traces" / "torch" / f"{example[1]}.pt.trace.json.gz"
    if not trace.exists():
        pytest.skip("the trace is not at hand")
    from traceq.app.report import report

    assert example[2] in report(trace, scope="document").to_text()
