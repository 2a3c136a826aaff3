-- The idle gaps are the idle segments of each device inside steps.
with
gap as (
    select device, step, ts, dur, count(*) as times
    from idle_gap
    where trace_id = $trace_id
    group by all
),

segment as (
    select device, step, ts, dur, count(*) as times
    from device_activity
    where trace_id = $trace_id and category = 'idle' and step is not null
    group by all
),

judged as (
    select device, ts, g.times is distinct from s.times as is_broken
    from gap as g
    full join segment as s using (device, step, ts, dur)
)

select
    count(*) as checked,
    count(*) filter (is_broken) as broken,
    'device ' || arg_min(device, (ts, device)) filter (is_broken) || ' at ' || min(ts) filter (is_broken) || ' ns' as example
from judged
