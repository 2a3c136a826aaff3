-- Groups whose collectives of one kind (operation, size, number of ranks, within a host or between hosts) transfer slowest against groups of the same
-- kind: the 5th percentile of transfers of each group with at least 8, and the median of these over all groups of the kind.
-- Those first that are slower by more than job.claim_limit (`is_clear`): a tiny message soon takes many times the usual.
-- Incomplete groups are left out, whose transfers hold waiting, as are operations that do not end everywhere at once.
with
host as (
    select
        m.match_id,
        case when count(r.host) < count(*) then 'unknown' when count(distinct r.host) = 1 then 'within a host' else 'between hosts' end
            as level,
        list(r.rank order by r.unit) as ranks
    from collective_member as m
    inner join job_rank as r using (job, time_window, unit)
    where m.job = $job and m.time_window = $time_window and m.match_id is not null
    group by m.match_id
),

best as (
    select
        c.op, c.bytes, c.members, h.level, c.group_id,
        any_value(h.ranks) as ranks,
        count(*) as collectives,
        quantile_disc(c.transfer, 0.05) as best_ns
    from collective_match as c
    inner join host as h using (match_id)
    where
        c.job = $job and c.time_window = $time_window and c.op in ('all_reduce', 'all_gather', 'reduce_scatter')
        and c.bytes is not null and c.members = coalesce(c.group_size, c.members)
    group by c.op, c.bytes, c.members, h.level, c.group_id
    having count(*) >= 8
),

compared as (
    select
        op, bytes, level, ranks, collectives, best_ns,
        median(best_ns) over kind as usual_ns,
        count(*) over kind as groups
    from best
    window kind as (partition by op, bytes, members, level)
)

select
    c.*,
    c.best_ns / c.usual_ns as times_usual,
    c.best_ns - c.usual_ns > coalesce(j.claim_limit, 0) as is_clear
from compared as c
inner join job as j on j.job = $job and j.time_window = $time_window
where c.groups >= 3
order by is_clear desc, times_usual desc, best_ns desc, ranks
limit 16
