-- One that holds up the job: what it saves alone and beside those before it, and the own time of its ranks beyond the usual before
-- collectives for which all waited; ns of all steps.
select
    s.name, r.rank, s.win as saving_ns, s.adds as adds_ns, s.late_steps as late_steps_share, s.cause,
    s.cause_ns,
    count(m.slice_id) filter (m.on_path and m.own > m.usual) as late_arrivals,
    coalesce(sum(greatest(m.own - m.usual, 0)) filter (m.on_path), 0)::bigint as beyond_usual_ns
from straggler as s
inner join job_rank as r on r.job = s.job and r.time_window = s.time_window and list_contains(s.units, r.unit)
left join collective_member as m
    on m.job = r.job and m.time_window = r.time_window and m.unit = r.unit and m.own_begins is not null
where s.job = $job and s.time_window = $time_window and s.place = $place
group by all
order by beyond_usual_ns desc, r.rank
