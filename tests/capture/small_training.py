"""A small training, and what is in a trace of it."""

from __future__ import annotations

import gzip
import json

import traceq
from traceq import annotate

MARKS = "select name from cpu_slice where name like 'traceq.%' order by ts, dur desc"

# The first three steps are not recorded, the next two are.
SHORT = {"skip": 2, "warmup": 1, "steps": 2}


def make_iteration(torch):
    """A function that makes one iteration of a small network, with a phase in it."""
    model = torch.nn.Linear(32, 8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def train():
        with annotate.phase("forward"):
            loss = model(torch.randn(4, 32)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return train


def only_trace(directory):
    (path,) = directory.glob("*.gz")
    return path


def read_document(path):
    return json.loads(gzip.decompress(path.read_bytes()))


def list_rows(path, query):
    database = path.with_suffix(".duckdb")
    traceq.ingest([path], database)
    with traceq.open(database) as traces:
        return traces.sql(query).fetchall()


def marks_in(path):
    return [name for (name,) in list_rows(path, MARKS)]


def steps_in(path):
    return [name for name in marks_in(path) if name.startswith("traceq.step#")]
