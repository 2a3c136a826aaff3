-- The steps on the training thread: the one that marks them, else the one that launches most, else the one with most operators.

delete from _host_piece;

create temp table _training_thread as
select coalesce(
    (select any_value(thread_id) from step),
    (select c.thread_id from gpu_slice as g inner join cpu_slice as c on c.slice_id = g.launch_id group by c.thread_id order by count(*) desc, c.thread_id limit 1),
    (select thread_id from cpu_slice where kind = 'op' group by thread_id order by count(*) desc, thread_id limit 1),
    (select thread_id from cpu_slice where depth is not null group by thread_id order by count(*) desc, thread_id limit 1)
) as thread_id;

create or replace temp table _host_interval as
select s.step as interval_id, 0 as lane, t.thread_id, s.ts, s.ts_end
from step as s
cross join _training_thread as t
where t.thread_id is not null;
