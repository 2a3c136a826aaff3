-- Kineto does not say on which thread the profiler's own work was done, nor does nsys: it stands on rows of its own, and is laid over
-- what the host did at that time, unless a context says more. That of a process that works on GPUs is laid over gaps of these; where
-- either process is unknown (Kineto's has the number -1) over those of all.
-- reads: _gap, _host_slice, _idle_hole, _idle_hole_piece, _idle_piece
-- makes: _host_part, _overhead_extent, _overhead_timeline, _overlaid

create temp table _overhead_span as
with
own_row as (
    select thread_id
    from cpu_slice
    group by thread_id
    having bool_and(kind = 'overhead')
),

working as (
    select distinct g.device, coalesce(g.pid, h.pid) as pid
    from gpu_slice as g
    left join cpu_slice as c on c.slice_id = g.launch_id
    left join thread as h on h.thread_id = c.thread_id
),

lane as (
    select distinct w.device, o.thread_id
    from own_row as o
    inner join thread as h using (thread_id)
    inner join working as w on w.pid = h.pid or w.pid is null or h.pid is null or h.pid < 0
),

-- Of work that overlaps the earlier counts, and only what outlasts it of the later. Ties are broken by what they are, not by their place.
ordered as (
    select
        l.device, c.ts, c.ts_end, c.slice_id,
        max(c.ts_end) over (
            partition by l.device
            order by c.ts, c.ts_end desc, c.name, c.slice_id
            rows between unbounded preceding and 1 preceding
        ) as until
    from lane as l
    inner join cpu_slice as c using (thread_id)
)

select device, greatest(ts, coalesce(until, ts)) as ts, ts_end, slice_id
from ordered
where ts_end > coalesce(until, ts);

-- A thread of its own for each GPU.
create temp table _overhead_thread as
select device, row_number() over (order by device)::integer as thread_id
from (select distinct device from _overhead_span);

create temp table _overhead_point as
select t.thread_id, p.ts, p.slice_id, row_number() over (order by t.thread_id, p.ts) as place
from (
    select device, ts, slice_id from _overhead_span
    union all
    -- nothing after it, unless the next begins at once
    select device, ts_end, null from _overhead_span anti join (select device, ts as ts_end from _overhead_span) using (device, ts_end)
    union all
    select device, -9223372036854775808, null from _overhead_thread
) as p
inner join _overhead_thread as t using (device);

create temp table _overhead_extent as
select thread_id, min(place) - 1 as first, max(place) - 1 as last
from _overhead_point
group by thread_id;

create temp table _overhead_timeline as
select
    p.thread_id, p.ts, p.slice_id,
    coalesce(h.activity, 'none'::host_activity) as activity,
    'other'::host_phase as phase,
    null::bigint as synchronizing_id
from _overhead_point as p
left join _host_slice as h using (slice_id)
order by p.place;

create temp table _host_part as
select p.interval_id as gap_id, g.device, p.thread_id, p.ts, p.ts_end, p.activity, p.slice_id
from _idle_piece as p
inner join _gap as g on g.gap_id = p.interval_id
where p.slice_id is not null or p.activity not in ('none', 'off')
union all
select h.gap_id, h.lane, p.thread_id, p.ts, p.ts_end, p.activity, p.slice_id
from _idle_hole_piece as p
inner join _idle_hole as h using (interval_id)
union all
select gap_id, lane, null, ts, ts_end, 'none', null
from _idle_hole
where thread_id is null;

drop table _idle_hole_piece;

create temp table _overlaid as
select
    row_number() over (order by p.gap_id, p.ts) as interval_id,
    p.gap_id,
    p.device as lane,
    t.thread_id, p.ts, p.ts_end, p.activity, p.slice_id
from _host_part as p
inner join _overhead_thread as t using (device)
where p.activity not in ('data', 'checkpoint', 'compile');
