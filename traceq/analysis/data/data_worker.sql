-- reads: _data_worker_step, _work_in, _worker_piece
-- makes: data_worker
insert into data_worker
select
    $trace_id as trace_id,
    w.step, w.thread_id, w.role,
    w.ts_end - w.ts as dur,
    coalesce(sum(p.dur) filter (p.part not in ('waiting', 'none')), 0)::bigint as active,
    coalesce(sum(p.dur) filter (p.part = 'waiting'), 0)::bigint as waiting,
    case when w.has_waits then w.ts_end - w.ts - coalesce(sum(p.dur) filter (p.part = 'waiting'), 0) end::bigint as busy
from _data_worker_step as w
left join _work_in('_worker_piece') as p using (interval_id)
group by w.interval_id, w.step, w.thread_id, w.role, w.ts, w.ts_end, w.has_waits
order by w.step, w.thread_id;
