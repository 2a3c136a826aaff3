-- Idle time under fetches that mostly read files, or whose workers mostly do; what reading takes of it.
-- uses: idle
-- categories: idle_data
with
-- of the time in which workers do not wait, that in calls that read
worker as (
    select
        (
            select coalesce(sum(c.dur), 0)
            from cpu_slice as c
            inner join (
                select d.thread_id, min(s.ts) as ts, max(s.ts_end) as ts_end
                from data_worker as d
                inner join step as s using (trace_id, step)
                where d.trace_id = $trace_id and d.role = 'worker' and d.busy is not null
                group by d.thread_id
            ) as w using (thread_id)
            where
                c.trace_id = $trace_id
                and c.kind = 'os'
                and c.ts >= w.ts
                and c.ts < w.ts_end
                and regexp_matches(c.name, '^(p?read(v|v2|64|ahead)?|f?open(at|64|at64)?|fread(_unlocked)?|l?stat(x|64)?|io_(submit|getevents))$')
        ) / nullif(sum(busy), 0) as reading_share
    from data_worker
    where trace_id = $trace_id and role = 'worker'
),

fetched as (
    select
        slice_id,
        loader,
        dur,
        if(
            coalesce(loader_kind, 'multi_process') = 'multi_process',
            greatest(reading / nullif(dur, 0), least(1, coalesce((select reading_share from worker), 0))),
            reading / nullif(dur, 0)
        ) as reading_share
    from data_fetch
    where trace_id = $trace_id
)

select
    p.step,
    p.ts,
    p.dur,
    f.loader as name,
    f.slice_id,
    p.dur * f.reading_share as claimed,
    p.cause,
    p.gap_id,
    f.dur as fetch_ns,
    f.reading_share
from idle as p
inner join cpu_slice as c on c.trace_id = p.trace_id and c.slice_id = p.cpu_slice_id
inner join fetched as f on f.slice_id = coalesce(c.context_id, c.slice_id)
where
    p.cause = 'idle_data'
    and f.reading_share >= $least_reading
