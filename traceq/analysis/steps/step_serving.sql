-- Steps of a server, on the one thread (the one GPU) that has most of them.
-- reads: serving_mark
with
chosen as (
    select thread_id
    from serving_mark
    group by thread_id
    order by count(*) desc, thread_id nulls last
    limit 1
)

select coalesce(c.name, a.name) as name, m.thread_id, m.ts, m.ts + m.dur as own_end
from serving_mark as m
left join cpu_slice as c on c.slice_id = m.slice_id and m.thread_id is not null
left join gpu_annotation as a on a.slice_id = m.slice_id and m.thread_id is null
where m.thread_id is not distinct from (from chosen)
order by m.ts;
