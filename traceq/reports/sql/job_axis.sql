-- The time of one window of a job by axis of parallelism: sums over its ranks, the group whose ranks spend most time in it, and the ranks
-- that come late most.
with
rank_time as (
    select a.*, r.rank, g.group_size
    from job_axis_rank as a
    inner join job_rank as r using (job, time_window, unit)
    left join job_group as g using (job, time_window, group_id)
    where a.job = $job and a.time_window = $time_window
),

of_group as (
    select
        axis, group_id,
        list(rank order by rank) as ranks,
        sum(dur) / count(*) as dur,
        sum(wait) / count(*) as wait
    from rank_time
    where group_id is not null
    group by axis, group_id
),

slowest as (
    select axis, arg_max(ranks, dur) as ranks, max(dur) as dur, arg_max(wait, dur) as wait
    from of_group
    group by axis
    having count(*) > 1
),

of_rank as (
    select axis, rank, sum(late_count)::bigint as times, sum(late_by)::bigint as late_by
    from rank_time
    where late_count > 0
    group by axis, rank
),

late as (
    select axis, list({'rank': rank, 'times': times, 'late_by': late_by} order by late_by desc, rank)[:3] as ranks
    from of_rank
    group by axis
),

bus as (
    select axis, sum(moved) / nullif(sum(moved_in), 0) as bandwidth
    from job_group
    where job = $job and time_window = $time_window
    group by axis
)

select
    t.axis,
    string_agg(distinct t.axis_source, ', ' order by t.axis_source) as source,
    count(distinct t.group_id) as groups,
    min(t.group_size) as fewest,
    max(t.group_size) as most,
    count(distinct t.unit) as ranks,
    sum(t.collectives)::bigint as collectives,
    sum(t.bytes)::bigint as bytes,
    sum(t.dur)::bigint as dur,
    sum(t.exposed)::bigint as exposed,
    sum(t.transfer)::bigint as transfer,
    sum(t.wait)::bigint as wait,
    sum(t.wait_exposed)::bigint as wait_exposed,
    any_value(b.bandwidth) as bus_gb_per_s,
    any_value(s.ranks) as slowest,
    any_value(s.dur)::bigint as slowest_ns,
    any_value(s.wait)::bigint as slowest_wait,
    any_value(l.ranks) as late
from rank_time as t
left join bus as b on b.axis is not distinct from t.axis
left join slowest as s on s.axis is not distinct from t.axis
left join late as l on l.axis is not distinct from t.axis
group by t.axis
order by sum(t.dur) desc, t.axis
