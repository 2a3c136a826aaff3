-- What a judgement depends on beside the rules: the traces, in the order of ingest.
select trace_id, sha256, run, rank, ingested_at::varchar as ingested_at
from trace
order by trace_id
