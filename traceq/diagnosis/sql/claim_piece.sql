-- What is computed of claims after all rules ran: which pieces of the ledger they are on, and where these are.
create or replace temp table claim_piece (
    claim integer,
    slice_id bigint,
    claimed double,
    cause varchar,
    gap_id bigint,
    busy_id bigint,
    goes_low double,
    goes double,
    goes_high double
)
