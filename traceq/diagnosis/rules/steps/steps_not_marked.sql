-- How steps were found where nothing marks them, and the time outside of the GPU's work; long ranges that repeat could mark them.
-- remarks: yes
with
found as (
    select source, count(*) as steps, sum(dur) as dur, min(ts) as ts, max(ts_end) as ts_end
    from step
    where trace_id = $trace_id
    group by source
),

gpu as (
    select min(ts) as ts, max(ts_end) as ts_end
    from gpu_slice
    where trace_id = $trace_id and device = $device
),

-- outermost ranges of one name, so that none counts twice
range as (
    select name, count(*) as times, sum(dur)::bigint as dur
    from cpu_slice
    where trace_id = $trace_id and kind = 'annotation' and annotation_id is null
    group by name, thread_id
    having count(*) >= 3 and sum(dur) >= $range_share * (select dur from found)
    order by sum(dur) desc, name
    limit 3
)

select
    f.source,
    f.steps,
    f.dur as traced_ns,
    case when g.ts is not null then f.dur - (least(g.ts_end, f.ts_end) - greatest(g.ts, f.ts)) end as outside_ns,
    r.name as range,
    r.times,
    r.dur as range_total_ns
from found as f
cross join gpu as g
left join range as r on true
where f.source in ('whole_trace', 'recurrence')
order by r.dur desc nulls last, r.name
