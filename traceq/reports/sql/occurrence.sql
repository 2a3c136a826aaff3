-- Of the pieces of a finding (finding_piece) the one that costs most, then a typical one, with the time to draw around each on
-- $device, and all pieces within that. The typical one is typical of the cost, not of the number: with all that cost more, or
-- as much and are before it, it makes up half of what all cost; none where the worst alone does. Around a piece is a part of its length ($margin), at least $least ns, as many GPU slices
-- as are near, and of the next one on either side the beginning or the end, if it is within $reach ns or five times the length of the piece.
with
piece as materialized (
    select
        * replace (round(ts)::bigint as ts, round(dur)::bigint as dur),
        row_number() over most_first as place,
        count(*) over () as pieces,
        claimed / nullif(sum(claimed) over (), 0) as share,
        sum(claimed) over (most_first rows unbounded preceding) / nullif(sum(claimed) over (), 0) as share_so_far
    from (
        select null::integer as step, null::bigint as ts, null::bigint as dur, null::double as claimed, null::bigint as slice_id
        where false
        union all by name
        from finding_piece
    )
    where ts is not null and dur is not null
    window most_first as (order by claimed desc, step, ts, slice_id)
),

chosen as (
    select *, place > 1 as is_typical
    from piece
    where place = 1 or pieces > 2 and share_so_far >= 0.5 and share_so_far - share < 0.5
),

-- Nulls where no GPU slice is before or after.
neighbour as (
    select
        c.place,
        list_min(max(g.ts, 6) filter (g.ts < c.ts and g.ts > c.ts - greatest(4 * c.dur, 200_000))) as first_near,
        list_max(min(g.ts_end, 6) filter (g.ts >= c.ts + c.dur and g.ts_end < c.ts + c.dur + greatest(4 * c.dur, 200_000))) as last_near,
        max(g.ts_end) filter (g.ts < c.ts and g.ts_end > c.ts - greatest(5 * c.dur, $reach)) as ended,
        min(g.ts) filter (g.ts >= c.ts + c.dur and g.ts < c.ts + c.dur + greatest(5 * c.dur, $reach)) as started
    from chosen as c
    left join gpu_slice as g on g.trace_id = $trace_id and g.device = $device
    group by c.place
),

around as (
    select
        c.*,
        greatest(c.dur * $margin, $least)::bigint as margin,
        least(c.ts - margin, n.first_near, n.ended - $least) as window_ts,
        greatest(c.ts + c.dur + margin, n.last_near, n.started + $least) as window_ts_end
    from chosen as c
    inner join neighbour as n using (place)
)

select
    a.is_typical,
    -- A window has no steps to count.
    if(exists (select 1 from step as s where s.trace_id = $trace_id and s.source = 'window'), null, a.step) as step,
    a.ts,
    a.dur,
    a.slice_id,
    a.pieces,
    a.share,
    greatest(a.window_ts, least(a.ts, $captured)) as window_ts,
    least(a.window_ts_end, greatest(a.ts + a.dur, $captured_end)) as window_ts_end,
    (
        select list({ts: greatest(p.ts, a.window_ts), dur: least(p.ts + p.dur, a.window_ts_end) - greatest(p.ts, a.window_ts)} order by p.ts)
        from piece as p
        where p.place <> a.place and p.ts < a.window_ts_end and p.ts + p.dur > a.window_ts
    ) as others
from around as a
order by a.is_typical
