insert into claim_piece
select $claim, slice_id, claimed, cause, gap_id, busy_id, coalesce(goes_low, 1), coalesce(goes, 1), coalesce(goes_high, 1)
from rule_instances
