-- From when on each communication slice held up compute: compute that had been issued, with all before it on its own stream
-- done, and that waited for this slice - the next on its stream, or behind a wait for an event. Several such kernels all wait to
-- the end of the slice, so the first to be ready decides.
-- reads: stream_wait
-- makes: _collective_wait, _tells_waits

-- Streams are numbered per context; two processes on one GPU may both have a stream 7.
create temp table _stream_slice as
select
    g.slice_id, g.device, g.context, g.pid, g.stream, g.ts, g.is_communication,
    not g.is_communication and g.kind in ('kernel', 'graph') as is_compute,
    g.launch_id,
    lead(g.slice_id) over stream as next_slice_id,
    max(g.ts_end) over (stream rows between unbounded preceding and 1 preceding) as free,
    max(g.ts_end) over (stream rows between unbounded preceding and 2 preceding) as free_before
from gpu_slice as g
where g.device in (select device from gpu_slice where is_communication)
window stream as (partition by g.device, g.context, g.pid, g.stream order by g.ts, g.slice_id);

-- What waits for a slice of any kind on the stream of a communication slice: the slice, and when it was ready but for that.
create temp table _held_up as
with
held_up as (
    select s.slice_id as waited_for_id, k.slice_id, k.launch_id, k.free_before as free
    from _stream_slice as s
    inner join _stream_slice as k on k.slice_id = s.next_slice_id
    where s.is_communication and k.is_compute
    union all
    select w.waited_for_id, k.slice_id, k.launch_id, k.free
    from stream_wait as w
    inner join _stream_slice as k on k.slice_id = w.next_slice_id
    where k.is_compute and w.waited_for_id is not null
)

select h.waited_for_id, h.launch_id is null as is_unknown, greatest(c.ts_end, h.free) as ready
from held_up as h
left join cpu_slice as c on c.slice_id = h.launch_id;

-- Waiting for a slice is waiting for all before it on its stream.
create temp table _collective_wait as
with
per_slice as (
    select waited_for_id as slice_id, min(ready) filter (not is_unknown) as ready, bool_or(is_unknown) as is_unknown
    from _held_up
    group by waited_for_id
)

select
    s.slice_id,
    coalesce(p.is_unknown, false) as is_unknown,
    min(p.ready) over (
        partition by s.device, s.context, s.pid, s.stream
        order by s.ts, s.slice_id
        rows between current row and unbounded following
    ) as ready
from _stream_slice as s
left join per_slice as p using (slice_id)
-- all others have nothing to tell
where s.is_communication or p.slice_id is not null
qualify s.is_communication;

-- Whether waits for events could be seen: without synchronization records, or without any recording of an event, only what happens
-- on a single stream is known.
create temp table _tells_waits as
select
    device,
    count(distinct (context, pid, stream)) = 1
    or (
        exists (select 1 from synchronization)
        and ((select count(*) from stream_wait) = 0 or (select count(recorded) from stream_wait) > 0)
    ) as tells_waits
from _stream_slice
group by device;
