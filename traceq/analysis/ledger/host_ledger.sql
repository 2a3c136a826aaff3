-- A group by over pieces of the training thread's timeline: they tile each step, so the parts add up to it.
-- reads: _step_piece
-- makes: host_ledger

insert into host_ledger
select
    $trace_id as trace_id,
    interval_id as step,
    thread_id,
    if(activity in ('cpu', 'off'), if(slice_id is null, 'none', 'annotation'), activity::varchar) as category,
    phase,
    sum(ts_end - ts)::bigint as dur
from _step_piece
group by all
order by step, thread_id, category, phase;
