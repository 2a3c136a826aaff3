-- Threads that prepare input beside the training threads, and the steps on them.
-- reads: _data_fetch, _data_training, step
-- makes: _data_worker_step

create temp table _data_worker as
with
-- All threads of a worker process have its name; only its first one makes batches, the others hand them over.
named as (
    select
        thread_id,
        case when regexp_matches(thread_name, '^pt_data_pin') then 'pin_memory' else 'worker' end as role
    from thread
    where regexp_matches(thread_name, '^pt_data_(worker|pin)')
    qualify role = 'pin_memory' or tid = pid or not coalesce(bool_or(tid = pid) over (partition by pid), false)
),

running as (
    select thread_id, if(bool_or(contains(name, '_utils/pin_memory.py')), 'pin_memory', 'worker') as role
    from cpu_slice
    where kind = 'python' and regexp_matches(name, 'torch/utils/data/_utils/(worker|pin_memory)\.py.*: (_worker_loop|_pin_memory_loop|do_one_step)$')
    group by thread_id
),

fetching as (
    select distinct thread_id, 'prefetch' as role
    from _data_fetch
),

known as (
    select thread_id, min_by(role, preference) as role
    from (
        select thread_id, role, 1 as preference from named
        union all
        select thread_id, role, 2 from running
        union all
        select thread_id, role, 3 from fetching
    )
    where thread_id not in (from _data_training)
    group by thread_id
)

select k.thread_id, k.role, e.ts, e.ts_end, e.has_waits
from known as k
inner join (
    select thread_id, min(ts) as ts, max(ts_end) as ts_end, bool_or(kind = 'os') as has_waits
    from cpu_slice
    where thread_id in (select thread_id from known) and depth is not null
    group by thread_id
) as e using (thread_id);

create temp table _data_worker_step as
select
    row_number() over (order by w.thread_id, s.step) as interval_id,
    s.step,
    0 as lane,
    w.thread_id, w.role, w.has_waits,
    greatest(s.ts, w.ts) as ts,
    least(s.ts_end, w.ts_end) as ts_end
from _data_worker as w
cross join step as s
where greatest(s.ts, w.ts) < least(s.ts_end, w.ts_end);

