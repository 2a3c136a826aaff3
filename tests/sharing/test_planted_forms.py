"""No secret of any form stands in what is shown to others, whatever the format and the place; public names all stay."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import planted_forms
import pytest
from planted_forms import FORMATS, find_left, make_secrets

import traceq
from traceq.app.agents import Session
from traceq.app.anonymise import anonymise
from traceq.app.report import report
from traceq.app.ticket import ticket
from traceq.common.keyed import Pseudonyms
from traceq.reports.redact import _StandIns
from traceq.sharing.names import Names

SECRETS = make_secrets()
# Values of a form, by their number, that no sign tells from names: plain answers, which show names, show them.
WITHOUT_SIGN = {
    "host": (1, 2),
    "user": range(5),
    "server": (0, 2),
    "thread": (1, 3),
    "hardware": range(4),
    "project": range(5),
}
NAMES = {SECRETS[form][number].text for form, numbers in WITHOUT_SIGN.items() for number in numbers}
# Of the path of a program or of a frame's file only the last part is kept, which is a name.
PARTS = {(name, SECRETS["path"][4].text) for name in ("nsys", "snapshot")}
TABLES = ("trace", "thread", "cpu_slice", "gpu_slice", "step", "kernel", "import_note", "finding")
FIRST = [found[0] for found in SECRETS.values()]


def shown_of(path, tmp_path, name):
    """Everything that can be shown of the trace: (what it is, text)."""
    database = tmp_path / "planted.duckdb"
    database.unlink(missing_ok=True)
    traceq.ingest(path, database)
    if name in ("kineto", "nsys"):
        target = tmp_path / f"shared{path.suffix}"
        anonymise(path, target, force=True)
        yield "anonymised", read_all(target)
    yield "ticket", ticket(database).text
    view = report(database, ticket=True)
    yield from (("json", view.to_json()), ("html", view.render("html")), ("llm", view.render("llm")))
    with Session(names_nobody=True) as session:
        opened = session.open(str(database))
        answers = [opened, session.report("db1"), session.compare("db1", "db1") if name != "snapshot" else opened]
        answers += [session.finding("db1", found["finding_id"]) for found in (opened.data or {}).get("findings", [])]
        yield "mcp", read_answers(answers)
    yield "plain llm", report(database).render("llm")
    with Session() as session:
        opened = session.open(str(database))
        answers = [opened, session.report("db1"), session.compare("db1", "db1") if name != "snapshot" else opened]
        answers += [session.finding("db1", found["finding_id"]) for found in (opened.data or {}).get("findings", [])]
        answers += [session.sql("db1", f"from {table}", max_rows=200) for table in TABLES]
        answers += [session.whatif("db1")] if name in ("kineto", "nsys") else []
        yield "plain mcp", read_answers(answers)


def read_answers(answers):
    return "\n".join(answer.text + json.dumps(answer.data, ensure_ascii=False) for answer in answers)


def read_all(path):
    if path.suffix == ".json":
        # as it is read, without escapes
        return json.dumps(json.loads(path.read_text()), ensure_ascii=False)
    with closing(sqlite3.connect(path)) as shared:
        tables = [name for (name,) in shared.execute("select name from sqlite_master where type = 'table'")]
        rows = [row for table in tables for row in shared.execute(f'select * from "{table}"')]
    return "\n".join(str(value) for row in rows for value in row if isinstance(value, str | bytes))


def left_in(name, secrets, tmp_path):
    """Return the secrets that are seen in what is shown of a trace of this format, as pairs (where, secret)."""
    file, write = FORMATS[name]
    path = write(tmp_path / file, [secret.text for secret in secrets])
    raw = path.read_bytes().decode("utf-8", "replace").replace("\\\\", "\\")
    assert find_left(secrets, raw) == [secret.text for secret in secrets]
    return [
        (where, text)
        for where, content in shown_of(path, tmp_path, name)
        for text in find_left(secrets, content)
        if not (where.startswith("plain") and (text in NAMES or (name, text) in PARTS))
    ]


def test_there_are_twenty_forms_and_five_different_secrets_of_each():
    assert len(SECRETS) == 20
    assert len({secret.text for found in SECRETS.values() for secret in found}) == 100


@pytest.mark.parametrize("name", FORMATS)
def test_one_secret_of_each_form_is_not_seen(name, tmp_path):
    assert left_in(name, FIRST, tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize("form", SECRETS)
@pytest.mark.parametrize("name", FORMATS)
def test_no_secret_of_a_form_is_seen(name, form, tmp_path):
    assert left_in(name, SECRETS[form], tmp_path) == []


_KINDS = (
    "annotation",
    "kernel",
    "operator",
    "thread",
    "program",
    "frame",
    "group",
    "device",
    "type",
    "counter",
    "function",
)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", _KINDS)
def test_no_secret_stays_as_a_name_of_any_kind(kind, seed):
    names = Names(b"key")
    secrets = [secret for found in make_secrets(seed).values() for secret in found]
    assert [secret.text for secret in secrets if find_left([secret], names.show(kind, secret.text))] == []


def test_pseudonyms_of_many_words_differ():
    pseudonyms = Pseudonyms(b"key")
    assert len({pseudonyms.word(f"word{number}") for number in range(100_000)}) == 100_000


def test_sql_and_whatif_do_not_answer_where_answers_name_nobody(tmp_path):
    path = planted_forms.write_kineto(tmp_path / "trace.json", ["a", "b"])
    with Session(names_nobody=True) as session:
        for ask in (lambda: session.sql(str(path), "select 1"), lambda: session.whatif(str(path))):
            with pytest.raises(traceq.WrongUse, match="without --anonymous"):
                ask()


PUBLIC = [line.split("\t") for line in (Path(__file__).parent / "public_names.txt").read_text().splitlines()]


def test_two_hundred_public_names_stay():
    names = Names(b"key")
    assert len(PUBLIC) >= 200
    assert [name for kind, name in PUBLIC if names.show(kind, name) != name] == []


@pytest.mark.parametrize("kind", sorted({kind for kind, _ in PUBLIC}))
def test_public_names_stay_in_tickets(kind):
    found = [name for kind_, name in PUBLIC if kind_ == kind]
    made = _StandIns([("kernel" if kind == "kernel" else "span", name) for name in found], {}, Pseudonyms(b"key"))
    assert [name for name in found if made._change_name(name) != name] == []
