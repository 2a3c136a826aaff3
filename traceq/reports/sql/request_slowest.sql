-- Of the requests in the capture those that were slowest to their first token, per token and in all, with where that time went
-- and what the GPUs did in it (their mean). Of several logs that of the server.
with
main as (
    select log_id from request_log where trace_id = $trace_id order by shift is null, side = 'client', log_id limit 1
),

candidate as (
    select a.*, r.request_id, r.ttft, r.tpot, r.e2e, r.arrival_ts, r.first_token_ts, r.end_ts
    from request_account as a
    inner join request as r using (trace_id, request_number)
    where a.trace_id = $trace_id and r.log_id = (from main) and r.status = 'ok'
),

chosen as (
    (
        select 1 as place, 'ttft' as quantity, request_number, ttft::double as dur, arrival_ts as ts, first_token_ts as ts_end
        from candidate
        where ttft is not null and first_token_ts is not null
        order by is_whole desc, ttft desc, request_number
        limit 1
    )
    union all
    (
        select 2, 'tpot', request_number, tpot, first_token_ts, end_ts
        from candidate
        where tpot is not null and first_token_ts is not null
        order by is_whole desc, tpot desc, request_number
        limit 1
    )
    union all
    (
        select 3, 'e2e', request_number, e2e, arrival_ts, end_ts
        from candidate
        where e2e is not null
        order by is_whole desc, e2e desc, request_number
        limit 1
    )
),

worked as (
    select
        c.place,
        d.category,
        sum(least(d.ts + d.dur, c.ts_end) - greatest(d.ts, c.ts)) / count(distinct d.device) as dur
    from chosen as c
    inner join device_activity as d
        on d.trace_id = $trace_id and d.step is not null and d.ts < c.ts_end and d.ts + d.dur > c.ts
    group by c.place, d.category
),

did as (
    select
        place,
        (sum(dur) filter (category in ('compute', 'graph')))::bigint as compute_ns,
        (sum(dur) filter (category = 'communication'))::bigint as communication_ns,
        (sum(dur) filter (category ^@ 'copy' or category = 'memset'))::bigint as copy_ns,
        (sum(dur) filter (category = 'idle'))::bigint as idle_ns
    from worked
    group by place
)

select
    c.quantity,
    c.request_number,
    a.request_id,
    c.dur as dur_ns,
    a.is_whole,
    a.steps,
    a.queue as queue_ns,
    a.prefill as prefill_ns,
    a.decode as decode_ns,
    a.decode_beside_prefill as beside_prefill_ns,
    a.prefill_delay as delay_ns,
    coalesce(d.compute_ns, 0) as compute_ns,
    coalesce(d.communication_ns, 0) as communication_ns,
    coalesce(d.copy_ns, 0) as copy_ns,
    coalesce(d.idle_ns, 0) as idle_ns
from chosen as c
inner join candidate as a using (request_number)
left join did as d using (place)
order by c.place
