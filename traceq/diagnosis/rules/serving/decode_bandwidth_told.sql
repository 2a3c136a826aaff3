-- What counted decode steps have to read, how long that takes at the least and how long their kernels take (medians), those of
-- experts left aside. One row.
-- uses: busy, dense_busy
with
step_busy as (
    select step, sum(ledger_dur) as dur from dense_busy group by step
),

whole as (
    select step, sum(ledger_dur) as dur from busy where category = 'compute' group by step
)

select
    count(*) as steps,
    count(r.least_dur) as known,
    any_value(r.reason) as reason,
    max(s.dialect) as dialect,
    median(s.requests) as requests,
    median(r.weight_bytes) as weight_bytes,
    median(r.kv_bytes) as kv_bytes,
    median(r.least_dur) as least_ns,
    median(b.dur) as busy_ns,
    median(b.dur / r.least_dur) as slow_share,
    median(w.dur - b.dur) as expert_ns
from serving_roofline as r
inner join serving_step as s using (trace_id, step)
left join step_busy as b using (step)
left join whole as w using (step)
where r.trace_id = $trace_id and r.excluded is null
