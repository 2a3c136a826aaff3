-- Where a thread that launches is in no slice, the training thread speaks for it, as in the ledger (idle_second_look.sql).
create or replace temp table _path_piece as
select p.interval_id, p.ts, p.ts_end, p.thread_id, p.slice_id, p.activity::varchar as activity
from _host_piece as p;

create or replace temp table _path_again as
select row_number() over (order by p.interval_id, p.ts) - 1 as again_id, p.interval_id, p.ts, p.ts_end
from _path_piece as p
cross join _training_thread as t
where p.slice_id is null and p.thread_id <> t.thread_id;

delete from _host_piece;

create or replace temp table _host_interval as
select a.again_id as interval_id, 0 as lane, t.thread_id, a.ts, a.ts_end
from _path_again as a
cross join _training_thread as t
where t.thread_id is not null;
