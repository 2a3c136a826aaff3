"""The page in a real browser. Needs Chromium and Node, and the folder node_modules that TRACEQ_NODE_MODULES names, made by
`npm install playwright-core axe-core`; skipped without."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from made_up import HOSTILE, MadeUp, complete, database, hostile, on_host_only, waiting

from traceq.reports.build import build
from traceq.reports.renderers.to_html import to_html

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
MODULES = os.environ.get("TRACEQ_NODE_MODULES")


def busy():
    """So many slices that the timeline can be zoomed, with names that would do harm."""
    trace = MadeUp().step(0, 700_000)
    for number in range(700):
        trace.gpu("compute", number * 1000, 900, stream=7, name=f"</script>{HOSTILE}{number}")
    return trace


CASES = {"busy": busy, "waiting": waiting, "complete": complete, "hostile": hostile, "host_only": on_host_only}

pytestmark = pytest.mark.skipif(
    not (CHROMIUM and MODULES and shutil.which("node")), reason="needs Chromium, Node and TRACEQ_NODE_MODULES"
)


@pytest.mark.parametrize("case", CASES)
def test_a_browser_has_nothing_to_complain_about(case, tmp_path):
    page = tmp_path / "report.html"
    page.write_text(to_html(build(database(CASES[case]()), 10, drawn=True)), "utf-8")
    # Node looks for modules beside the script.
    script = tmp_path / "browser.mjs"
    shutil.copy(Path(__file__).with_name("browser.mjs"), script)
    (tmp_path / "node_modules").symlink_to(MODULES)
    axe = f"{MODULES}/axe-core/axe.min.js"
    ran = subprocess.run(
        ["node", script, CHROMIUM, axe, page, tmp_path], capture_output=True, text=True, timeout=120, check=False
    )
    assert ran.returncode == 0, ran.stderr
    seen = json.loads(ran.stdout)
    assert seen["problems"] == []
    facts = seen["facts"]
    assert facts["verdictIsOnTheFirstScreen"]
    assert facts["tablesWithoutScript"] == facts["tables"]
    assert facts["queryOpened"]
    if case != "host_only":
        assert facts["sorted"] == 1
    if case == "busy":
        assert facts["zoomed"]
        assert "900 ns, at " in facts["told"]
