-- Measured GPU metrics: in nsys' files every series but memory and page faults; and those of them that are known per step.
select
    (
        select count(*)
        from counter as c
        inner join trace as t using (trace_id)
        where
            c.trace_id = $trace_id
            and t.format = 'nsys'
            and not starts_with(c.name, 'memory_')
            and not ends_with(c.name, '_page_faults')
    ) as metric_samples,
    count(distinct metric) as metrics,
    count(distinct device) as devices_with_metrics
from gpu_metric_step
where trace_id = $trace_id
