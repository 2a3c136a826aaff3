-- The critical path of the counted steps that were replayed, and how close the replay of each came.
with
path as (
    select count(distinct p.step) as steps, sum(p.dur)::bigint as dur, sum(p.unexplained)::bigint as unexplained
    from critical_path as p
    inner join step as s using (trace_id, step)
    where p.trace_id = $trace_id and s.excluded is null
),

replayed as (
    select median(r.error) as usual, max(r.error) as most
    from replay_step as r
    inner join step as s using (trace_id, step)
    where r.trace_id = $trace_id and s.excluded is null
)

select
    p.steps,
    coalesce(p.dur, 0) as dur_ns,
    p.unexplained as unexplained_ns,
    r.usual as median_error_share,
    r.most as largest_error_share
from path as p
cross join replayed as r
