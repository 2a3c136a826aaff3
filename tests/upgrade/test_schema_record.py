"""A schema that changed has a version of its own, and a way from the version before."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import duckdb

from traceq.database import sql
from traceq.database.connect import MIGRATIONS, SCHEMA, SCHEMA_VERSION
from traceq.database.query import literal

RECORD = Path(__file__).with_name("schemas.json")
OLDEST = 4  # of traceq 0.1


def digest() -> str:
    """A hash of the statements of the schema; comments, white space and the files they stand in are left out."""
    statements = [each.query for name in SCHEMA for each in duckdb.extract_statements(sql.statement(name))]
    bare = sorted(text for each in statements if not (text := literal(each)).startswith("comment on "))
    return hashlib.sha256("\n".join(bare).encode()).hexdigest()


def test_the_schema_is_the_one_recorded_for_its_version():
    recorded = json.loads(RECORD.read_text())
    assert recorded[str(SCHEMA_VERSION)] == digest(), (
        "the schema changed: when its version was released, raise SCHEMA_VERSION and add a migration to MIGRATIONS;"
        f" then record {digest()} in {RECORD.name}"
    )


def test_every_version_since_0_1_is_recorded_and_has_a_migration():
    assert list(json.loads(RECORD.read_text())) == [str(each) for each in range(OLDEST, SCHEMA_VERSION + 1)]
    assert list(MIGRATIONS) == list(range(OLDEST, SCHEMA_VERSION))
