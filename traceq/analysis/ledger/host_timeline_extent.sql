-- Which rows of the timeline are whose, of the threads of intervals. Row ids of a table begin elsewhere until it is committed.
select e.thread_id, t.first + e.first as first, t.first + e.last as last
from _host_extent as e
cross join (select min(rowid) as first from _host_timeline) as t
where e.thread_id in (select thread_id from _host_interval)
order by e.thread_id;
