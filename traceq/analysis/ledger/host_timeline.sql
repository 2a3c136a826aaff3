-- The innermost open slice of each host thread at each instant, without gaps: every start and end of a slice is a boundary, and the
-- beginning of time. After a start the slice that starts is the innermost, after an end the one around it.
-- Where nothing is open, or only a range of a program without Python, whether the thread is on a CPU says what it does, as far as that
-- is known (_host_running); its switches there are boundaries, too.
-- Slices that do not nest (_slice_cut, _slice_outlasting, _slice_ended_under) end as the nesting sweep took them to.

create temp table _host_timeline as
with
slice as (
    select
        c.thread_id,
        c.slice_id,
        c.depth,
        c.ts,
        coalesce(cut.ts_end, c.ts_end) as ts_end,
        coalesce(o.depth, c.depth) as depth_at_end,
        coalesce(o.inside, c.parent_id, -1) as around,
        -- a slice that is cut ends with its parent, which says what is around both
        u.slice_id is null and cut.slice_id is null as ends_in_sight
    from cpu_slice as c
    left join _slice_cut as cut using (slice_id)
    left join _slice_outlasting as o using (slice_id)
    left join _slice_ended_under as u using (slice_id)
    where c.depth is not null and coalesce(cut.ts_end, c.ts_end) > c.ts
),

boundary as (
    select
        thread_id,
        ts,
        -- the deepest of those that start, else what is around the outermost of those that end
        max_by(slice_id, rank) as slice_id
    from (
        select thread_id, ts, slice_id, depth + 1 as rank from slice
        union all
        select thread_id, ts_end, around, -depth_at_end from slice where ends_in_sight
        union all
        select distinct thread_id, -9223372036854775808, -1, 0 from cpu_slice
    )
    group by thread_id, ts
),

-- A pass begins and ends in the midst of slices on the thread that waits for it.
cut as (
    from boundary
    union all
    select distinct p.thread_id, p.t, b.slice_id
    from (select thread_id, unnest([ts, ts_end]) as t from _phase_interval) as p
    asof inner join boundary as b on b.thread_id = p.thread_id and p.t >= b.ts
    where b.ts < p.t
),

segment as (
    select
        b.thread_id,
        b.ts,
        nullif(b.slice_id, -1) as slice_id,
        coalesce(s.activity, 'none'::host_activity) as activity,
        -- between the operators of a pass, too
        coalesce(nullif(s.phase, 'other'), if(b.ts < p.ts_end, p.phase, null), 'other'::host_phase) as phase,
        s.synchronizing_id
    from cut as b
    left join _host_slice as s using (slice_id)
    asof left join _phase_interval as p on p.thread_id = b.thread_id and b.ts >= p.ts
),

-- a switch has what is open around it, whose start the CPU's state at that time goes with
switched as (
    select s.* replace (r.ts as ts), r.state
    from (from _host_running where thread_id in (select thread_id from segment)) as r
    asof inner join segment as s on s.thread_id = r.thread_id and r.ts >= s.ts
    where r.ts > s.ts and s.activity in ('none', 'annotation')
    union all
    select s.*, r.state
    from segment as s
    asof left join _host_running as r on r.thread_id = s.thread_id and s.ts >= r.ts
)

select
    * exclude (state) replace (
        case
            when activity = 'none' then coalesce(state, activity)
            when activity = 'annotation' and thread_id in (from _thread_without_python) then coalesce(state, 'cpu')
            else activity
        end::host_activity as activity
    )
from switched
order by thread_id, ts;
