-- What several analyses, rules and reports ask for.

-- For max_by and arg_max: the longest, of several the first. One number orders by two; a struct takes twice as long to compare.
create or replace macro _longest_first(dur, ts) as dur * 18446744073709551616::hugeint - ts;

-- For min_by, max_by and their like: by time, at one time by id. One number, as above.
create or replace macro _in_time(ts, id) as ts * 18446744073709551616::hugeint + id;

-- What a rule claims at least, ns: 20 us, which traces do not tell apart from noise.
create or replace macro _least_claim() as 20000;

-- When the first counted step of each trace begins and when the last one does, ns.
create or replace macro _counted_span() as table
select trace_id, min(ts) as begins, max(ts) as ends
from step
where excluded is null
group by trace_id;

-- The ledger of stretches of a GPU's time: segments has trace_id, device, slice_id, ts and dur; one row per segment and category.
-- By slots of time, of which a GPU has a few times as many as segments: compared all with all they would be millions of millions.
create or replace macro _segment_ledger(segments) as table
with
_stretch as (
    select trace_id, device, slice_id, ts, ts + dur as ts_end
    from query_table(segments)
    where dur > 0
),

_slot as (
    select
        trace_id, device,
        min(ts) as origin,
        max(ts_end) as until,
        greatest((max(ts_end) - min(ts)) // (4 * count(*)), 1) as width
    from _stretch
    group by trace_id, device
),

_activity as (
    select trace_id, device, category, ts, ts + dur as ts_end
    from device_activity
    where category <> 'idle'
    union all
    select trace_id, device, cause as category, ts, ts + dur as ts_end
    from idle_piece
),

_slotted_stretch as (
    select g.*, s.origin, s.width, unnest(range((g.ts - s.origin) // s.width, (g.ts_end - s.origin) // s.width + 1)) as slot
    from _stretch as g
    inner join _slot as s using (trace_id, device)
),

_slotted_activity as (
    select
        a.*,
        unnest(
            range((greatest(a.ts, s.origin) - s.origin) // s.width, (least(a.ts_end, s.until) - s.origin) // s.width + 1)
        ) as slot
    from _activity as a
    inner join _slot as s using (trace_id, device)
    where a.ts_end > s.origin and a.ts < s.until
)

select
    g.trace_id,
    g.slice_id,
    a.category,
    sum(
        greatest(
            least(g.ts_end, a.ts_end, g.origin + (g.slot + 1) * g.width) - greatest(g.ts, a.ts, g.origin + g.slot * g.width), 0
        )
    )::bigint as dur
from _slotted_stretch as g
inner join _slotted_activity as a
    on a.trace_id = g.trace_id and a.device = g.device and a.slot = g.slot and a.ts < g.ts_end and a.ts_end > g.ts
group by all
having dur > 0;
