-- The training thread's own time in the counted steps, cut wherever a slice of it, or what other threads of its process do, starts
-- or ends: what it is in (category as in host_ledger), and meanwhile elsewhere: communication, operators, or neither (NULL). events:
-- slices of it that begin with the piece, each of which took time to record.
with
training as (
    select t.thread_id, t.pid
    from thread as t
    where t.trace_id = $trace_id and t.thread_id = (select min(thread_id) from host_ledger where trace_id = $trace_id)
),

counted as (
    select step, ts, ts_end
    from step
    where trace_id = $trace_id and excluded is null
),

slice as (
    select c.slice_id, c.parent_id, c.depth, c.ts, c.ts_end
    from cpu_slice as c
    inner join training as t on t.thread_id = c.thread_id
    where c.trace_id = $trace_id and c.depth is not null and c.ts_end > c.ts
),

-- after a start the slice that starts is the innermost, after an end the one around it
boundary as (
    select ts, max_by(slice_id, rank) as slice_id, count(*) filter (rank > 0) as events
    from (
        select ts, slice_id, depth + 1 as rank from slice
        union all
        select ts_end, coalesce(parent_id, -1), -depth from slice
    )
    group by ts
),

busy_elsewhere as (
    select if(h.activity = 'communication', 'communication', 'operators') as what, c.ts, c.ts_end
    from cpu_slice as c
    inner join thread as o on o.trace_id = c.trace_id and o.thread_id = c.thread_id
    inner join training as t on t.pid is not distinct from o.pid and t.thread_id <> o.thread_id
    left join host_name as h on h.trace_id = c.trace_id and h.kind = c.kind and h.name = c.name
    where c.trace_id = $trace_id and (h.activity = 'communication' or c.kind = 'op')
),

-- as disjoint intervals of each kind
elsewhere as (
    select what, min(ts) as ts, max(ts_end) as ts_end
    from (
        select
            * exclude (until),
            count(if(until is null or ts > until, 1, null)) over (
                partition by what order by ts, ts_end rows unbounded preceding
            ) as island
        from (
            select
                *,
                max(ts_end) over (
                    partition by what order by ts, ts_end rows between unbounded preceding and 1 preceding
                ) as until
            from busy_elsewhere
        )
    )
    group by what, island
),

cut as (
    select ts, lead(ts) over (order by ts) as ts_end
    from (
        select ts from boundary
        union
        select ts from elsewhere
        union
        select ts_end from elsewhere
        union
        select ts from counted
        union
        select ts_end from counted
    )
),

piece as (
    select
        s.step,
        c.ts,
        c.ts_end - c.ts as dur,
        nullif(b.slice_id, -1) as slice_id,
        if(b.ts = c.ts, b.events, 0) as events,
        case when k.ts_end > c.ts then 'communication' when o.ts_end > c.ts then 'operators' end as elsewhere
    from cut as c
    asof join counted as s on c.ts >= s.ts
    asof left join boundary as b on c.ts >= b.ts
    asof left join (from elsewhere where what = 'communication') as k on c.ts >= k.ts
    asof left join (from elsewhere where what = 'operators') as o on c.ts >= o.ts
    where c.ts < s.ts_end and exists (from training)
)

select
    p.step, p.ts, p.dur, c.name, p.slice_id,
    c.kind,
    case
        when c.slice_id is null then 'none'
        else coalesce(
            around.context, own.context, if(c.kind = 'os' and caller.kind = 'runtime', coalesce(caller_name.activity, 'launch'), own.activity),
            case c.kind when 'op' then 'operator' when 'overhead' then 'profiler' when 'runtime' then 'launch' else c.kind end
        )
    end as category,
    coalesce(own.phase, phase_name.phase, 'other') as phase,
    p.elsewhere,
    coalesce(c.context_id, c.slice_id) as context_slice_id,
    row_number() over (order by p.ts) as piece_id,
    p.events
from piece as p
left join cpu_slice as c on c.trace_id = $trace_id and c.slice_id = p.slice_id
left join host_name as own on own.trace_id = $trace_id and own.kind = c.kind and own.name = c.name
left join cpu_slice as outermost on outermost.trace_id = $trace_id and outermost.slice_id = c.context_id
left join host_name as around
    on around.trace_id = $trace_id and around.kind = outermost.kind and around.name = outermost.name
left join cpu_slice as marked on marked.trace_id = $trace_id and marked.slice_id = c.phase_id
left join host_name as phase_name
    on phase_name.trace_id = $trace_id and phase_name.kind = marked.kind and phase_name.name = marked.name
left join cpu_slice as caller on caller.trace_id = $trace_id and caller.slice_id = c.parent_id
left join host_name as caller_name
    on caller_name.trace_id = $trace_id and caller_name.kind = caller.kind and caller_name.name = caller.name
where p.dur > 0
