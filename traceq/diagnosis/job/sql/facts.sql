-- A window of a job with what its ranks have together: the share of waiting in matched collectives, their time from the first counted
-- step to the last, stages, which ranks are here, whether collectives lack a rank of their group and its size is
-- known of all, whether ranks send to each other, and whether all-to-alls run along an axis of experts.
with
member as (
    select
        sum(wait) / nullif(sum(wait) + sum(transfer), 0) as wait_share,
        count(distinct stage) as stages,
        list(rank order by unit) as present
    from job_rank
    where job = $job and time_window = $time_window
),

counted as (
    select sum(l.dur)::bigint as counted
    from job_rank as r
    inner join time_ledger as l on l.trace_id = r.trace_id and l.device = r.device
    inner join step as s on s.trace_id = l.trace_id and s.step = l.step
    inner join _counted_span() as c on c.trace_id = s.trace_id and s.ts between c.begins and c.ends
    where r.job = $job and r.time_window = $time_window
),

matched as (
    select
        -- of the ranks of a group two send and receive
        coalesce(bool_or(members < group_size and op <> 'send_recv'), false) as lacks_members,
        coalesce(bool_and(group_size is not null), false) as knows_groups,
        coalesce(bool_or(op = 'send_recv'), false) as has_sends,
        coalesce(bool_or(op = 'all_to_all'), false) as has_exchanges
    from collective_match
    where job = $job and time_window = $time_window
),

experts as (
    select coalesce(bool_or(list_contains(string_split(axis, '+'), 'ep')), false) as has_experts
    from job_group
    where job = $job and time_window = $time_window
)

select j.*, m.wait_share, m.stages, m.present, c.counted, x.lacks_members, x.knows_groups, x.has_sends,
    x.has_exchanges and e.has_experts as has_experts
from job as j
cross join member as m
cross join counted as c
cross join matched as x
cross join experts as e
where j.job = $job and j.time_window = $time_window
