from __future__ import annotations

import sys


def test_without_the_sdk_it_says_how_to_install_it(traceq, monkeypatch):
    for name in [each for each in sys.modules if each.partition(".")[0] == "mcp"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcp", None)
    result = traceq("mcp")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert (
        result.stderr
        == "traceq: error: the MCP SDK, 2.3 or newer, is not installed: pip install 'mcp>=2.3,<3' 'uvicorn>=0.31.1'\n"
    )
