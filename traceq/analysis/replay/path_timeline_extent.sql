-- Which rows of the timeline are a thread's: it is stored thread by thread, in order of time.
-- reads: _host_timeline
select min(rowid) as first, max(rowid) as last
from _host_timeline
where thread_id = $thread_id
