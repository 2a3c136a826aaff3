"""The matrix of docs/formats.md says of each format and metric what traceq.formats does."""

import re
from pathlib import Path

from traceq.formats.capabilities import FORMATS, METRICS
from traceq.formats.format import Capture

PAGE = (Path(__file__).parents[2] / "docs" / "formats.md").read_text("utf-8")


def test_each_metric_is_told_or_not_as_the_formats_say():
    rows = {
        name: re.findall(r"yes|no", cells)
        for name, cells in re.findall(r"^\| ([\w-]+) \| ((?:(?:yes|no) \| ?)+)$", PAGE, re.MULTILINE)
    }
    assert rows == {
        name: ["yes" if isinstance(form.captures[name], Capture) else "no" for form in FORMATS] for name in METRICS
    }


def test_each_format_has_its_line():
    assert re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE) == [form.name for form in FORMATS]
