-- The ledger of each GPU as a timeline: what runs, and why nothing does. Per step and category the segments add up to time_ledger.
with
activity as (
    select
        device,
        step,
        category,
        ts,
        dur,
        -- one after the other, of one category: one segment
        coalesce(
            lag(category) over track <> category or lag(step) over track <> step or lag(ts + dur) over track <> ts, true
        ) as is_new
    from device_activity
    where trace_id = $trace_id and step is not null and category <> 'idle' and ts <= $until and ts + dur >= $since
    window track as (partition by device order by ts, dur)
),

busy as (
    select device, step, any_value(category) as category, min(ts) as ts, sum(dur)::bigint as dur, null as slice_id
    from (
        select *, count_if(is_new) over (partition by device order by ts, dur rows unbounded preceding) as segment
        from activity
    )
    group by device, step, segment
),

-- The causes of a gap one after the other, in the order in which each begins: a cause that comes in several pieces is drawn as one.
idle as (
    select
        g.device,
        g.step,
        c.cause as category,
        (
            g.ts
            + coalesce(
                sum(c.dur) over (
                    partition by c.gap_id
                    order by c.ts, c.cause
                    rows between unbounded preceding and 1 preceding
                ),
                0
            )
        )::bigint as ts,
        c.dur,
        c.cpu_slice_id as slice_id
    from idle_gap_cause as c
    inner join idle_gap as g using (trace_id, gap_id)
    where c.trace_id = $trace_id and g.ts <= $until and g.ts_end >= $since
)

select
    _slice(
        '"traceq"',
        '"' || s.category || '"',
        t.pid,
        t.tid,
        s.ts - $origin,
        s.dur,
        concat_ws(',', '"step":' || s.step, '"host":' || _quoted(c.name, $most))
    ) as event,
    8 as level,
    s.dur
from (from busy union all from idle) as s
inner join _track as t on t.place = 'ledger' and t.a = s.device
left join cpu_slice as c on c.trace_id = $trace_id and c.slice_id = s.slice_id
where s.dur > 0 and s.ts <= $until and s.ts + s.dur >= $since
order by s.device, s.ts
