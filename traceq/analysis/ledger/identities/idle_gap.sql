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
)

select
    ts,
    device,
    g.times is distinct from s.times as is_broken,
    'device ' || device || ' at ' || ts || ' ns' as place
from gap as g
full join segment as s using (device, step, ts, dur)
