-- Whether threads are on a CPU, from where on, as activities of the host: cpu, off, none where that is not known. The scheduler says it;
-- where it was not recorded, samples do: between two that are at most two periods apart the thread was on a CPU all the time, and a
-- sample stands for half a period to either side.
-- makes: _host_running, _thread_without_python

create temp table _host_running as
with
scheduled as (
    select thread_id, ts, ts_end, if(on_cpu, 'cpu', 'off') as state
    from thread_state
),

near as (
    select
        thread_id,
        ts,
        ts - lag(ts) over (partition by thread_id order by ts) as apart
    from cpu_sample
    where thread_id not in (select thread_id from thread_state)
),

run as (
    select n.thread_id, n.ts, p.period, count_if(n.apart is null or n.apart > 2 * p.period) over (
        partition by n.thread_id order by n.ts rows unbounded preceding
    ) as run
    from near as n
    inner join (select thread_id, quantile_disc(apart, 0.5) as period from near where apart > 0 group by thread_id) as p using (thread_id)
),

sampled as (
    select thread_id, min(ts) - any_value(period) // 2 as ts, max(ts) + any_value(period) // 2 as ts_end, 'cpu' as state
    from run
    group by thread_id, run
),

known as (
    from scheduled
    union all
    from sampled
)

-- after the end of one nothing is known, unless the next begins there
select thread_id, ts, coalesce(nullif(max(state), ''), 'none')::host_activity as state
from (
    select thread_id, ts, state from known
    union all
    select thread_id, ts_end, '' from known
)
group by thread_id, ts
order by thread_id, ts;

-- Threads of processes that are known to run something else than Python: a range in them is code of another language.
create temp table _thread_without_python as
with
python_process as (
    select pid
    from thread
    where
        process_name is null
        or regexp_matches(process_name, '^(python|pytest|torchrun|VLLM::|sglang::)')
        or regexp_matches(thread_name, '^(python|pt_main_thread)')
    union
    select pid
    from thread
    where
        thread_id in (select distinct thread_id from cpu_slice where kind in ('python', 'op'))
        or thread_id in (select distinct thread_id from cpu_sample where regexp_matches(module, '^(lib)?python\d'))
)

select thread_id
from thread
where pid is not null and pid not in (select pid from python_process where pid is not null);
