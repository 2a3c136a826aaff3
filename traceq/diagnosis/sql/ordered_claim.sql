-- Claims on pieces of the ledger, numbered in the order of allocation, and the shares of each that go at least, likely and at most.
-- A claim is down to a limit where what it leaves of a piece is the time that the piece takes near a limit of the GPU or a link.
create or replace temp table ordered_claim (
    claim integer,
    cause varchar,
    gap_id bigint,
    busy_id bigint,
    claimed decimal(18, 3),
    goes_low double,
    goes double,
    goes_high double,
    is_down_to_limit boolean
)
