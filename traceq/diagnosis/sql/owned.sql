-- What each claim gets of each piece, first come first served, and who has the rest. No piece is larger than the largest claim on it.
with
piece as (
    select
        claim,
        claimed,
        cause,
        gap_id,
        busy_id,
        greatest(0, least(claimed, max(claimed) over same - coalesce(sum(claimed) over before, 0))) as owned,
        first_value(claim) over (partition by cause, gap_id, busy_id order by claim) as first_claim
    from ordered_claim
    window
        same as (partition by cause, gap_id, busy_id),
        before as (
            partition by cause, gap_id, busy_id order by claim rows between unbounded preceding and 1 preceding
        )
)

select claim, first_claim, cause, sum(claimed)::double as claimed, sum(owned)::double as owned
from piece
group by claim, first_claim, cause
order by claim, first_claim, cause
