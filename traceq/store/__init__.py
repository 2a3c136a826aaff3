"""The trace database: create, open, ingest (atomically), schema version."""

from __future__ import annotations

from traceq.store.database import SCHEMA_VERSION, connect, create_schema
from traceq.store.ingest import IngestedTrace, IngestResult, ingest
from traceq.store.progress import Progress

__all__ = ["SCHEMA_VERSION", "IngestResult", "IngestedTrace", "Progress", "connect", "create_schema", "ingest"]
