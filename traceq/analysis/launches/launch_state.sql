-- What surrounds each launch beyond the slices around its call: the phase of training, and how much was queued before it.
-- reads: _host_slice, _host_timeline, _training_thread
-- makes: _launch, launch_state

-- In two statements: one would hold the tables of all its joins at once.
create temp table _launch as
with
-- Where the phase of the training thread changes: its segments lie in the order of time.
turn as (
    select ts, phase
    from (
        select thread_id, ts, phase, lag(phase) over () as previous, lag(thread_id) over () as previous_thread
        from _host_timeline
    )
    where thread_id = (from _training_thread) and (phase <> previous or previous_thread is distinct from thread_id)
)

select
    g.slice_id, g.device, g.launch_id,
    g.ts as started,
    c.thread_id,
    c.ts as launched,
    -- Autograd launches the backward pass from a thread of its own: the training thread says what phase it waits in.
    coalesce(nullif(s.phase, 'other'), t.phase, 'other') as phase
from gpu_slice as g
inner join cpu_slice as c on c.slice_id = g.launch_id
inner join _host_slice as s on s.slice_id = g.launch_id
asof left join turn as t on c.ts >= t.ts;

insert into launch_state
with
-- One call can launch many slices (a graph): it is one launch, which waits until the first of them starts.
call as (
    select device, launch_id, any_value(launched) as launched, min(started) as started
    from _launch
    group by device, launch_id
),

-- At equal times what starts has left the queue, and no launch counts itself.
depth as (
    select device, launch_id, sum(change) over (partition by device order by ts, change, launch_id rows unbounded preceding) - 1 as queue_depth, change
    from (
        select device, launch_id, unnest([launched, greatest(started, launched + 1)]) as ts, unnest([1, -1]) as change
        from call
    )
)

select $trace_id as trace_id, l.slice_id, l.phase, d.queue_depth::bigint as queue_depth
from _launch as l
inner join depth as d on d.device = l.device and d.launch_id = l.launch_id and d.change = 1
order by l.slice_id;
