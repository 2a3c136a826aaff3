-- Copies of input to the device from pageable memory or by blocking calls, with nothing beside them, and the time in which the device
-- waits for the host because of these calls.
-- title: Input is copied to the GPU late
-- finds: Copies of a batch to the GPU that training waits for: from pageable memory, or by a call that blocks the host until
--   the copy is done, while nothing else runs.
-- matters: A copy from pageable memory is slow, because the driver copies to pinned memory first, and the host can launch
--   nothing in the meantime. A copy from pinned memory can overlap the kernels of the step before.
-- measured: Copies at position data, category copy_h2d, that are pageable or blocking (copy_overlap): the time in which nothing
--   else runs (busy_piece). And idle time (idle_piece) in the calls that wait for them (the copy's own, or the next on the
--   thread within 20 us or in the same operator) and after them, the latter for no longer than the call waited, since that is
--   how far ahead the host would otherwise be. Shares: low 0.4 (pinned memory alone roughly doubles the rate), likely 1, high
--   1.
-- try: pin_memory=True, non_blocking=True, and copying one batch ahead on a separate stream.
-- references: https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html
--   https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/index.html#pinned-memory
-- fix: {% if worst.is_pageable is not false %}{{ remedy('input_early') }}{% else %}{{ remedy('input_early_pinned')
--   }}{% endif %} {{ 'Batches are' if program.runs_model else 'Input is' }} copied {% if worst.is_pageable %}from pageable memory{% else %}by a blocking call{%
--   endif %} {%- if worst.bytes is not none %} ({{ size(worst.bytes) }}{% if worst.bandwidth %} at {{
--   gb_per_s(worst.bandwidth) }}{% endif %}) {%- endif %}, and the GPU does nothing else for {{
--   per_step(claimed_ns) }}.
-- confidence: {% if worst.is_pageable is not none %}high{% else %}medium{% endif %}
-- reason: {% if worst.is_pageable is not none %}The profiler records the kind of memory, and nothing overlaps these copies. {%-
--   else %}The call is known to block the host; the kind of memory is not in the trace. {%- endif %}
-- wrong-if: {{ 'The batch' if program.runs_model else 'The input' }} is created right before it is copied, so it cannot be
--   copied earlier.
-- heading: {% set what = 'batches' if program.runs_model else 'input' -%} {% if worst.is_pageable is not false %}Pin {{ what }}, and copy {{ 'them' if
--   program.runs_model else 'it' }} ahead{% else %}Copy {{ what }} ahead, without waiting{% endif %}
-- same-fix: pinned-memory
-- absent: {% if not (has('operators') or has('fetches')) %}nothing in the trace marks input fetching, so copies of input cannot
--   be told from others{% endif %}
-- needs: gpu, steps, launches
-- low: 0.4
-- likely: 1.0
-- threshold: link_share = 0.8: pinned copies reach about 80 % of what PCIe carries, the rest is its protocol
-- threshold: right_after = 20000: the next call of the host: an operator takes it 5 to 20 us
-- uses: busy, wait_piece
with
copy as (
    select
        o.slice_id, g.launch_id, c.thread_id, c.ts, c.ts_end, c.operator_id, o.bytes, o.bandwidth,
        o.is_pageable,
        -- from pinned memory it takes what the link takes; beside kernels only that can hide
        if(o.is_pageable, coalesce(least(1, o.bandwidth / ($link_share * o.link_bandwidth)), 1), 1) as pinned_share,
        o.position = 'data' and o.category = 'copy_h2d' and (o.is_pageable or o.is_blocking) as is_late
    from copy_overlap as o
    inner join gpu_slice as g using (trace_id, slice_id)
    inner join cpu_slice as c on c.trace_id = o.trace_id and c.slice_id = g.launch_id
    where o.trace_id = $trace_id and o.device = $device
),

-- what copies from pinned memory take can hide beside other work of the step, and no more of it than there is
hidden as (
    select
        b.step,
        least(
            1,
            coalesce(sum(b.ledger_dur) filter (b.category not like 'copy_%'), 0)
            / nullif(sum(b.ledger_dur * k.pinned_share) filter (k.is_late), 0)
        ) as share
    from busy as b
    left join copy as k on k.slice_id = b.slice_id
    group by b.step
),

call as materialized (
    select slice_id, thread_id, ts, name, operator_id
    from cpu_slice
    where trace_id = $trace_id and slice_id in (select call_id from wait_piece)
),

-- a call that waits is the copy's own, or comes right after it
waiting as (
    select h.slice_id as call_id, h.ts, h.name, k.slice_id, k.bytes, k.bandwidth, k.is_pageable
    from call as h
    asof inner join copy as k on k.thread_id = h.thread_id and h.ts >= k.ts
    where
        k.is_late
        and (h.ts - k.ts_end <= $right_after or h.operator_id = k.operator_id)
)

select
    b.step, b.ts, b.dur, b.name, b.slice_id,
    b.ledger_dur * (1 - k.pinned_share * (1 - h.share)) as claimed,
    b.category as cause, null::bigint as gap_id, b.slice_id as busy_id, null as scenario, k.bytes, k.bandwidth,
    k.is_pageable
from busy as b
inner join copy as k on k.slice_id = b.slice_id
inner join hidden as h on h.step = b.step
where b.ledger_dur > 0 and k.is_late
union all
select p.step, p.ts, p.dur, w.name, p.call_id, p.claimed, p.cause, p.gap_id, null, 'idle_sync', w.bytes, w.bandwidth, w.is_pageable
from wait_piece as p
inner join waiting as w using (call_id)
where p.cause = 'idle_sync' or p.next_slice_id is not null
