-- Who holds up the job of one window: _job_straggler with names, causes, and the operator that shows it best.
-- reads: _job_straggler, _job_typical, collective_match, collective_member, device_activity, idle_gap, idle_gap_cause
-- reads: job, job_rank, step
-- makes: _job_late_own, job, straggler

-- What the named ranks did before those arrivals that all waited for, and what the rank with the median time did there. Who is hidden
-- by another one, so that nobody waited for it yet: before all its late arrivals.
create or replace temp table _job_late_own as
select
    g.place, m.unit, m.trace_id, r.device,
    m.own_begins as begins,
    m.own_begins + m.own as ends,
    m.own - m.usual as excess,
    c.step,
    m.on_path,
    u.unit as usual_unit,
    u.trace_id as usual_trace_id,
    ur.device as usual_device,
    u.own_begins as usual_begins,
    u.own_begins + u.own as usual_ends
from _job_straggler as g
inner join collective_member as m on m.job = $job and m.time_window = $time_window and list_contains(g.units, m.unit)
inner join collective_match as c on c.job = m.job and c.time_window = m.time_window and c.match_id = m.match_id
inner join job_rank as r on r.job = m.job and r.time_window = m.time_window and r.unit = m.unit
inner join _job_typical as o on o.trace_id = m.trace_id and o.slice_id = m.slice_id
inner join collective_member as u
    on u.job = m.job and u.time_window = m.time_window and u.trace_id = o.typical_trace_id and u.slice_id = o.typical_slice_id
inner join job_rank as ur on ur.job = u.job and ur.time_window = u.time_window and ur.unit = u.unit
where m.own_begins is not null and m.own - m.usual > $limit
qualify m.on_path or not bool_or(m.on_path) over (partition by g.place);

-- The ledger of those stretches: what the GPU did, or why it had nothing to do.
-- By slots of time, in each of which a GPU has few of both: compared all with all they would be millions of millions.
create or replace temp table _job_late_ledger as
with
stretch as (
    select place, trace_id, device, begins, ends, 1 as sign from _job_late_own
    union all
    select place, usual_trace_id, usual_device, usual_begins, usual_ends, -1 from _job_late_own
),

