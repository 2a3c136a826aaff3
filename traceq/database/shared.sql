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

-- nccl-tests' factors: what each of so many ranks must move at least, as a share of the message. NULL for other operations, and
-- where it depends on a number of ranks that is unknown.
create or replace macro _bus_factor(op, ranks) as
case
    when op in ('broadcast', 'reduce', 'send', 'recv', 'send_recv') then 1
    when ranks <= 0 then null
    when op = 'all_reduce' then 2::double * (ranks - 1) / ranks
    when op in ('all_gather', 'reduce_scatter', 'all_to_all', 'gather', 'scatter') then (ranks - 1) / ranks
end;
