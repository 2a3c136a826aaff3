-- Claims on pieces of the ledger, numbered in the order of allocation, and the shares of each that go at least, likely and at most.
create or replace temp table ordered_claim (
    claim integer,
    cause varchar,
    gap_id bigint,
    busy_id bigint,
    claimed decimal(18, 3),
    goes_low double,
    goes double,
    goes_high double
)
