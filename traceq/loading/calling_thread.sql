-- XProf records the calls of a driver apart from the frames and ranges of the thread that makes them, on a line of its own that it calls
-- "Host Threads". They belong to the thread of Python that has another slice of its own open at nearly every call: a thread that waits
-- is in the same one all the time.
create temp table _calling_thread as
with
line as (
    select c.thread_id
    from staging.cpu_slice as c
    inner join staging.thread as t using (thread_id)
    where t.thread_name = 'Host Threads'
    group by c.thread_id
    having bool_and(c.kind = 'runtime')
),

call as (
    select c.slice_id, c.thread_id, c.ts, c.ts + c.dur as ts_end
    from staging.cpu_slice as c
    inner join line using (thread_id)
),

framed as (
    select c.slice_id, c.thread_id, c.ts, c.ts + c.dur as ts_end
    from staging.cpu_slice as c
    where
        c.thread_id in (select thread_id from staging.cpu_slice where kind = 'python')
        and c.thread_id not in (select thread_id from call)
        and c.kind in ('annotation', 'op', 'python')
        and not coalesce(c.is_async, false)
),

candidate as (
    select k.*, f.thread_id as framed_id
    from call as k
    cross join (select distinct thread_id from framed) as f
),

inside as (
    select k.thread_id, k.framed_id, count(distinct f.slice_id) as places
    from candidate as k
    asof inner join framed as f on f.thread_id = k.framed_id and k.ts >= f.ts
    where f.ts_end >= k.ts_end
    group by k.thread_id, k.framed_id
)

select i.thread_id, min_by(i.framed_id, {'places': -i.places, 'thread_id': i.framed_id}) as framed_id
from inside as i
inner join (select thread_id, count(*) as calls from call group by thread_id) as c using (thread_id)
-- the greater part, as one slice may make several calls
where i.places > 0.5 * c.calls
group by i.thread_id;

update staging.cpu_slice as c
set thread_id = m.framed_id
from _calling_thread as m
where c.thread_id = m.thread_id;

drop table _calling_thread;
