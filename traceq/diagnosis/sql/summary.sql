-- The claim of a rule over the counted steps, per step, and what fixing it would win if no other rule had a claim. Of a scenario
-- that is claimed in part the replay knows what a quarter of it saves, and all of it: between them it is a straight line, which is
-- no more than it saves. All of it may save more than the ledger holds for it, as what follows goes, too; of waits and of a host that
-- stands still it counts for as long as what comes late after them: so much may come late that the ledger holds as something else. What is not replayed (no
-- row) counts in full, and nothing of it is certain; without a GPU ($device -2) what goes from the training thread goes from the
-- step. Where only bounds are known their middle stands for what is likely.
-- Sums of decimals do not depend on the order of the rows, which changes from run to run; those of doubles do.
select
    count(*) as instances,
    count(distinct i.step) as steps_with_it,
    sum(i.claimed::decimal(18, 3)) / s.steps as claimed_ns,
    any_value(w.likely) / s.steps as saving_ns,
    least(any_value(w.low), any_value(w.likely)) / s.steps as saving_low_ns,
    greatest(any_value(w.high), any_value(w.likely)) / s.steps as saving_high_ns,
    any_value(w.only_bounds) as only_bounds,
    sum(i.claimed::decimal(18, 3)) / s.total as claimed_share,
    max(i.claimed)::double as longest_ns
from rule_instances as i
cross join (
    select
        bool_or(only_bounds) as only_bounds,
        sum(if(is_replayed, least(claimed, part * saved_low) * $low, if($device = -2, claimed * $low, 0))::decimal(18, 3)) as low,
        sum(if(is_replayed, greatest(least(claimed, saved_high), part * saved_high), claimed)::decimal(18, 3)) * $high as high,
        sum(if(
            is_replayed,
            least(
                if(scenario in ('idle_sync', 'host_preempted') and not only_bounds, least(claimed + after, greatest(claimed, part * saved)), claimed) * $likely,
                if(
                    part * $likely <= 0.25,
                    4 * part * $likely * saved_quarter,
                    saved_quarter + (least(part * $likely, 1) - 0.25) / 0.75 * (saved - saved_quarter)
                )
            ),
            claimed * $likely
        )::decimal(18, 3)) as likely
    from (
        select
            c.claimed, c.after, c.scenario,
            r.scenario is not null as is_replayed,
            r.scenario is not null and r.saved is null as only_bounds,
            c.claimed / greatest(r.removable, 1) as part,
            coalesce(r.saved, (r.saved_low + r.saved_high) / 2) as saved,
            if(r.saved is null, (r.saved_low + r.saved_high) / 8, r.saved_quarter) as saved_quarter,
            r.saved_low,
            r.saved_high
        from (
            select coalesce(scenario, cause) as scenario, sum(claimed::decimal(18, 3))::double as claimed,
                coalesce(sum(claimed::decimal(18, 3)) filter (cause <> coalesce(scenario, cause)), 0)::double as after
            from rule_instances
            group by coalesce(scenario, cause)
        ) as c
        left join replay as r on r.trace_id = $trace_id and r.scenario = c.scenario
    )
) as w
inner join step_stats as s on s.trace_id = $trace_id
group by s.steps, s.total
