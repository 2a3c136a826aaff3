select trace_id, run, path, sha256, size_bytes, format, producer, producer_version, rank, world_size, ts, dur
from trace
order by trace_id
