-- What the host did in the counted steps by call path, and what it launched: a row for each path, those around it first. `own_gpu`
-- is the time of the GPU work itself. No call reaches beyond the one around it: what lasts longer than the call that it began in,
-- as a range that a function opens, stands beside that call, which counts until then; 1 us is taken for rounding, as in cpu_slice.parent_id.
with recursive
counted as (
    select step, ts, ts_end, name
    from step
    where trace_id = $trace_id and excluded is null
),

-- Counted steps that follow one another are one period.
period as (
    select min(ts) as ts, max(ts_end) as ts_end
    from (
        select *, sum(is_first) over (order by ts) as number
        from (select ts, ts_end, (ts is distinct from lag(ts_end) over (order by ts))::integer as is_first from counted)
    )
    group by number
),

slice as materialized (
    select slice_id, parent_id, thread_id, kind, name, ts, ts_end
    from cpu_slice
    where trace_id = $trace_id and depth is not null and dur > 0
        -- what the profiler says of itself
        and not (kind = 'other' and category is not distinct from 'Trace')
),

outlives as (
    select s.slice_id, s.ts, s.ts_end, p.slice_id as outlived_id, p.parent_id as beyond_id, 1 as level
    from slice as s
    inner join slice as p on p.slice_id = s.parent_id
    where s.ts_end > p.ts_end + 1000
    union all
    select o.slice_id, o.ts, o.ts_end, p.slice_id, p.parent_id, o.level + 1
    from outlives as o
    inner join slice as p on p.slice_id = o.beyond_id
    where o.ts_end > p.ts_end + 1000
),

placed as (
    select s.* replace (if(o.slice_id is null, s.parent_id, o.beyond_id) as parent_id, least(s.ts_end, cut.ts) as ts_end)
    from slice as s
    left join (select slice_id, arg_max(coalesce(beyond_id, -1), level) as beyond_id from outlives group by slice_id) as o using (slice_id)
    left join (select outlived_id as slice_id, min(ts) as ts from outlives group by outlived_id) as cut using (slice_id)
),

-- Names recur: what they are shown as is worked out once for each.
shown as materialized (
    select *, hash(kind, name) as label
    from (
        select
            s.kind as own_kind,
            s.name as own_name,
            if(regexp_matches(s.name, '^(nn\.Module: |traceq\.module#)'), 'module', s.kind) as kind,
            -- The marks of all steps are one, and so are objects that differ by their address.
            left(
                if(
                    s.name in (select name from counted),
                    regexp_replace(s.name, '\d+$', ''),
                    regexp_replace(s.name, '^nn\.Module: |^traceq\.module#| at 0x[0-9a-f]+', '', 'g')
                ),
                200
            ) as name
        from (select distinct kind, name from slice) as s
    )
),

call as materialized (
    select
        s.slice_id,
        s.parent_id,
        s.thread_id,
        p.ts as period,
        n.label,
        greatest(s.ts, p.ts) as ts,
        least(s.ts_end, p.ts_end) as ts_end
    from placed as s
    inner join period as p on s.ts < p.ts_end and s.ts_end > p.ts
    inner join shown as n on n.own_kind = s.kind and n.own_name = s.name
),

path as (
    select
        slice_id, period, thread_id, ts, ts_end, 1 as level, label, hash(thread_id) as parent, hash(hash(thread_id), label) as path
    from call
    where coalesce(parent_id, -1) not in (select slice_id from slice)
    union all
    select
        c.slice_id, c.period, c.thread_id, c.ts, least(c.ts_end, p.ts_end), p.level + 1, c.label, p.path, hash(p.path, c.label)
    from path as p
    inner join call as c on c.parent_id = p.slice_id and c.period = p.period
    where c.ts < p.ts_end
),

launched as (
    select
        p.path as parent,
        p.level + 1 as level,
        left(g.name, 200) as name,
        case
            when g.is_communication then 'communication'
            when g.kind = 'kernel' then 'compute'
            when g.kind <> 'memcpy' then g.kind
            when g.copy_kind in ('h2d', 'd2h') then 'copy_' || g.copy_kind
            else 'copy_other'
        end as kind,
        g.dur
    from gpu_slice as g
    -- A call that reaches into a second period is there twice.
    left join (select slice_id, arg_min(path, period) as path, min(level) as level from path group by slice_id) as p
        on p.slice_id = g.launch_id
    where g.trace_id = $trace_id and g.step in (select step from counted)
),

thread_of as (
    select p.thread_id, any_value(t.thread_name) as thread_name, sum(p.ts_end - p.ts)::bigint as host
    from path as p
    left join thread as t on t.trace_id = $trace_id and t.thread_id = p.thread_id
    where p.level = 1
    group by p.thread_id
)

select 0 as level, null::ubigint as parent, hash(thread_id) as path, 'thread' as kind,
    concat_ws(' ', thread_id, thread_name) as name, 1::bigint as count, host, 0::bigint as own_gpu
from thread_of
union all
select p.level, p.parent, p.path, n.kind, n.name, p.count, p.host, 0
from (
    select any_value(level) as level, any_value(parent) as parent, path, any_value(label) as label, count(*) as count, sum(ts_end - ts)::bigint as host
    from path
    group by path
) as p
inner join (select label, any_value(kind) as kind, any_value(name) as name from shown group by label) as n using (label)
union all
-- What an unknown call launched stands beside the threads.
select coalesce(any_value(level), 0), parent, hash(parent, kind, name), kind, name, count(*), 0, sum(dur)::bigint
from launched
group by parent, kind, name
order by level, host desc, own_gpu desc, kind, name, path
