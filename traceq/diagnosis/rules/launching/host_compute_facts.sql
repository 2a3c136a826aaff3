-- What the launching thread ran on the CPU while the GPU was idle: functions and kinds of work by samples, ranges by time. A step that has more
-- of it than all others together is told apart: what it does is not what each step does.
-- uses: idle
-- threshold: least_share = 0.01: what is worth listing at all (WORTH_LISTING)
with
piece as (
    select p.step, p.gap_id, p.dur, c.name as range_name
    from idle as p
    -- the mark of the step itself says nothing
    left join cpu_slice as c
        on c.trace_id = p.trace_id and c.slice_id = p.cpu_slice_id
        and (c.name, c.ts) not in (select (name, ts) from step where trace_id = $trace_id)
    where p.cause = 'idle_cpu'
),

single as (
    select step, sum(dur)::bigint as dur
    from piece
    group by step
    qualify sum(dur) * 2 > sum(sum(dur)) over () and count(*) over () > 2
),

function as (
    select f.step in (select step from single) as is_single, f.name, f.work, f.samples
    from idle_function as f
    where f.trace_id = $trace_id and f.device = $device and f.cause = 'idle_cpu' and f.gap_id in (select gap_id from piece)
),

usual as (
    select name, work, samples
    from function
    where not is_single
),

fact as (
    select
        (select coalesce(sum(samples), 0) from usual)::bigint as samples,
        exists (from thread_state where trace_id = $trace_id) as is_scheduled,
        exists (from program where trace_id = $trace_id and property = 'language' and value = 'python') as is_python,
        (select max(step) from single) as single_step,
        (select max(dur) from single) as single_ns,
        (
            select name
            from function
            where is_single
            group by name
            order by sum(samples) desc, name
            limit 1
        ) as single_name
)

select w.*, fact.*
from (
    select 'function' as what, name, sum(samples) / sum(sum(samples)) over () as idle_share
    from usual
    group by name
    union all
    select 'work', work, sum(samples) / sum(sum(samples)) over ()
    from usual
    where work is not null
    group by work
    union all
    select 'range', regexp_replace(range_name, '[0-9]+$', ''), sum(dur) / (select sum(dur) from piece)
    from piece
    where range_name is not null
    group by all
    having sum(dur) >= $least_share * (select sum(dur) from piece)
    union all
    select 'nothing', null, 0
) as w
cross join fact
order by w.what, w.idle_share desc, w.name
