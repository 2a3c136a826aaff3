-- Segments of 1 ms and more of threads that launch GPU work, or without any of the training thread: calls and operators take
-- microseconds, and the shortest tick of a scheduler is a millisecond. The timeline is stored thread by thread, so that the rows
-- before and after one are its neighbours. Neither the first of a thread, all time before its first slice, nor its last, which has no end.
-- reads: _host_timeline, _training_thread
-- makes: _long_stretch
create temp table _long_stretch as
with
launching as (
    select c.thread_id
    from gpu_slice as g
    inner join cpu_slice as c on c.slice_id = g.launch_id
    group by c.thread_id
),

segment as (
    select
        rowid as place,
        thread_id,
        ts,
        lead(ts) over () as ts_end,
        slice_id,
        activity,
        lag(slice_id) over () as before_id,
        lead(slice_id) over () as after_id,
        lag(thread_id) over () as thread_before,
        lead(thread_id) over () as thread_after
    from _host_timeline
)

select * exclude (thread_before, thread_after)
from segment
where
    thread_id = thread_before
    and thread_id = thread_after
    and ts_end - ts >= 1000000
    and (thread_id in (from launching) or (thread_id in (from _training_thread) and not exists (from launching)))
order by place;
