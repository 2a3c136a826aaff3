-- Which rows of the timeline are whose, of the threads of intervals.
from _host_extent
where thread_id in (select thread_id from _host_interval)
order by thread_id;
