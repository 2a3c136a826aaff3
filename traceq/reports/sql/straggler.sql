-- Who holds up one window of a job, the worst first.
select
    s.kind,
    s.name,
    r.trace_id,
    s.adds,
    s.win,
    s.late_steps,
    s.cause,
    s.cause_ns,
    s.operator,
    s.operator_dur,
    s.usual_operator_dur,
    u.rank as usual_rank
from straggler as s
left join job_rank as r on r.job = s.job and r.time_window = s.time_window and r.unit = s.units[1]
left join job_rank as u on u.job = s.job and u.time_window = s.time_window and u.unit = s.usual_unit
where s.job = $job and s.time_window = $time_window
order by s.place
