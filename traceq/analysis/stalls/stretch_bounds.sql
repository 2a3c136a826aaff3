-- Where the segments of a block of one thread's timeline begin.
select ts
from _host_timeline
where rowid between $first and $last
order by ts;
