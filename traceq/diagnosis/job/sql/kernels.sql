-- Kernels of a late rank against those of the ranks of its stage that nobody waits for (their medians), by name and launch geometry, per step of
-- each rank from its first counted one to the last; those first whose time exceeds the usual most. Names are `alike` that are launched as often
-- with the same grids and blocks. Of the time of all kernels of the rank, `same_share` is in such, and `slower_share` of that in kernels that take
-- more than 1.03 times the usual. `slower_ns` is the time beyond the usual in kernels that are alike, `more_ns` what all its kernels take beyond
-- those of the others, less that.
with
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

compared_step as (
    select c.*, s.step, count(*) over (partition by c.unit) as steps
    from compared as c
    inner join step as s using (trace_id)
    inner join _counted_span() as p using (trace_id)
    where s.ts between p.begins and p.ends
),

launched as (
    select
        c.unit, c.is_late, g.name,
        concat_ws('x', g.grid_x, g.grid_y, g.grid_z, 'of', g.block_x, g.block_y, g.block_z) as geometry,
        c.steps,
        count(*) / c.steps as calls,
        median(g.dur) as typical,
        sum(g.dur) / c.steps as dur
    from compared_step as c
    inner join gpu_slice as g on g.trace_id = c.trace_id and g.device = c.device and g.step = c.step
    where g.kind = 'kernel' and not g.is_communication and g.grid_x is not null
    group by c.unit, c.is_late, c.steps, g.name, geometry
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

usual_total as (
    select median(dur) as dur
    from (select sum(dur) as dur from launched where not is_late group by unit)
),

usual_name as (
    select name, sum(dur) as dur, count(*) filter (dur > 0) as geometries
    from usual
    group by name
),

kernel as (
    select
        l.name, l.geometry, l.calls, u.calls as usual_calls, l.typical as typical_ns,
        u.typical as usual_typical_ns,
        l.dur::bigint as late_ns,
        -- ranks record different numbers of steps, and what runs in some steps only is one call off then
        bool_and(coalesce(abs(l.calls - u.calls) * l.steps < 0.9, false)) over (partition by l.name)
        and count(u.calls) over (partition by l.name) = n.geometries as alike,
        -- of a name that is not launched alike its usual time, divided by the time here
        if(alike, u.dur, coalesce(n.dur, 0) * l.dur / sum(l.dur) over (partition by l.name))::bigint as usual_ns
    from launched as l
    left join usual_name as n using (name)
    left join usual as u using (name, geometry)
    where l.is_late
)

select
    *,
    coalesce(sum(late_ns) filter (alike) over (), 0) / sum(late_ns) over () as same_share,
    coalesce(sum(late_ns) filter (alike and typical_ns > 1.03 * usual_typical_ns) over (), 0)
    / nullif(sum(late_ns) filter (alike) over (), 0) as slower_share,
    coalesce(sum(late_ns - usual_ns) filter (alike) over (), 0)::bigint as slower_ns,
    -- what the others never launch may be another way to do what only they launch
    (sum(late_ns) over () - (select dur from usual_total))::bigint - slower_ns as more_ns,
    (select peers from peer) as peers
from kernel
order by late_ns - usual_ns desc, name, geometry
limit 16
