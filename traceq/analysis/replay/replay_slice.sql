-- GPU work in the order in which it was launched, with what may hold it up: what its stream was told to wait for.
select
    g.slice_id,
    g.launch_id,
    coalesce(t.pid, 0) as pid,
    g.device,
    coalesce(g.stream, -1) as stream,
    case
        when g.is_communication then 'communication'
        when g.kind = 'memcpy' then if(g.copy_kind in ('h2d', 'd2h'), 'copy_' || g.copy_kind, 'copy_other')
        when g.kind = 'memset' then 'memset'
        else 'compute'
    end as category,
    g.ts,
    g.ts_end,
    w.waited_for_id
from gpu_slice as g
inner join cpu_slice as c on c.slice_id = g.launch_id
inner join thread as t using (thread_id)
left join (
    select next_slice_id, max_by(waited_for_id, finished) as waited_for_id
    from stream_wait
    where next_slice_id is not null
    group by next_slice_id
) as w on w.next_slice_id = g.slice_id
where c.ts >= $ts and c.ts < $ts_end
order by c.ts, g.launch_id, g.ts, g.slice_id
