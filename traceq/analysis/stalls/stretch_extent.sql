-- Which rows of the timeline are those of threads that launch GPU work, or without any of the training thread: it is stored thread by thread.
with
launching as (
    select c.thread_id
    from gpu_slice as g
    inner join cpu_slice as c on c.slice_id = g.launch_id
    group by c.thread_id
)

select thread_id, min(rowid) as first, max(rowid) as last
from _host_timeline
where thread_id in (from launching) or (thread_id in (from _training_thread) and not exists (from launching))
group by thread_id
order by thread_id;
