-- Keep of what claims own of each category the share that the lines of the account are made of (part).
update owned_piece
set owned = owned * k.part
from (
    select unnest(from_json($kept, '[{"claim":"INTEGER","cause":"VARCHAR","part":"DOUBLE"}]'), max_depth := 2)
) as k
where owned_piece.claim = k.claim and owned_piece.cause = k.cause
