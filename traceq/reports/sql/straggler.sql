-- Who holds up one window of a job, the worst first.
with
member as (
    select s.place, list(r.rank order by r.unit) as ranks, min_by(r.trace_id, r.unit) as trace_id
    from straggler as s
    inner join job_rank as r on r.job = s.job and r.time_window = s.time_window and list_contains(s.units, r.unit)
    where s.job = $job and s.time_window = $time_window
    group by s.place
)

select
    s.kind,
    s.name,
    m.trace_id,
    m.ranks,
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
inner join member as m using (place)
left join job_rank as u on u.job = s.job and u.time_window = s.time_window and u.unit = s.usual_unit
where s.job = $job and s.time_window = $time_window
order by s.place
