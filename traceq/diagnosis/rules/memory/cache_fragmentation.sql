-- What the allocator holds and could not use, in a snapshot: it asked the driver for more while so much was free.
-- title: The allocator's cache is fragmented
-- finds: Reserved memory that tensors never filled again after the allocator had asked the driver for its last segment.
-- matters: The allocator asks for a segment only where no free block fits. What stays free then is in pieces that are
--   too small, of another stream, or of another pool: a run fails for want of memory that is there.
-- measured: The most reserved in the history less the most in use from then on, of memory_timeline: at least 20 % of
--   it and at least 100 MiB, five of the segments that the allocator asks for. Free blocks of segments that are in use
--   at the end (memory_fragmentation.split_inactive) show where it is.
-- try: Expandable segments; batches of few shapes, the largest first; tensors that stay allocated before those that do
--   not.
-- references: https://docs.pytorch.org/docs/stable/notes/cuda.html
--   https://docs.pytorch.org/docs/stable/torch_cuda_memory.html
-- remark: {% if facts.unused_share >= share and facts.unused_bytes >= least_bytes %}The allocator reserved
--   {{ size(facts.reserved_bytes) }}, and from then on tensors use at most {{ size(facts.used_bytes) }}:
--   {{ size(facts.unused_bytes) }} ({{ percent(facts.unused_share) }}) fit nothing that was asked for.
--     {%- if facts.pools > 1 %} It has {{ facts.pools }} pools, which do not lend each other memory.
--     {%- endif %}
--   {%- endif %}
-- fix: {% if facts.is_expandable %}Expandable segments are on already: let batches have few shapes, the largest first, and
--   give streams and pools as little as they need.
--   {%- else %}Set `PYTORCH_ALLOC_CONF=expandable_segments:True` before Python starts (before 2.9
--   `PYTORCH_CUDA_ALLOC_CONF`); then let batches have few shapes, the largest first.
--   {%- endif %}
-- for: pytorch
-- needs: allocations
-- absent: {% if facts.failures %}memory ran out: out-of-memory tells what lay idle then
--   {%- endif %}
-- unknown: {% if not rows %}segments and events of the snapshot contradict each other, it has no events, or these have no
--   times: what was reserved when cannot be told
--   {%- endif %}
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
