-- What the threads that drive GPUs do at each instant, under the name of the idle time it would cause.
select t.thread_id, t.ts, coalesce(c.cause, 'none') as cause
from _host_timeline as t
left join _idle_cause as c on c.activity = t.activity::varchar
where t.thread_id = $thread_id and t.ts < $ts_end
order by t.ts
