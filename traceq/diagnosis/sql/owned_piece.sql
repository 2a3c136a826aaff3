-- What each claim owns of each piece of the ledger, first come first served, ns over the counted steps: as owned.sql has it in sums.
select
    claim, cause, gap_id, busy_id, is_down_to_limit,
    greatest(0, least(claimed, max(claimed) over same - coalesce(sum(claimed) over before, 0)))::double as owned
from ordered_claim
window
    same as (partition by cause, gap_id, busy_id),
    before as (
        partition by cause, gap_id, busy_id order by claim rows between unbounded preceding and 1 preceding
    )
