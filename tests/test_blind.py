"""Blind batches of real traces measure how well rules judge what nobody tuned them to: no test and no tool may read them.

But for those that were graded: docs/blind/pairs.md lists pairs of them, and tests/truth/blind has their labels.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAIRS = ROOT / "tests" / "traces" / "test_pairs_of_traces.py"
READ = re.compile(
    r"""shared/blind|SHARED\s*/\s*["']blind["'/]|SHARED\s*(\.rglob|\.iterdir|\.walk|\.glob\(f?["']\*\*)"""
)


def test_nothing_reads_the_blind_batches():
    folders = [ROOT / each for each in ("tests", "tools", "traceq", "fixtures", ".ci", ".github")]
    files = [
        path for folder in folders for path in folder.rglob("*") if path.suffix in {".py", ".sh", ".sql", ".yml", ""}
    ]
    texts = {
        path: path.read_text("utf-8", "replace")
        for path in files
        if path.is_file() and path not in (PAIRS, Path(__file__))
    }
    assert len(texts) > 1000
    assert [str(path) for path, text in texts.items() if READ.search(text)] == []


def test_reading_them_would_be_seen():
    for line in (
        'SHARED / "blind" / "batch2"',
        "../shared/blind/batch1",
        "SHARED.rglob('*.json')",
        'SHARED.glob("**/*.gz")',
    ):
        assert READ.search(line)
