-- What several analyses, rules and reports ask for.

-- For max_by and arg_max: the longest, of several the first. One number orders by two; a struct takes twice as long to compare.
create or replace macro _longest_first(dur, ts) as dur * 18446744073709551616::hugeint - ts;

-- For min_by, max_by and their like: by time, at one time by id. One number, as above.
create or replace macro _in_time(ts, id) as ts * 18446744073709551616::hugeint + id;

-- What a rule claims at least, ns: 20 us, which traces do not tell apart from noise.
create or replace macro _least_claim() as 20000;

-- When the first counted step of each trace begins and when the last one does, ns.
create or replace macro _counted_span() as table
select trace_id, min(ts) as begins, max(ts) as ends
from step
where excluded is null
group by trace_id;
