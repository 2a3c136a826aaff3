-- The experts of a mixture that get most, against the mean of their layer, with how many experts and layers there are.
select
    place,
    expert,
    sum(calls)::bigint as calls,
    if(count(tokens) = count(*), sum(tokens), null)::bigint as tokens,
    sum(dur)::bigint as dur_ns,
    max(load) as load,
    count(*) over () as experts,
    count(distinct place) over () as layers
from expert_work
where trace_id = $trace_id
group by place, expert
order by load desc nulls last, dur_ns desc, place, expert
limit $top
