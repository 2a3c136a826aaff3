-- Files that the fetching thread, within its fetches, and workers open in the counted steps: how many a step, how large what is read of
-- each is on average, how much of these calls' time opening takes, and the folder of most of them. One row, none where none is opened.
-- uses: counted
with
fetching as (
    select f.thread_id, f.ts, f.ts_end
    from data_fetch as f
    inner join counted using (step)
    where f.trace_id = $trace_id and f.is_training
    union all
    select w.thread_id, s.ts, s.ts_end
    from data_worker as w
    inner join counted using (step)
    inner join step as s using (trace_id, step)
    where w.trace_id = $trace_id and w.role in ('worker', 'prefetch')
),

-- nsys tells bytes and paths where it was asked for them, else only the calls
recorded as (
    select a.operation, a.dur, a.bytes, a.path
    from file_access as a
    inner join fetching as f on f.thread_id = a.thread_id and a.ts >= f.ts and a.ts < f.ts_end
    where a.trace_id = $trace_id and a.operation in ('open', 'read')
),

called as (
    select if(regexp_matches(c.name, 'open'), 'open', 'read') as operation, c.dur, null::bigint as bytes, null::varchar as path
    from cpu_slice as c
    inner join fetching as f on f.thread_id = c.thread_id and c.ts >= f.ts and c.ts < f.ts_end
    where
        c.trace_id = $trace_id
        and c.kind = 'os'
        and regexp_matches(c.name, '^(p?read(v|v2|64)?|f?open(at|64|at64)?|fread(_unlocked)?)$')
        and not exists (from recorded)
)

select
    count(*) filter (operation = 'open') / (select count(*) from counted) as files_per_step,
    sum(bytes) filter (operation = 'read') / count(*) filter (operation = 'open') as bytes_per_file,
    sum(dur) filter (operation = 'open') / sum(dur) as opening_share,
    mode(regexp_extract(path, '^(.*)/[^/]*$', 1)) filter (operation = 'open') as folder
from (
    from recorded
    union all
    from called
)
having count(*) filter (operation = 'open') > 0
