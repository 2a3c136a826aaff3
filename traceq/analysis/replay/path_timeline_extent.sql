-- Which rows of the timeline are whose: it is stored thread by thread, in order of time.
-- reads: _host_timeline
select thread_id, min(rowid) as first, max(rowid) as last
from _host_timeline
where thread_id in (select unnest($threads::integer[]))
group by thread_id
order by first
