-- What is known of the copies of a category: how much of them could run beside compute, and what they wait for.
-- uses: counted
-- threshold: turn_ns = 10000: a launch and its start take 5 to 10 us: what follows within that did not wait for
--   anything else
-- threshold: hiding = 0.1: of the time of the copies: where compute after them could hide less, fewer bytes are what helps
-- threshold: pointless = 0.1: a host computes some ten times slower than a GPU, so that work of a tenth of the time of its copies
--   takes as long there as the copies
-- threshold: pointless_goes = 0.9: some of what is copied is needed on the GPU all the same
-- threshold: hidden_goes = 0.8: some of the compute that could hide copies needs them
with
compute as (
    select step, sum(dur) as dur
    from time_ledger
    where trace_id = $trace_id and device = $device and category = 'compute'
    group by step
),

total as (
    select
        sum(c.exposed) as exposed,
        sum(c.busy) as busy,
        sum(c.overlapped) as overlapped,
        sum(least(c.could_overlap, coalesce(k.dur, 0))) as could_overlap,
        sum(coalesce(k.dur, 0)) as compute
    from copy_total as c
    inner join counted using (step)
    left join compute as k using (step)
    where c.trace_id = $trace_id and c.device = $device and c.category = $category
),

-- Copies of both directions that were asked for while the one before, of the other direction and another stream, was still running, and
-- began when it was done: as if there were one engine for both.
turn as (
    select
        c.category, c.is_pageable, c.is_blocking, g.stream,
        g.ts - lag(g.ts_end) over alike as since,
        lag(g.ts_end) over alike > l.ts_end
        and lag(c.category) over alike <> c.category
        and lag(g.stream) over alike <> g.stream as waits_for_other
    from copy_overlap as c
    inner join gpu_slice as g using (trace_id, slice_id)
    inner join counted on counted.step = c.step
    left join cpu_slice as l on l.trace_id = c.trace_id and l.slice_id = g.launch_id
    where
        c.trace_id = $trace_id
        and c.device = $device
        and (c.category = $category or ($category <> 'copy_other' and c.copy_kind in ('h2d', 'd2h')))
    window alike as (order by g.ts, g.slice_id)
),

fact as (
    select
        any_value(t.exposed) as exposed,
        any_value(t.overlapped) as overlapped,
        any_value(t.busy) as busy,
        any_value(t.could_overlap) as could_overlap,
        any_value(t.compute) as compute,
        count(distinct turn.stream) as streams,
        count(*) filter (turn.is_blocking) as blocking,
        count(*) filter (turn.is_pageable) as pageable,
        count(*) filter (turn.is_pageable = false) as pinned,
        count(*) filter (not turn.is_blocking) as returning,
        count(*) as copies,
        (select any_value(source) <> 'window' from step where trace_id = $trace_id) as recurs,
        (select count(*) filter (waits_for_other and since between 0 and $turn_ns) from turn) as waiting_for_other
    from total as t
    cross join turn
    where turn.category = $category
)

-- Likely goes what compute after the copies could hide, of which some may need them. Where the GPU computes for far less than the
-- copies take, step by step, the host would be done sooner: what that wins is what the work takes less than the copies there.
-- That fewer bytes would do is not in the trace.
select
    *,
    least(1, could_overlap / exposed) as hidden_share,
    if(compute > 0 and recurs, $pointless_goes * greatest(0, 1 - compute / ($pointless * exposed)), 0) as on_host_share,
    on_host_share > $hidden_goes * hidden_share as is_pointless,
    greatest(on_host_share, $hidden_goes * hidden_share)::double as likely
from fact
where exposed > 0
