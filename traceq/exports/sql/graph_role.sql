-- Work of graphs, on devices where it spreads over more than $most_streams streams, by role: compute, communication, copies. A replay
-- shows every branch of a graph on a stream of its own, of which the program has none.
with
many as (
    select device
    from gpu_slice
    where trace_id = $trace_id and graph_id is not null and kind <> 'graph'
    group by device
    having count(distinct stream) > $most_streams
)

select
    {
        'device': g.device,
        'role': case
            when k.family = 'communication' or g.slice_id in (select slice_id from collective_slice where trace_id = $trace_id) then -3
            when g.kind = 'kernel' then -4
            else -2
        end
    } as track,
    g.slice_id, g.ts, g.ts_end
from gpu_slice as g
inner join many using (device)
left join kernel_occupancy as k on k.trace_id = g.trace_id and k.slice_id = g.slice_id
where g.trace_id = $trace_id and g.graph_id is not null and g.kind <> 'graph'
order by track, g.ts, g.ts_end desc, g.slice_id
