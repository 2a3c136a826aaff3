-- The claim of a rule over the counted steps, per step, and what fixing it would win if no other rule had a claim. Where the
-- steps cannot be replayed, half of an upper bound is likely. Sums of decimals do not depend on the order of the rows, which
-- changes from run to run; those of doubles do. Without a GPU ($device -2) the step is the training thread's own time: what
-- goes from it goes from the step.
select
    count(*) as instances,
    count(distinct i.step) as steps_with_it,
    sum(i.claimed::decimal(18, 3)) / s.steps as claimed_ns,
    sum((i.claimed * $likely * if(r.scenario is null, 1, coalesce(r.share, 0.5)))::decimal(18, 3)) / s.steps as saving_ns,
    sum((i.claimed * $low * coalesce(r.share_low, if($device = -2, 1, 0)))::decimal(18, 3)) / s.steps as saving_low_ns,
    sum((i.claimed * $high * coalesce(r.share_high, 1))::decimal(18, 3)) / s.steps as saving_high_ns,
    sum(i.claimed::decimal(18, 3)) / s.total as claimed_share,
    max(i.claimed)::double as longest_ns
from rule_instances as i
left join replay as r on r.trace_id = $trace_id and r.scenario = coalesce(i.scenario, i.cause)
inner join step_stats as s on s.trace_id = $trace_id
group by s.steps, s.total
