-- GPU work in the order in which it was launched, for traces that nothing marks: a number per name, on the device with most of it.
with
launched as (
    select
        dense_rank() over (order by kind, name) - 1 as number,
        thread_id,
        launched_at as ts,
        ended_at as ts_end
    from (
        select g.kind, g.name, g.slice_id, l.thread_id, l.launched_at, coalesce(c.ts_end, g.ts + g.dur) as ended_at
        from staging.gpu_slice as g
        inner join _gpu_launch as l using (slice_id)
        left join cpu_slice as c on c.slice_id = l.launch_id
        where g.device = (select mode(device) from staging.gpu_slice)
    )
)

select number, thread_id, ts, ts_end
from launched
order by ts, ts_end, number;
