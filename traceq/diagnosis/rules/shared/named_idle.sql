-- Idle time within host slices whose names say that they log, or collect garbage ($topic). A gap may hold many such slices, of which
-- idle_piece names one at most: their time before an instant is a running sum, so what is within a gap is a difference.
-- uses: idle, host_slice_name, logging_name
-- categories: idle_allocation, idle_cpu, idle_launch, idle_os, idle_python, idle_sync, idle_unattributed
with
meant as (
    select kind, name
    from logging_name
    where $topic = 'logging'
    union all
    select kind, name
    from host_slice_name
    where
        $topic = 'collection'
        and kind in ('annotation', 'python', 'other', 'overhead')
        and regexp_matches(name, '(?i)^(python[ _])?gc$|^traceq\.phase#(gc|garbage)|\bgc[._:]+collect\b|\bgarbage[ _-]?collect')
        or $topic = 'collection'
        and kind = 'python'
        and regexp_matches(name, '^<built-in (function|method) collect( of .*)?>$')
),

-- The outermost of them; those within the loading of data, a save or a compilation belong to that.
named as (
    select
        slice_id, thread_id, name, ts, ts_end,
        sum(dur) over (partition by thread_id order by ts, slice_id rows between unbounded preceding and current row) - dur as earlier
    from (
        select
            c.*,
            max(c.ts_end) over (
                partition by c.thread_id order by c.ts, c.ts_end desc, c.slice_id rows between unbounded preceding and 1 preceding
            ) as covered
        from cpu_slice as c
        inner join meant using (kind, name)
        where c.trace_id = $trace_id and c.dur > 0 and c.context_id is null
    )
    where covered is null or ts >= covered
),

-- What may be such time: the host was late, and neither waits for input nor is in another context.
piece as (
    select
        p.step, p.ts, p.dur, p.cause, p.gap_id,
        coalesce(c.thread_id, p.thread_id) as thread_id,
        g.ts as gap_ts,
        greatest(g.ts, least(g.ts_end, coalesce(l.ts_end, g.ts_end))) as gap_ts_end
    from idle as p
    inner join idle_gap as g using (trace_id, gap_id)
    left join cpu_slice as c on c.trace_id = p.trace_id and c.slice_id = p.cpu_slice_id
    left join cpu_slice as l on l.trace_id = p.trace_id and l.slice_id = p.launch_slice_id
    where
        p.cause in ('idle_python', 'idle_cpu', 'idle_launch', 'idle_sync', 'idle_os', 'idle_allocation', 'idle_unattributed')
        and exists (from named)
),

inside as (
    select
        p.*, n.slice_id, n.name,
        n.earlier + least(p.gap_ts_end, n.ts_end) - n.ts
        - coalesce(b.earlier + least(p.gap_ts, b.ts_end) - b.ts, 0) as inside_dur,
        sum(p.dur) over (partition by p.gap_id, p.thread_id) as host_dur
    from piece as p
    asof inner join named as n on n.thread_id = p.thread_id and p.gap_ts_end > n.ts
    asof left join named as b on b.thread_id = p.thread_id and p.gap_ts >= b.ts
)

select
    step, ts, dur, name, slice_id,
    dur * least(1, inside_dur / host_dur) as claimed,
    cause,
    gap_id
from inside
where inside_dur > 0