slot as (
    select
        min(begins) as origin,
        greatest((max(ends) - min(begins)) * count(distinct (trace_id, device)) // (4 * count(*)), 1) as width
    from stretch
),

piece as (
    select trace_id, device, ts, ts + dur as ts_end, category
    from device_activity
    where category <> 'idle'
    union all
    select trace_id, device, ts, ts + dur, cause from idle_piece
),

slotted_stretch as (
    select s.*, w.origin, w.width, unnest(range((s.begins - w.origin) // w.width, (s.ends - w.origin) // w.width + 1)) as slot
    from stretch as s
    cross join slot as w
),

slotted_piece as (
    select
        p.*,
        unnest(range((greatest(p.ts, w.origin) - w.origin) // w.width, (p.ts_end - w.origin) // w.width + 1)) as slot
    from piece as p
    cross join slot as w
    where p.ts_end > w.origin
)

select
    s.place,
    p.category,
    sum(
        s.sign * greatest(
            least(s.ends, p.ts_end, s.origin + (s.slot + 1) * s.width) - greatest(s.begins, p.ts, s.origin + s.slot * s.width), 0
        )
    )::bigint as excess
from slotted_stretch as s
inner join slotted_piece as p
    on p.trace_id = s.trace_id and p.device = s.device and p.slot = s.slot and p.ts < s.ends and p.ts_end > s.begins
group by s.place, p.category;

-- Operators that ranks call equally often correspond by their order. One that holds nothing else shows best what went wrong.
create or replace temp table _job_operator as
with
-- There is nothing to compare within one trace.
asked as (
    select trace_id
    from (select trace_id from _job_late_own union select usual_trace_id from _job_late_own)
    qualify count(*) over () > 1
),

operator as (
    select
        trace_id, slice_id, name, ts, dur,
        row_number() over (partition by trace_id, name order by ts, slice_id) as ordinal,
        count(*) over (partition by trace_id, name) as calls
    from cpu_slice
    where kind = 'op' and trace_id in (from asked)
),

parent as (
    select distinct trace_id, parent_id as slice_id
    from cpu_slice
    where parent_id is not null and trace_id in (from asked)
)

select o.*, p.slice_id is null as is_leaf, r.unit
from operator as o
left join parent as p using (trace_id, slice_id)
inner join job_rank as r on r.job = $job and r.time_window = $time_window and r.trace_id = o.trace_id;

create or replace temp table _job_late_operator as
with
late as (
    select distinct on (l.place, o.slice_id) l.place, o.*
    from _job_late_own as l
    inner join _job_operator as o on o.trace_id = l.trace_id and o.ts < l.ends and o.ts + o.dur > l.begins
),

-- The median of the same call on the other ranks.
compared as (
    select
        l.place, l.slice_id, l.name, l.is_leaf, l.dur,
        quantile_disc(struct_pack(dur := u.dur, unit := u.unit), 0.5) as usual
    from late as l
    inner join _job_operator as u
        on u.name = l.name and u.ordinal = l.ordinal and u.calls = l.calls and u.trace_id <> l.trace_id
    group by all
),

beyond as (
    select
        *,
        dur - usual.dur as excess,
        max(dur - usual.dur) over (partition by place) as most
    from compared
    where dur > usual.dur
)

select
    place, slice_id, name, dur,
    usual.dur as usual_dur,
    usual.unit as usual_unit
from beyond
qualify row_number() over (partition by place order by is_leaf and excess >= 0.1 * most desc, excess desc, slice_id) = 1;

insert into straggler by name
with
late_steps as (
    select l.place, count(distinct l.step) filter (l.on_path) / nullif(any_value(j.steps), 0) as late_steps
    from _job_late_own as l
    inner join job as j on j.job = $job and j.time_window = $time_window and j.steps > 1
    group by l.place
),

caused as (
    select place, arg_max(category, excess) as cause, max(excess) as cause_ns
    from _job_late_ledger
    where excess > 0
    group by place
),

compared as (
    select place, mode(usual_unit) as usual_unit
    from _job_late_own
    group by place
)

select
    $job as job,
    $time_window as time_window,
    g.place, g.kind, g.units,
    case g.kind
        when 'rank' then 'rank ' || (select rank from job_rank where job = $job and time_window = $time_window and unit = g.units[1])
        when 'host' then 'host ' || g.label
        else 'stage ' || g.label
    end as name,
    g.adds, g.win, s.late_steps, c.cause, c.cause_ns,
    coalesce(o.usual_unit, u.usual_unit) as usual_unit,
    o.slice_id as operator_id,
    o.name as operator,
    o.dur as operator_dur,
    o.usual_dur as usual_operator_dur
from _job_straggler as g
left join late_steps as s using (place)
left join caused as c using (place)
left join compared as u using (place)
left join _job_late_operator as o using (place)
where exists (select 1 from job where job = $job and time_window = $time_window and cannot_tell is null)
order by g.place;

update job
set
    pattern = (
        with
        named as (
            select any_value(kind) as kind, count(*) as names
            from straggler
            where job = $job and time_window = $time_window
        ),

        by_step as (
            select c.step, sum(m.own - m.usual) as excess
            from collective_member as m
            inner join collective_match as c using (job, time_window, match_id)
            where m.job = $job and m.time_window = $time_window and m.on_path and m.own - m.usual > $limit
            group by c.step
        ),

        spread as (
            select count(*) as late, sum(excess) as total, sum(excess) filter (place <= 0.1 * $steps) as in_few
            from (select *, row_number() over (order by excess desc) as place from by_step)
        )

        select
            case
                when n.kind = 'stage' then 'stage'
                when $wanders and job.slowdown > 1.05 then 'wandering'
                when n.names > 0 and n.kind <> 'rank' then n.kind
                when $steps >= 10 and s.in_few >= 0.5 * s.total and n.names > 0 then 'transient'
                when n.names = 1 then 'fixed'
                when n.names > 1 then 'alternating'
                else 'none'
            end
        from named as n
        cross join spread as s
    )
where job.job = $job and job.time_window = $time_window and cannot_tell is null;
