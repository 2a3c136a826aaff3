-- What findings leave of the idle time of the critical device, by cause and part: the operator, else the line of Python, else the call
-- or range that the host was in; NULL where it was in nothing that was recorded.
-- uses: idle
with
owner as (
    select gap_id, cause, sum(owned) as owned from owned_piece where gap_id is not null group by gap_id, cause
),

piece as (
    select i.gap_id, i.cause, i.dur, greatest(1 - coalesce(o.owned, 0) / nullif(i.dur, 0), 0) as left_share
    from idle as i
    left join owner as o on o.gap_id = i.gap_id and o.cause = i.cause
    where i.dur > 0
),

spent as (
    select p.cause, coalesce(k.operator, k.line, k.name) as part, k.dur * p.left_share as rest, k.gap_id
    from piece as p
    inner join culprit as k on k.trace_id = $trace_id and k.gap_id = p.gap_id and k.cause = p.cause
    where p.left_share > 0
    union all
    select p.cause, null, (p.dur - coalesce(k.dur, 0)) * p.left_share, p.gap_id
    from piece as p
    left join (
        select gap_id, cause, sum(dur) as dur from culprit where trace_id = $trace_id group by gap_id, cause
    ) as k on k.gap_id = p.gap_id and k.cause = p.cause
    where p.left_share > 0 and p.dur > coalesce(k.dur, 0)
)

select cause as category, part, count(distinct gap_id) as slices, sum(rest)::double as rest
from spent
group by cause, part
order by cause, sum(rest) desc, part
