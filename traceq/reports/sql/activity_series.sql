-- In each of $parts equal parts of the capture the share of time in which a GPU works, of the first $devices of them; and the mean of
-- the samples of each series that hardware counters and monitors recorded of them, of at most $most. Parts without samples are NULL.
with
capture as (
    select ts, dur from trace where trace_id = $trace_id and dur > 0
),

part as (
    select unnest(range($parts)) as part
),

device_shown as (
    select distinct device from gpu_slice where trace_id = $trace_id and device is not null order by device limit $devices
),

work as (
    select device, ts, ts_end from gpu_slice where trace_id = $trace_id and device in (select device from device_shown)
),

stretch as (
    select
        w.device,
        w.ts - c.ts as ts,
        least(w.ts_end - c.ts, c.dur) as ts_end,
        c.dur / $parts as length,
        -- floor, as a cast rounds
        unnest(range(floor((w.ts - c.ts) / length)::bigint, ceil((w.ts_end - c.ts) / length)::bigint + 1)) as part
    from interval_union('work') as w
    cross join capture as c
),

busy as (
    select device, part, sum(greatest(least(ts_end, (part + 1) * length) - greatest(ts, part * length), 0)) / any_value(length) as value
    from stretch
    where part between 0 and $parts - 1
    group by device, part
),

metric as (
    select distinct device, name, metric, 'share' as unit, 0 as place from gpu_metric_step where trace_id = $trace_id
    union all
    select distinct device, name, name, unit, 1
    from counter
    where
        trace_id = $trace_id and device is not null and not starts_with(name, 'memory_')
        and (device, name) not in (select (device, name) from gpu_metric_step where trace_id = $trace_id)
),

chosen as (
    select * from metric where device in (select device from device_shown) order by place, metric, device limit $most
),

sampled as (
    select
        m.device, m.metric, m.unit, m.place,
        least((c.ts - t.ts) * $parts // t.dur, $parts - 1) as part,
        avg(if(m.unit = 'share', c.value / 100, c.value)) as value
    from counter as c
    inner join chosen as m using (device, name)
    cross join capture as t
    where c.trace_id = $trace_id and isfinite(c.value) and c.ts between t.ts and t.ts + t.dur
    group by all
),

series as (
    select -1 as place, device, 'busy' as name, 'share' as unit, part, value from busy
    union all
    select place, device, metric, unit, part, value from sampled
),

-- A GPU that does nothing in a part is busy for none of it; what has no sample is not known.
whole as (
    select s.place, s.device, s.name, s.unit, p.part, coalesce(v.value, if(s.place = -1, 0, null)) as value
    from (select distinct place, device, name, unit from series) as s
    cross join part as p
    left join series as v
        on v.place = s.place and v.device = s.device and v.name = s.name and v.part = p.part
)

select w.device, w.name, w.unit, list(round(w.value, 4) order by w.part) as parts, any_value(c.dur) as span_ns
from whole as w
cross join capture as c
group by w.place, w.device, w.name, w.unit
order by w.place, w.device, w.name
