-- Claims on pieces of the ledger, numbered in the order of allocation, and the shares of each that go at least, likely and at most.
-- A claim is down to a limit where what it leaves of a piece is the time that the piece takes near a limit of the GPU or a link.
create or replace temp table ordered_claim as
with
ordered as (
    select
        o.number,
        o.is_down_to_limit,
        p.cause, p.gap_id, p.busy_id,
        sum(p.claimed::decimal(18, 3)) as claimed,
        sum((p.claimed * p.goes_low)::decimal(18, 3)) as goes_low,
        sum((p.claimed * p.goes)::decimal(18, 3)) as goes,
        sum((p.claimed * p.goes_high)::decimal(18, 3)) as goes_high
    from claim_piece as p
    inner join (
        select unnest(from_json($claims, '[{"number":"INTEGER","claim":"INTEGER","is_down_to_limit":"BOOLEAN"}]'), max_depth := 2)
    ) as o using (claim)
    group by o.number, o.is_down_to_limit, p.cause, p.gap_id, p.busy_id
)

select
    number as claim,
    cause, gap_id, busy_id,
    claimed::decimal(18, 3) as claimed,
    coalesce(goes_low / nullif(claimed, 0), 1) as goes_low,
    coalesce(goes / nullif(claimed, 0), 1) as goes,
    coalesce(goes_high / nullif(claimed, 0), 1) as goes_high,
    is_down_to_limit
from ordered
