-- The longest steps in which the request with the slowest tokens in the capture decodes, with what the GPUs did (their mean).
with
main as (
    select log_id from request_log where trace_id = $trace_id order by shift is null, side = 'client', log_id limit 1
),

chosen as (
    select a.request_number
    from request_account as a
    inner join request as r using (trace_id, request_number)
    where a.trace_id = $trace_id and r.log_id = (from main) and r.status = 'ok' and r.tpot is not null
    order by a.is_whole desc, r.tpot desc, a.request_number
    limit 1
),

worked as (
    select
        step,
        sum(dur) filter (category in ('compute', 'graph')) / count(distinct device) as compute_ns,
        sum(dur) filter (category = 'communication') / count(distinct device) as communication_ns,
        sum(dur) filter (category ^@ 'idle') / count(distinct device) as idle_ns
    from time_ledger
    where trace_id = $trace_id
    group by step
)

select
    s.step,
    s.kind,
    s.dur as dur_ns,
    s.prefill_tokens,
    s.decode_requests,
    coalesce(w.compute_ns, 0)::bigint as compute_ns,
    coalesce(w.communication_ns, 0)::bigint as communication_ns,
    coalesce(w.idle_ns, 0)::bigint as idle_ns
from request_step as p
inner join serving_step as s on s.trace_id = p.trace_id and s.step = p.step
left join worked as w on w.step = p.step
where p.trace_id = $trace_id and p.request_number = (from chosen) and p.decode > 0
order by s.dur desc, s.step
limit 5
