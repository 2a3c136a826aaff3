-- Stalls while a collective of the same process ran with nothing beside it: what it took beyond its transfer (collective_transfer) it
-- waited for other ranks. As long as the host stood still meanwhile, the GPU would have had to wait for it without them.
-- reads: collective_slice, host_stall
-- makes: stall_cost
insert into stall_cost by name
with
waiting as (
    select s.slice_id, g.device, coalesce(g.pid, t.pid) as pid, g.ts, g.ts_end, s.exposed, s.dur, s.dur - c.transfer as waited
    from collective_slice as s
    inner join gpu_slice as g using (slice_id)
    left join cpu_slice as l on l.slice_id = g.launch_id
    left join thread as t using (thread_id)
    inner join collective_transfer as c using (slice_id)
    where s.exposed > 0 and s.dur > c.transfer
),

overlap as (
    select
        h.stall_id,
        w.slice_id,
        least(h.ts_end, w.ts_end) - greatest(h.ts, w.ts) as dur,
        sum(least(h.ts_end, w.ts_end) - greatest(h.ts, w.ts)) over (partition by w.slice_id) as of_slice,
        w.exposed,
        w.dur as slice_dur,
        w.waited
    from host_stall as h
    inner join thread as t using (thread_id)
    inner join waiting as w on w.pid is not distinct from t.pid and w.ts < h.ts_end and w.ts_end > h.ts
)

select
    $trace_id as trace_id,
    stall_id,
    'communication' as cause,
    slice_id,
    (dur * least(1, exposed / slice_dur, waited / of_slice, exposed / of_slice))::bigint as dur
from overlap
where of_slice > 0
order by stall_id, slice_id;
