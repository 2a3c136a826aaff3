-- Each log of requests: what it holds, how it is placed, and what its slowest first tokens waited for.
with
slowest as (
    select r.log_id, s.p95, sum(r.queue) / nullif(sum(r.ttft) filter (r.queue is not null), 0) as queue_share
    from request as r
    inner join request_stats as s on s.trace_id = r.trace_id and s.log_id = r.log_id and s.quantity = 'ttft'
    where r.trace_id = $trace_id and r.status = 'ok' and r.ttft >= s.p95
    group by r.log_id, s.p95
),

counted as (
    select
        r.log_id,
        count(*) filter (r.status = 'failed') as failed,
        count(*) filter (r.status = 'aborted') as aborted,
        count(a.request_number) as captured,
        sum(a.decode + a.decode_beside_prefill)::bigint as decode_ns,
        sum(a.prefill_delay)::bigint as delay_ns
    from request as r
    left join request_account as a using (trace_id, request_number)
    where r.trace_id = $trace_id
    group by r.log_id
)

select
    l.log_id,
    l.file,
    l.format,
    l.side,
    l.requests,
    c.failed,
    c.aborted,
    l.left_out,
    l.shift is not null as is_placed,
    l.reason,
    c.captured,
    s.p95 as ttft_p95_ns,
    s.queue_share,
    c.decode_ns,
    c.delay_ns
from request_log as l
inner join counted as c using (log_id)
left join slowest as s using (log_id)
where l.trace_id = $trace_id
order by l.log_id
