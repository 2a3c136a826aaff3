-- Which ranks waited for which, by collectives that both took part in; see late_rank.sql.
-- uses: matched_collective
select
    s.late_rank, s.late_trace, s.rank as waiting_rank,
    count(*) as collectives,
    sum(c.exposed - s.shortest) / any_value(t.steps) as waiting_ns,
    any_value(t.mean) as step_ns
from matched_collective as s
inner join collective_slice as c on c.trace_id = s.trace_id and c.slice_id = s.slice_id
inner join step as e on e.trace_id = c.trace_id and e.step = c.step
inner join step_stats as t on t.trace_id = s.trace_id
where e.excluded is null and s.ranks > 1 and s.apart < 60000000000 and s.rank <> s.late_rank and c.exposed > s.shortest
group by s.late_rank, s.late_trace, s.rank
order by waiting_ns desc, s.late_rank, s.rank
