-- Which functions the late thread was in, by the samples of it that were taken in gaps.
-- reads: _host_part, _idle_cause
-- makes: idle_sample

insert into idle_sample
with
-- the parts of gaps of one device in which one thread is late do not overlap
sample as (
    select d.device, s.*
    from cpu_sample as s
    inner join (select distinct device, thread_id from _host_part) as d using (thread_id)
)

select
    $trace_id as trace_id,
    p.gap_id,
    coalesce(c.cause, 'idle_unattributed') as cause,
    p.slice_id, s.symbol, s.module, s.caller,
    count(*) as samples
from sample as s
asof inner join _host_part as p on p.device = s.device and p.thread_id = s.thread_id and s.ts >= p.ts
left join _idle_cause as c on c.activity = p.activity::varchar
where s.ts < p.ts_end
group by all
order by p.gap_id, cause, samples desc, s.symbol, s.module, s.caller, p.slice_id;
