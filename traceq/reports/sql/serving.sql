-- All counted steps of a server; NULL where the trace does not show.
with
late as (
    select step, max(dur) as dur
    from time_ledger
    where trace_id = $trace_id and category = 'idle_earlier_work'
    group by step
)

select
    string_agg(distinct dialect, ', ' order by dialect) as dialects,
    count(*) as steps,
    coalesce(sum(s.dur), 0)::bigint as dur_ns,
    count(*) filter (kind = 'prefill') as prefill_steps,
    count(*) filter (kind = 'decode') as decode_steps,
    count(*) filter (kind = 'mixed') as mixed_steps,
    quantile_cont(token_dur, 0.5) as token_p50_ns,
    quantile_cont(token_dur, 0.95) as token_p95_ns,
    quantile_cont(token_dur, 0.99) as token_p99_ns,
    if(count(new_tokens) = count(*), sum(new_tokens) * 1e9 / sum(s.dur), null) as new_tokens_per_second,
    if(count(output_tokens) = count(*), sum(output_tokens) * 1e9 / sum(s.dur), null) as output_tokens_per_second,
    sum(host_gap)::bigint as host_gap_ns,
    sum(gpu_gap)::bigint as gpu_gap_ns,
    sum(l.dur)::bigint as earlier_work_ns
from serving_step as s
left join late as l using (step)
where trace_id = $trace_id and excluded is null
