-- A claim on more of a piece than the ledger holds, or on less than nothing; one on no piece has neither id.
with
claim as (
    select cause, gap_id, busy_id, sum(claimed)::double as claimed, min(claimed)::double as least
    from rule_instances
    where claimed is not null
    group by cause, gap_id, busy_id
),

piece as (
    select cause, gap_id, null as busy_id, dur as held
    from idle_piece
    where trace_id = $trace_id and device = $device
    union all
    select category, null, slice_id, ledger_dur
    from busy_piece
    where trace_id = $trace_id and device = $device
)

select c.cause, c.gap_id, c.busy_id, c.claimed, coalesce(p.held, 0) as held
from claim as c
left join piece as p
    on
        c.cause = p.cause
        and c.gap_id is not distinct from p.gap_id
        and c.busy_id is not distinct from p.busy_id
-- A nanosecond for what is rounded.
where not (c.least >= 0 and c.claimed <= coalesce(p.held, 0) + 1)
order by c.claimed desc, c.cause, c.gap_id, c.busy_id
limit 1
