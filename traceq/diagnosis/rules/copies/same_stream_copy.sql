-- Asynchronous copies of pinned memory in the queue of the stream that computes, as far as compute of the same step could have run beside them.
-- title: Copies on the compute stream
-- finds: Asynchronous copies of pinned memory on the stream that also runs the kernels, while later kernels of the
--   step could have run beside them.
-- matters: Work on one stream runs in order. GPUs have separate engines for copies, but a copy overlaps kernels only if they
--   are on another stream.
-- measured: copy_overlap with is_async_call, pinned memory and a call that returns at once, on a stream with at least half of
--   the time of all kernels (a program that spreads its kernels over streams has done this already), after which the stream's
--   next work starts at once: work that starts later waited for something else. Claimed is the smaller of exposed and
--   could_overlap, the compute that follows in the step; whether that compute needs the copy is not known. Low, likely and high
--   share: 0.2, 0.6 and 1.
-- try: A separate stream for copies, and an event where the data is needed.
-- references: https://docs.pytorch.org/docs/stable/notes/cuda.html#cuda-streams
--   https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/#asynchronous-and-overlapping-transfers-with-computation
-- fix: {{ remedy('copy_back_beside' if pieces[0].direction == 'd2h' else 'copy_beside') }} {{ copies() }} They run on
--   stream {{ pieces | map(attribute='stream') | unique | sort | join(', ') }}, as the kernels do.
-- confidence: medium
-- reason: The kind of memory, the call and the stream are in the trace; whether the kernels after a copy need its data is not.
-- wrong-if: The kernel after each copy needs its data, and nothing else is left to run.
-- heading: Copy on a separate stream
-- needs: gpu, steps, calls, copy_memory
-- about: copies
-- low: 0.2
-- likely: 0.6
-- high: 1.0
-- threshold: spacing = 20000: queued work follows within 1 to 10 us
-- threshold: main_share = 0.5: the stream that has at least half of the kernels' time is the one on which the program
--   computes
-- uses: counted_copy
-- only-with: counted_copy: copy_kind in ('h2d', 'd2h') and is_async_call and not is_pageable and not is_blocking and least(exposed, could_overlap) > 0
with
computing as (
    select stream
    from gpu_slice
    where trace_id = $trace_id and device = $device and kind in ('kernel', 'graph') and not is_communication
    group by stream
    qualify sum(dur) >= $main_share * sum(sum(dur)) over ()
),

next_work as (
    select stream, ts
    from gpu_slice
    where trace_id = $trace_id and device = $device
)

select
    c.step, c.ts, c.dur, c.name, c.slice_id,
    least(c.exposed, c.could_overlap) as claimed,
    c.category as cause, 'copies_overlap' as scenario, c.slice_id as busy_id, c.direction, c.bytes, c.bandwidth,
    c.stream, c.position
from counted_copy as c
-- what starts later waited for something else than the copy
asof inner join next_work as n on n.stream = c.stream and c.ts + c.dur <= n.ts
where
    n.ts - c.ts - c.dur <= $spacing
    and c.copy_kind in ('h2d', 'd2h')
    and c.is_async_call
    and not c.is_pageable
    and not c.is_blocking
    and least(c.exposed, c.could_overlap) > 0
    and c.position not in ('item', 'checkpoint')
    and c.stream in (select stream from computing)
