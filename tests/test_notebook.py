"""docs/tutorial.ipynb runs as it stands, in a real kernel, without a network."""

from __future__ import annotations

import base64
from pathlib import Path

import lazy_import
import pytest

lazy_import.module("ipykernel")
nbformat = lazy_import.module("nbformat")
nbclient = lazy_import.module("nbclient")

TUTORIAL = Path(__file__).parents[1] / "docs" / "tutorial.ipynb"


@pytest.fixture(scope="module")
def tutorial():
    return nbformat.read(TUTORIAL, as_version=4)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tutorial")


@pytest.fixture(scope="module")
def executed(tutorial, folder):
    """The notebook after it ran in `folder`, with the settings of nobody's home."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("HOME", "IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR"):
            patch.setenv(name, str(folder / ".home"))
        (folder / ".home").mkdir()
        patch.delenv("MPLBACKEND", raising=False)
        client = nbclient.NotebookClient(
            nbformat.from_dict(tutorial), timeout=120, resources={"metadata": {"path": str(folder)}}
        )
        return client.execute()


def shown(executed, kind):
    """What the cells show as `kind`, with the source of their cells."""
    return [
        (cell["source"], output["data"][kind])
        for cell in executed["cells"]
        for output in cell.get("outputs", ())
        if kind in output.get("data", {})
    ]


def test_the_notebook_is_kept_without_outputs(tutorial):
    nbformat.validate(tutorial)
    code = [cell for cell in tutorial["cells"] if cell["cell_type"] == "code"]
    assert [cell for cell in code if cell["outputs"] or cell["execution_count"]] == []


@pytest.mark.slow
def test_every_cell_runs_and_nothing_is_printed_as_a_warning(executed):
    kinds = [output["output_type"] for cell in executed["cells"] for output in cell.get("outputs", ())]
    assert set(kinds) == {"execute_result"}


@pytest.mark.slow
def test_the_report_shows_itself(executed):
    ((_, html),) = [each for each in shown(executed, "text/html") if "<iframe" in each[1]]
    assert 'title="traceq report"' in html
    assert len(html) < 3_000_000
    (markdown,) = [text for _, text in shown(executed, "text/markdown")]
    assert "Fix first: " in markdown


def test_figures_show_themselves_without_pyplot(executed):
    pictures = shown(executed, "image/png")
    assert [source.splitlines()[0].partition("plots.")[2] for source, _ in pictures] == [
        "step_ledger(report)",
        "gaps(report)",
    ]
    assert all(base64.b64decode(data).startswith(b"\x89PNG") for _, data in pictures)


def test_the_numbers_agree(executed):
    """A claim and its query, the steps and their categories, the ledger and the steps."""
    answers = [text for source, text in shown(executed, "text/plain") if source.splitlines()[-1].startswith("bool(")]
    assert answers == ["True"] * 3


def test_the_report_is_saved(executed, folder):
    del executed
    assert {path.name for path in folder.iterdir() if path.is_file()} == {
        "tutorial.duckdb",
        "tutorial.html",
        "gaps.png",
    }
    assert (folder / "tutorial.html").read_text("utf-8").startswith("<!doctype html>")
