-- Claims on pieces of the ledger, in the order in which they are served.
create or replace temp table _claim (claim integer, cause varchar, gap_id bigint, busy_id bigint, claimed decimal(18, 3))
