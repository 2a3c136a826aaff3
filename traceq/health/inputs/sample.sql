-- Measured GPU metrics: every series of a device but memory and page faults; and those of them that are known per step.
select
    (
        select count(*)
        from counter as c
        where
            c.trace_id = $trace_id
            and c.device is not null
            and c.log_id is null
            and not starts_with(c.name, 'memory_')
            and not ends_with(c.name, '_page_faults')
    ) as metric_samples,
    count(distinct metric) as metrics,
    count(distinct device) as devices_with_metrics
from gpu_metric_step
where trace_id = $trace_id
