-- Samples of allocated memory, and the devices of which they tell anywhere and in steps, with and without their capacity.
select
    count(*) as memory_samples,
    count(*) filter (is_total) as memory_samples_total,
    count(distinct device) filter (memory = 'device') as devices_sampled,
    (select count(distinct device) from memory_step where trace_id = $trace_id and memory = 'device') as devices_with_memory,
    (
        select count(distinct device)
        from memory_step
        where trace_id = $trace_id and memory = 'device' and capacity is not null
    ) as devices_with_capacity
from memory_timeline
where trace_id = $trace_id
