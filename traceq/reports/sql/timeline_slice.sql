-- What may be drawn of [$ts, $ts_end) on timeline_track but for hosts, cut at the ends. Causes of a gap are laid one after the other.
-- `number` is the slice, the step, or the category's place in the list $categories.
with
-- Segments of the ledger that follow one another with the same category are one.
segment as (
    select
        device, category, ts, ts + dur as ts_end,
        category is distinct from lag(category) over (partition by device order by ts) as is_first
    from device_activity
    where trace_id = $trace_id and ts < $ts_end and ts + dur > $ts
),

run as (
    select *, sum(is_first::integer) over (partition by device order by ts rows unbounded preceding) as number
    from segment
),

gap as (
    select
        g.device,
        c.cause,
        c.dur,
        g.ts + coalesce(sum(c.dur) over (
            partition by c.gap_id order by c.ts, c.cause rows between unbounded preceding and 1 preceding
        ), 0)::bigint as ts
    from idle_gap as g
    inner join idle_gap_cause as c using (trace_id, gap_id)
    where g.trace_id = $trace_id and g.ts < $ts_end and g.ts + g.dur > $ts
),

ledger as (
    select device, category, min(ts) as ts, max(ts_end) as ts_end
    from run
    where category <> 'idle'
    group by device, category, number
    union all
    select device, cause, ts, ts + dur
    from gap
),

slice as (
    select track, 0 as depth, step::bigint as number, ts, ts_end
    from step
    inner join timeline_track on side = 'step'
    where trace_id = $trace_id and source <> 'window'
    union all
    select track, 0, array_position(string_split($categories, ','), category), ts, ts_end
    from ledger as l
    inner join timeline_track as t on t.side = 'ledger' and t.device = l.device
    union all
    select track, 0, slice_id, ts, ts_end
    from gpu_slice as g
    inner join timeline_track as t on t.side = 'gpu' and t.device = g.device and t.number = coalesce(g.stream, -1)
    where g.trace_id = $trace_id and g.ts < $ts_end and g.ts_end > $ts
)

select track, depth, number, greatest(ts, $ts) as ts, least(ts_end, $ts_end) as ts_end
from slice
where ts < $ts_end and ts_end > $ts or ts = ts_end and ts >= $ts and ts < $ts_end
