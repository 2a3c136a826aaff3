-- Collectives of which it is known how long they take when no rank comes late.
-- reads: collective_slice
select slice_id, transfer
from collective_transfer
