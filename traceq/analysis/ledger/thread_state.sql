-- When threads were on a CPU. Two switches in the same direction have lost the one between: until the second nothing is known.
-- makes: thread_state

insert into thread_state by name
select
    $trace_id as trace_id,
    thread_id,
    ts,
    coalesce(next_ts, last_ts) - ts as dur,
    on_cpu, cpu, reason
from (
    select
        *,
        lead(ts) over thread as next_ts,
        lead(on_cpu) over thread as next_on_cpu,
        max(ts) over () as last_ts
    from staging.thread_switch
    window thread as (partition by thread_id order by ts, on_cpu desc)
)
where on_cpu is distinct from next_on_cpu and coalesce(next_ts, last_ts) > ts and reason is distinct from 'ended'
order by thread_id, ts;
