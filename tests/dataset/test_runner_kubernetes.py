"""The manifest of docs/examples is one that Kubernetes takes, and its commands are those that there are."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from traceq.cli.ingest import ingest
from traceq.dataset.place import is_address

HERE = Path(__file__).resolve().parent
MANIFEST = list(yaml.safe_load_all((HERE.parents[1] / "docs" / "examples" / "dask-kubernetes.yaml").read_text("utf-8")))
DEFINITIONS = json.loads((HERE / "kubernetes.schema.json").read_text())["definitions"]
KINDS = {
    "Service": "io.k8s.api.core.v1.Service",
    "Deployment": "io.k8s.api.apps.v1.Deployment",
    "Job": "io.k8s.api.batch.v1.Job",
}


def validate(part):
    schema = {"$ref": f"#/definitions/{KINDS[part['kind']]}", "definitions": DEFINITIONS}
    jsonschema.Draft7Validator(schema).validate(part)


def command(kind, name):
    (part,) = [each for each in MANIFEST if (each["kind"], each["metadata"]["name"]) == (kind, name)]
    (container,) = part["spec"]["template"]["spec"]["containers"]
    return container["command"]


@pytest.mark.parametrize("part", MANIFEST, ids=lambda part: f"{part['kind']} {part['metadata']['name']}")
def test_each_part_is_as_its_schema_says(part):
    validate(part)


def test_the_schema_knows_what_there_is():
    (job,) = [each for each in MANIFEST if each["kind"] == "Job"]
    with pytest.raises(jsonschema.ValidationError, match="backOffLimit"):
        validate({**job, "spec": {**job["spec"], "backOffLimit": 3}})


def test_workers_and_the_ingest_go_to_the_scheduler_that_there_is():
    (service,) = [each for each in MANIFEST if each["kind"] == "Service"]
    address = f"tcp://{service['metadata']['name']}:{service['spec']['ports'][0]['port']}"
    assert service["spec"]["selector"] == MANIFEST[1]["spec"]["template"]["metadata"]["labels"]
    assert command("Deployment", "traceq-worker")[:3] == ["dask", "worker", address]
    program, name, *arguments = command("Job", "traceq-ingest")
    asked = ingest.make_context(name, arguments).params
    assert (program, asked["cluster"]) == ("traceq", address)
    assert is_address(asked["database"])


@pytest.mark.parametrize("name", ["traceq-scheduler", "traceq-worker"])
def test_dask_knows_the_options(name):
    """Those of its commands, of which each is read, and nothing is started."""
    pytest.importorskip("distributed")
    from distributed.cli import dask_scheduler, dask_worker

    _, kind, *arguments = command("Deployment", name)
    {"scheduler": dask_scheduler, "worker": dask_worker}[kind].main.make_context(kind, arguments)
