-- A claim on pieces of the ledger, under its number in the order of allocation.
insert into ordered_claim
select
    $number,
    cause, gap_id, busy_id,
    sum(claimed::decimal(18, 3)) as claimed_ns,
    coalesce(sum((claimed * goes_low)::decimal(18, 3)) / nullif(claimed_ns, 0), 1),
    coalesce(sum((claimed * goes)::decimal(18, 3)) / nullif(claimed_ns, 0), 1),
    coalesce(sum((claimed * goes_high)::decimal(18, 3)) / nullif(claimed_ns, 0), 1),
    $is_down_to_limit
from claim_piece
where claim = $claim
group by cause, gap_id, busy_id
