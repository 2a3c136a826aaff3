"""The sentences that tools/sentences.py finds: of which kind, where, and what it leaves out."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[1] / "tools"

RULE = """-- Time of a thing.
-- title: Copies that nobody needs
-- finds: Copies of {{ size(bytes) }} in a step. {% if many %}All of them are small.
--   {%- else %}One of them is large.{% endif %}
-- low: 0.3
select 'what the copies are for' as text, kind, 'copy'
from gpu_slice  -- not 'a literal at all'
"""
COMMAND = '''
"""Commands of it."""

@group.command("go")
@click.option("--fast", help="Go as fast as it can.")
def go(path):
    """Read PATH, and print it."""
    if not path:
        raise NothingToRead(f"{path}: no file is there")
    return run("select a, b from c")
'''
PAGE = """<nav aria-label="Parts of this page">{% for part in parts %}<a>{{ part.title }}</a>{% endfor %}</nav>
<p>It has {{ parts|length }} parts.</p><script>var text = "not for a reader";</script>
"""


@pytest.fixture
def sentences(monkeypatch):
    monkeypatch.syspath_prepend(str(TOOLS))
    monkeypatch.delitem(sys.modules, "sentences", raising=False)
    import sentences

    return sentences


def test_sentences_of_each_kind_are_listed(sentences, tmp_path):
    package = tmp_path / "traceq"
    for name, text in {"diagnosis/rule.sql": RULE, "cli/go.py": COMMAND, "reports/page.html": PAGE}.items():
        path = package / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
    assert [tuple(each) for each in sentences.list_sentences(package)] == [
        ("help", "traceq/cli/go.py", 5, "Go as fast as it can."),
        ("help", "traceq/cli/go.py", 6, "Read PATH, and print it."),
        ("error", "traceq/cli/go.py", 9, "{path}: no file is there"),
        ("rule text", "traceq/diagnosis/rule.sql", 2, "Copies that nobody needs"),
        ("rule text", "traceq/diagnosis/rule.sql", 3, "Copies of {size(bytes)} in a step."),
        ("rule text", "traceq/diagnosis/rule.sql", 3, "All of them are small."),
        ("rule text", "traceq/diagnosis/rule.sql", 3, "One of them is large."),
        ("rule text", "traceq/diagnosis/rule.sql", 6, "what the copies are for"),
        ("page", "traceq/reports/page.html", 1, "Parts of this page"),
        ("page", "traceq/reports/page.html", 2, "It has {parts|length} parts."),
    ]


def test_a_draw_is_the_same_for_the_same_seed(sentences, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["sentences.py", "--kind", "chart label", "--draw", "5", "--seed", "50"])
    draws = []
    for _ in range(2):
        assert sentences.main() == 0
        draws.append(capsys.readouterr().out.splitlines())
    assert draws[0] == draws[1]
    assert len(draws[0]) == 5
    assert all(line.startswith("chart label\ttraceq/reports/charts/") for line in draws[0])
