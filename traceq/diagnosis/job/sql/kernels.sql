-- Kernels of a late rank against those of the ranks of its stage that nobody waits for (their medians), by name and launch geometry, from the first
-- counted step to the last; those first whose time exceeds the usual most. Names are `alike` that are launched as often with the same grids and blocks. Of the
-- time of all, `same_share` is in such, and `slower_share` of that in kernels that take more than 1.03 times the usual. `more_ns` is the time beyond
-- the usual in kernels that the others launch less often or with other grids, `slower_ns` that in the same ones.
with
span as (
    select trace_id, min(ts) as begins, max(ts) as ends
    from step
    where excluded is null
    group by trace_id
),

late as (
    select r.unit, r.stage
    from straggler as s
    inner join job_rank as r on r.job = s.job and r.time_window = s.time_window and list_contains(s.units, r.unit)
    where s.job = $job and s.time_window = $time_window and s.place = $place
),

compared as (
    select r.unit, r.trace_id, r.device, r.unit in (select unit from late) as is_late
    from job_rank as r
    where
        r.job = $job and r.time_window = $time_window and r.stage in (select stage from late)
        and (
            r.unit in (select unit from late)
            or not exists (
                from straggler as s
                where s.job = r.job and s.time_window = r.time_window and list_contains(s.units, r.unit)
            )
        )
),

launched as (
    select
        c.unit,
        c.is_late,
        g.name,
        concat_ws('x', g.grid_x, g.grid_y, g.grid_z, 'of', g.block_x, g.block_y, g.block_z) as geometry,
        count(*) as calls,
        median(g.dur) as typical,
        sum(g.dur) as dur
    from compared as c
    inner join gpu_slice as g on g.trace_id = c.trace_id and g.device = c.device
    inner join step as s on s.trace_id = g.trace_id and s.step = g.step
    inner join span as p on p.trace_id = s.trace_id and s.ts between p.begins and p.ends
    where g.kind = 'kernel' and not g.is_communication and g.grid_x is not null
    group by all
),

peer as (
    select count(*) filter (not is_late) as peers
    from compared
),

usual as (
    select
        l.name,
        l.geometry,
        median(l.calls) as calls,
        median(l.typical) as typical,
        -- of ranks that launch none it is 0
        if(2 * count(*) > any_value(p.peers), median(l.dur), 0) as dur
    from launched as l
    cross join peer as p
    where not l.is_late
    group by l.name, l.geometry
),

usual_name as (
    select name, sum(dur) as dur, count(*) filter (dur > 0) as geometries
    from usual
    group by name
),

kernel as (
    select
        l.name,
        l.geometry,
        l.calls,
        u.calls as usual_calls,
        l.typical as typical_ns,
        u.typical as usual_typical_ns,
        l.dur::bigint as late_ns,
        coalesce(bool_and(l.calls = u.calls) over (partition by l.name), false)
        and count(u.calls) over (partition by l.name) = n.geometries as alike,
        -- of a name that is not launched alike its usual time, divided by the time here
        if(alike, u.dur, n.dur * l.dur / sum(l.dur) over (partition by l.name))::bigint as usual_ns
    from launched as l
    -- what the others never launch may be another way to do the same
    inner join usual_name as n using (name)
    left join usual as u using (name, geometry)
    where l.is_late
)

select
    *,
    coalesce(sum(late_ns) filter (alike) over (), 0) / sum(late_ns) over () as same_share,
    coalesce(sum(late_ns) filter (alike and typical_ns > 1.03 * usual_typical_ns) over (), 0)
    / nullif(sum(late_ns) filter (alike) over (), 0) as slower_share,
    coalesce(sum(late_ns - usual_ns) filter (alike) over (), 0)::bigint as slower_ns,
    coalesce(sum(late_ns - usual_ns) filter (not alike) over (), 0)::bigint as more_ns,
    (select peers from peer) as peers
from kernel
order by late_ns - usual_ns desc, name, geometry
limit 16
