-- Where to cut the slices of all threads, in the order of thread and time, so that each block holds about $rows of them.
select thread_id, ts
from (
    select thread_id, ts, row_number() over (order by thread_id, ts) as number
    from cpu_slice
    where hash(slice_id) % 1000 = 0
)
where number % greatest($rows // 1000, 1) = 0
order by thread_id, ts;
