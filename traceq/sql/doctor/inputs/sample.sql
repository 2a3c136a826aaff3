-- Time series: allocated memory, and in nsys' files everything else but page faults, which is GPU metrics.
select
    count(*) filter (starts_with(c.name, 'memory_')) as memory_samples,
    count(*) filter (
        t.format = 'nsys' and not starts_with(c.name, 'memory_') and not ends_with(c.name, '_page_faults')
    ) as metric_samples
from counter as c
inner join trace as t using (trace_id)
where c.trace_id = $trace_id
