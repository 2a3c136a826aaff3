-- What each claim gets of each piece, first come first served, and who has the rest. No piece is larger than the largest claim on it.
-- Beside both, what of them goes at least, likely and at most by the shares of the pieces.
with
piece as (
    select
        claim, claimed, cause, gap_id, busy_id, goes_low, goes, goes_high,
        greatest(0, least(claimed, max(claimed) over same - coalesce(sum(claimed) over before, 0))) as owned,
        first_value(claim) over (partition by cause, gap_id, busy_id order by claim) as first_claim
    from ordered_claim
    window
        same as (partition by cause, gap_id, busy_id),
        before as (
            partition by cause, gap_id, busy_id order by claim rows between unbounded preceding and 1 preceding
        )
)

select
    claim, first_claim, cause,
    sum(claimed)::double as claimed,
    sum(owned)::double as owned,
    sum((claimed * goes_low)::decimal(18, 3))::double as claimed_low,
    sum((claimed * goes)::decimal(18, 3))::double as claimed_likely,
    sum((claimed * goes_high)::decimal(18, 3))::double as claimed_high,
    sum((owned * goes_low)::decimal(18, 3))::double as owned_low,
    sum((owned * goes)::decimal(18, 3))::double as owned_likely,
    sum((owned * goes_high)::decimal(18, 3))::double as owned_high
from piece
group by claim, first_claim, cause
order by claim, first_claim, cause
