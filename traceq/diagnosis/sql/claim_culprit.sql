-- The host slices in several claims on idle time with the time of each: what the macro _culprits tells of one.
with
late as (
    select claim, gap_id, cause, sum(claimed::decimal(18, 3))::double as claimed
    from claim_piece
    where
        list_contains($claims, claim)
        and claimed > 0
        and (gap_id, cause) in (select (gap_id, cause) from idle_culprit where trace_id = $trace_id)
    group by claim, gap_id, cause
),

part as (
    select p.claim, k.slice_id, k.dur * p.claimed / c.dur as dur
    from idle_culprit as k
    inner join late as p using (gap_id, cause)
    inner join idle_gap_cause as c using (trace_id, gap_id, cause)
    where k.trace_id = $trace_id and c.dur > 0
),

ranked as (
    select p.*, p.dur * 20000 < a.claimed as is_small
    from part as p
    inner join (select claim, sum(claimed) as claimed from late group by claim) as a using (claim)
),

chosen as (
    select r.*, hash(r.slice_id) % s.every = 0 as is_chosen
    from ranked as r
    inner join (select claim, greatest(1, count_if(is_small) // 20000) as every from ranked group by claim) as s using (claim)
),

small as (
    select claim, sum(dur) / sum(dur) filter (is_chosen) as times
    from chosen
    where is_small
    group by claim
)

select c.claim, c.slice_id, sum(c.dur * if(c.is_small, s.times, 1)) as dur
from chosen as c
left join small as s using (claim)
where c.is_chosen or not c.is_small
group by c.claim, c.slice_id
