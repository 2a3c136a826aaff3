insert into claim_piece
select $claim, slice_id, claimed, cause, gap_id, busy_id
from rule_instances
