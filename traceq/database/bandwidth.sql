-- nccl-tests' factors: what each of so many ranks must move at least, as a share of the message. NULL for other operations, and
-- where it depends on a number of ranks that is unknown.
create or replace macro _bus_factor(op, ranks) as
case
    when op in ('broadcast', 'reduce', 'send', 'recv', 'send_recv') then 1
    when ranks <= 0 then null
    when op = 'all_reduce' then 2::double * (ranks - 1) / ranks
    when op in ('all_gather', 'reduce_scatter', 'all_to_all', 'gather', 'scatter') then (ranks - 1) / ranks
end;
