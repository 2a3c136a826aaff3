-- How much later than the usual rank each rank came to the collectives of one window of a job by its own work: per step, of a job of
-- one step per collective, in the order of time; less than the claim limit is not late. Neighbours are joined so that at most 120
-- columns are left. Arrivals tell nothing of a pipeline, whose stages come one after the other.
with
member as (
    select
        r.rank,
        c.match_id,
        m.step,
        m.ts_end,
        if(c.own_begins is null, 0, c.own - c.usual) as late_by
    from collective_member as c
    inner join collective_match as m using (job, time_window, match_id)
    inner join job_rank as r using (job, time_window, unit)
    where c.job = $job and c.time_window = $time_window
),

several as (
    select count(distinct step) > 1 as steps
    from member
),

placed as (
    select
        rank,
        late_by,
        dense_rank() over (order by if(steps, step, null), if(steps, null, ts_end), if(steps, null, match_id)) - 1 as place
    from member
    cross join several
    where not steps or step is not null
),

joined as (
    select
        rank,
        late_by,
        place // greatest(1, ceil((max(place) over () + 1) / 120)::bigint) as place
    from placed
)

select
    rank,
    place,
    max(place) over () + 1 as places,
    (select steps from several) as is_step,
    late_by
from (
    select o.rank, o.place, coalesce(sum(o.late_by) filter (o.late_by > j.claim_limit), 0)::bigint as late_by
    from joined as o
    inner join job as j on j.job = $job and j.time_window = $time_window
    group by o.rank, o.place
)
qualify late_by > 0
order by rank, place
