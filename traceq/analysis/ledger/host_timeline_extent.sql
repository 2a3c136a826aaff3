-- Which rows of the timeline are whose, of the threads of intervals, and how many intervals each has. Row ids of a table begin elsewhere until it is committed.
select e.thread_id, t.first + e.first as first, t.first + e.last as last, i.intervals
from _host_extent as e
cross join (select min(rowid) as first from _host_timeline) as t
inner join (select thread_id, count(*) as intervals from _host_interval group by thread_id) as i using (thread_id)
order by e.thread_id;
