-- Which rows of the timeline are whose: it is stored thread by thread, in order of time.
select thread_id, min(rowid) as first, max(rowid) as last
from _host_timeline
where thread_id in (select thread_id from _host_interval)
group by thread_id
order by thread_id;
