-- Claims on pieces of the ledger, numbered in the order of allocation.
create or replace temp table ordered_claim (claim integer, cause varchar, gap_id bigint, busy_id bigint, claimed decimal(18, 3))
