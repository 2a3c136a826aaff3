-- What the allocator holds and could not use, in a snapshot: it asked the driver for more while so much was free.
-- title: The allocator's cache is fragmented
-- finds: Reserved memory that tensors never filled after the allocator had asked the driver for its last segment.
-- matters: The allocator asks for a segment only if no free block fits. What is free at that time is in pieces that
--   are too small, or belongs to another stream or pool: a run can fail with out of memory although there is free
--   memory.
-- measured: The most reserved in the history less the most in use from then on, of memory_timeline: at least 20 % of
--   it and at least 100 MiB, which is five of the segments that the allocator asks for. Free blocks of segments that
--   are in use at the end (memory_fragmentation.split_inactive) show where that is.
-- try: Expandable segments; batches with few different shapes, the largest first; long-lived tensors allocated before
--   short-lived ones.
-- references: https://docs.pytorch.org/docs/stable/notes/cuda.html
--   https://docs.pytorch.org/docs/stable/torch_cuda_memory.html
-- remark: {% if facts.unused_share >= share and facts.unused_bytes >= least_bytes %}The allocator reserved {{
--   size(facts.reserved_bytes) }}, and from then on tensors use at most {{ size(facts.used_bytes) }}: {{
--   size(facts.unused_bytes) }} ({{ percent(facts.unused_share) }}) were never usable for any request. {%- if
--   facts.pools > 1 %} It has {{ facts.pools }} pools, which do not lend each other memory. {%- endif %} {%- endif %}
-- fix: {% if facts.is_expandable %}Expandable segments are already on: use batches with few different shapes, the
--   largest first, and give streams and pools only what they need. {%- else %}Set
--   `PYTORCH_ALLOC_CONF=expandable_segments:True` before Python starts (before 2.9 `PYTORCH_CUDA_ALLOC_CONF`); then
--   use batches with few different shapes, the largest first. {%- endif %}
-- for: pytorch
-- needs: allocations
-- absent: {% if facts.failures %}memory ran out: out-of-memory shows what was unused at that time {%- endif %}
-- unknown: {% if not rows %}the snapshot has no events, they have no times, or they contradict its segments: what was
--   reserved when is not known {%- endif %}
-- threshold: share = 0.2: that of memory-fragmentation
-- threshold: least_bytes = 104857600: five segments of 20 MiB, which PyTorch's allocator asks for
-- remarks: yes
with
reserved as (
    select device, most_reserved, ts_most_reserved
    from memory_peak
    where trace_id = $trace_id and most_reserved > 0 and ts_most_reserved is not null
),

used as (
    select
        r.device,
        any_value(r.most_reserved) as reserved_bytes,
        max(m.active) as used_bytes
    from reserved as r
    inner join memory_timeline as m on m.trace_id = $trace_id and m.device = r.device and m.memory = 'device' and m.ts >= r.ts_most_reserved
    group by r.device
)

select
    u.device, u.reserved_bytes, u.used_bytes,
    u.reserved_bytes - u.used_bytes as unused_bytes,
    (u.reserved_bytes - u.used_bytes) / u.reserved_bytes as unused_share,
    (select coalesce(sum(split_inactive), 0)::bigint from memory_fragmentation as f where f.trace_id = $trace_id and f.device = u.device) as split_bytes,
    (select count(distinct pool) from allocator_segment as s where s.trace_id = $trace_id and s.device = u.device) as pools,
    exists (from allocator_segment as s where s.trace_id = $trace_id and s.device = u.device and s.is_expandable) as is_expandable,
    (select count(*) from allocator_event as e where e.trace_id = $trace_id and e.device = u.device and e.action = 'oom') as failures
from used as u
order by unused_bytes desc, u.device
limit 1
