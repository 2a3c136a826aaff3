-- A claim on pieces of the ledger, under its number in the order of allocation.
insert into ordered_claim
select $number, cause, gap_id, busy_id, sum(claimed::decimal(18, 3))
from claim_piece
where claim = $claim
group by cause, gap_id, busy_id
