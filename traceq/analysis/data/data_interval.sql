-- The fetches, as intervals to be cut into what was done in them; which threads train; and the idle time of devices in fetches.
-- reads: _gap, _gap_part, _slice_cut, _training_thread
-- makes: _data_fetch, _data_idle, _data_training, _fetch_interval

create temp table _data_fetch as
select c.slice_id, c.thread_id, c.name, c.ts, coalesce(cut.ts_end, c.ts_end) as ts_end
from cpu_slice as c
left join _slice_cut as cut using (slice_id)
where
    c.context_id is null
    -- ranges that need not nest are in no thread's ledger
    and c.depth is not null
    and (c.kind, c.name) in (select (kind, name) from host_name where context = 'data');

-- Processes train apart: in another than that of the training thread, the threads that launch GPU work do.
create temp table _data_training as
with
training as (
    select thread_id, pid
    from thread
    where thread_id = (from _training_thread)
)

select thread_id
from training
union
select c.thread_id
from (select distinct launch_id from gpu_slice) as g
inner join cpu_slice as c on c.slice_id = g.launch_id
inner join thread as t using (thread_id)
where t.pid not in (select pid from training);

-- An idle instant is idle_data because a slice in a fetch is open on some thread: that says which fetch.
create temp table _data_idle as
select coalesce(c.context_id, c.slice_id) as slice_id, c.thread_id, g.device, g.step, p.dur
from (
    select gap_id, slice_id, sum(ts_end - ts)::bigint as dur
    from _gap_part
    where cause = 'idle_data'
    group by gap_id, slice_id
) as p
inner join _gap as g using (gap_id)
inner join cpu_slice as c on c.slice_id = p.slice_id;

create temp table _fetch_interval as
select slice_id as interval_id, 0 as lane, thread_id, ts, ts_end
from _data_fetch;
