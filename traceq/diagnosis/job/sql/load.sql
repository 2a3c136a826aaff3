-- What each rank of a job gets in the all-to-alls of its experts, and what even loads would win, ns over all steps: before each all-to-all
-- that brings tokens back, its own time beyond the mean of its group, and no more of it than the load beyond the mean explains.
-- `beyond_ns` is its own time beyond the usual before all collectives, `group_gain_ns` the sum of the most that a rank of its group would win
-- before each.
with
exchanged as (
    select
        e.unit, e.group_id, e.match_id, e.is_return, e.own, m.usual,
        avg(e.own) over (partition by e.match_id) as mean_own,
        lag(e.load) over (partition by e.unit, e.group_id, e.step order by e.place) as load,
        lag(e.is_return) over (partition by e.unit, e.group_id, e.step order by e.place) as follows_return
    from job_exchange as e
    inner join collective_member as m using (job, time_window, match_id, unit)
    where e.job = $job and e.time_window = $time_window and list_contains(string_split(e.axis, '+'), 'ep')
),

gained as (
    select
        *,
        if(load > 1, greatest(least(own - mean_own, own * (1 - 1 / load)), 0), 0) as gain,
        max(if(load > 1, greatest(least(own - mean_own, own * (1 - 1 / load)), 0), 0)) over (partition by match_id) as most_gain
    from exchanged
    where is_return and not follows_return
),

of_rank as (
    select group_id, unit, sum(gain)::bigint as gain_ns, sum(most_gain)::bigint as group_gain_ns
    from gained
    group by group_id, unit
),

beyond as (
    select unit, sum(greatest(own - usual, 0))::bigint as beyond_ns
    from collective_member
    where job = $job and time_window = $time_window
    group by unit
)

select
    r.unit, r.rank, l.load, l.most, l.rows, l.received as received_bytes, l.mean as mean_bytes,
    o.gain_ns, b.beyond_ns, o.group_gain_ns,
    (select list(m.rank order by m.unit) from job_rank as m
    where m.job = l.job and m.time_window = l.time_window and list_contains(g.units, m.unit)) as ranks
from job_load as l
inner join job_rank as r using (job, time_window, unit)
inner join job_group as g using (job, time_window, group_id)
inner join of_rank as o on o.group_id = l.group_id and o.unit = l.unit
left join beyond as b on b.unit = l.unit
where l.job = $job and l.time_window = $time_window and l.load is not null
order by o.gain_ns desc, l.load desc, r.unit
limit 64
