-- data_stall: per step what the training thread waits for input, and what that costs the device it costs most.
-- reads: _data_copy, _data_idle, _training_thread, data_fetch, data_worker, host_ledger, step, time_ledger
-- makes: data_stall

insert into data_stall by name
with
host as (
    select
        (from _training_thread) as thread_id,
        -- where nothing names fetching there may be all the fetching one likes
        (select count(*) > 0 from data_fetch where thread_id = (from _training_thread)) as is_named,
        exists (from data_worker where role <> 'pin_memory') as has_workers
),

wait as (
    select step, sum(dur)::bigint as dur
    from host_ledger
    where category = 'data'
    group by step
),

fetched as (
    select
        step,
        count(*) as fetches,
        max(dur) as longest_fetch,
        (sum(dur + coalesce(iterator_dur, 0)) filter (is_first))::bigint as first_fetch,
        sum(columns(['waiting', 'reading', 'transform', 'python', 'calls', 'unexplained']))::bigint
    from data_fetch
    where thread_id = (from _training_thread)
    group by step
),

loader as (
    select step, max_by({'loader': loader, 'kind': loader_kind}, dur order by loader) as used
    from (
        select step, loader, any_value(loader_kind) as loader_kind, sum(dur) as dur
        from data_fetch
        where thread_id = (from _training_thread)
        group by step, loader
    )
    group by step
),

worker as (
    select
        step,
        count(*) as workers,
        case when bool_and(busy is not null) then sum(busy) / nullif(sum(dur), 0) end as worker_busy
    from data_worker
    where role <> 'pin_memory'
    group by step
),

-- What launched a copy decides whether it is one of input.
launched as (
    select device, coalesce(bool_and(launch_id is not null) filter (kind = 'memcpy' and copy_kind = 'h2d'), true) as is_known
    from gpu_slice
    group by device
),

cost as (
    select d.device, s.step, coalesce(i.dur, 0) as idle_data, case when d.is_known or c.dur is not null then coalesce(c.dur, 0) end as input_copy
    from launched as d
    cross join step as s
    left join time_ledger as i on i.device = d.device and i.step = s.step and i.category = 'idle_data'
    left join _data_copy as c on c.device = d.device and c.step = s.step
),

worst as (
    select step, min_by({'device': device, 'idle_data': idle_data, 'input_copy': input_copy}, {'cost': -idle_data - coalesce(input_copy, 0), 'device': device}) as cost
    from cost
    group by step
),

-- Of the device's idle time, what the training thread itself explains: other processes have devices and fetches of their own.
own_idle as (
    select device, step, sum(dur)::bigint as dur
    from _data_idle
    where thread_id = (from _training_thread)
    group by device, step
)

select
    $trace_id as trace_id,
    s.step,
    h.thread_id,
    w.cost.device as device,
    case when h.is_named then coalesce(wait.dur, 0) end as data_wait,
    case when h.is_named then w.cost.idle_data + coalesce(w.cost.input_copy, 0) else nullif(w.cost.idle_data + coalesce(w.cost.input_copy, 0), 0) end as data_stall,
    case when h.is_named then w.cost.idle_data else nullif(w.cost.idle_data, 0) end as idle_data,
    w.cost.input_copy as input_copy,
    case when h.is_named and w.cost.device is not null then coalesce(wait.dur, 0) - coalesce(o.dur, 0) end as hidden,
    case when h.thread_id is not null then coalesce(f.fetches, 0) end as fetches,
    f.longest_fetch,
    f.first_fetch,
    l.used.loader as loader,
    l.used.kind as loader_kind,
    if(h.is_named, coalesce(columns(f.* exclude (step, fetches, longest_fetch, first_fetch)), 0), null),
    case when h.has_workers then coalesce(k.workers, 0) when l.used.kind = 'in_process' then 0 end as workers,
    k.worker_busy
from step as s
cross join host as h
left join wait on wait.step = s.step
left join fetched as f on f.step = s.step
left join loader as l on l.step = s.step
left join worker as k on k.step = s.step
left join worst as w on w.step = s.step
left join own_idle as o on o.step = s.step and o.device = w.cost.device
order by s.step;
