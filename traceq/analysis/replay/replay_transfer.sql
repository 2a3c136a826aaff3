-- Collectives whose class says how long a transfer takes by itself: the 5th percentile of the durations of operation, group and
-- size with 8 members or more. What takes more than half as much again, and 25 us, waited for other ranks. All-to-alls send
-- different amounts under one size.
with
class as (
    select op, group_name, bytes, quantile_disc(dur, 0.05) as transfer
    from collective_slice
    where bytes is not null and op not like 'all_to_all%'
    group by op, group_name, bytes
    having count(*) >= 8
)

select s.slice_id, if(s.dur > 1.5 * c.transfer and s.dur > c.transfer + 25000, c.transfer, s.dur) as transfer
from collective_slice as s
inner join class as c
    on c.op is not distinct from s.op and c.group_name is not distinct from s.group_name and c.bytes = s.bytes
