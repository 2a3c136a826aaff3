-- Steps of a server, what they cost by kind and batch, and what makes requests wait. Definitions: docs/metrics.md.

--: One row per step that a serving_mark starts.
create or replace view serving_step as
with
started as (
    select
        s.trace_id, s.step, s.excluded,
        m.* exclude (trace_id, ts, dur),
        s.ts, s.dur, s.gpu_ts,
        s.gpu_ts + s.gpu_dur as gpu_end,
        if(m.thread_id is null, null, m.ts) as host_ts,
        if(m.thread_id is null, null, m.ts + m.dur) as host_end
    from serving_mark as m
    inner join step as s
        on s.trace_id = m.trace_id and s.ts = m.ts and s.thread_id is not distinct from m.thread_id
),

-- several GPUs: the one that works longest
busy as (
    select trace_id, step, max(dur) as dur
    from (
        select trace_id, step, device, sum(dur)::bigint as dur
        from device_activity
        where category <> 'idle'
        group by trace_id, step, device
    )
    group by trace_id, step
),

followed as (
    select
        *,
        lag(host_end) over by_time as previous_host_end,
        max(gpu_end) over (by_time rows between unbounded preceding and 1 preceding) as previous_gpu_end
    from started
    window by_time as (partition by trace_id order by ts)
)

select
    --: Trace.
    f.trace_id,
    --: Step; see step.
    f.step,
    --: As in step: why it is left out of statistics; NULL when it counts.
    f.excluded,
    --: As in serving_mark.
    f.slice_id, f.dialect, f.kind, f.requests, f.prefill_requests, f.decode_requests,
    f.new_tokens, f.prefill_tokens, f.decode_tokens, f.kv_tokens,
    --: Tokens that decoding requests got, one each; the first token, which ends a prompt, is not among them. NULL where
    --: the annotation does not say, and with speculative decoding: how many drafted tokens were accepted is not in the
    --: trace.
    if(f.decode_requests = f.decode_tokens, f.decode_requests, null) as output_tokens,
    --: Start, ns.
    f.ts,
    --: From its start to the start of the next step, ns; as in step.
    f.dur,
    --: Time per output token, ns: what each decoding request waits for the token of this step, which is its duration.
    --: NULL where none gets one or output_tokens is not known.
    if(output_tokens > 0, f.dur, null) as token_dur,
    --: Time of the step in which a GPU works, ns; of several GPUs the one that works longest.
    coalesce(b.dur, 0) as gpu_busy,
    --: From the end of the annotation of the step before to the start of its own, ns: the host schedules, samples,
    --: answers. NULL for the first, and for annotations that the trace holds on the GPU only.
    if(f.host_ts < f.previous_host_end, 0, f.host_ts - f.previous_host_end) as host_gap,
    --: From the end of all GPU work that the steps before launched to the start of the first GPU work that it launched,
    --: ns; 0 where they overlap, NULL for the first and for steps without GPU work.
    if(f.gpu_ts < f.previous_gpu_end, 0, f.gpu_ts - f.previous_gpu_end) as gpu_gap
from followed as f
left join busy as b using (trace_id, step);

--: One row per step of a server: steps of one kind do comparable work.
create or replace view serving_kind as
select
    --: Trace.
    trace_id,
    --: Step; see step.
    step,
    --: Kind as in serving_mark and bucket of requests as in serving_stats, in words: decode of 8 to 15 requests;
    --: without a bucket where steps do not say how many.
    kind || coalesce(
        case
            when least_requests > 1 then ' of ' || least_requests || ' to ' || 2 * least_requests - 1 || ' requests'
            else ' of ' || least_requests || ' request'
        end,
        ''
    ) as kind
from (
    select s.trace_id, s.step, m.kind, 1::bigint << (length(bin(m.requests)) - 1) as least_requests
    from serving_mark as m
    inner join step as s
        on s.trace_id = m.trace_id and s.ts = m.ts and s.thread_id is not distinct from m.thread_id
    where m.kind is not null
);

--: One row per trace, dialect, kind and batch bucket of the serving steps that are not excluded. Buckets are powers of
--: two: 1, 2 to 3, 4 to 7, ...
create or replace view serving_stats as
with
counted as (
    select *, 1::bigint << (length(bin(requests)) - 1) as least_requests
    from serving_step
    where excluded is null
)

select
    --: Trace.
    trace_id,
    --: As in serving_mark.
    dialect,
    --: As in serving_mark.
    kind,
    --: Least requests of the bucket; NULL for steps that do not say how many.
    least_requests,
    --: Most requests of the bucket.
    2 * least_requests - 1 as most_requests,
    --: Steps.
    count(*) as steps,
    --: Their duration, ns, added up.
    sum(dur)::bigint as dur,
    --: Median duration, ns, interpolated.
    quantile_cont(dur, 0.5) as p50,
    --: 95th percentile of it, ns.
    quantile_cont(dur, 0.95) as p95,
    --: 99th percentile of it, ns.
    quantile_cont(dur, 0.99) as p99,
    --: Median of serving_step.token_dur, the time per output token, ns; NULL where it is not known of any.
    quantile_cont(token_dur, 0.5) as token_p50,
    --: 95th percentile of it, ns.
    quantile_cont(token_dur, 0.95) as token_p95,
    --: 99th percentile of it, ns.
    quantile_cont(token_dur, 0.99) as token_p99,
    --: Tokens computed, of prompts and next ones, by dur; NULL unless all steps say how many.
    if(count(new_tokens) = count(*), sum(new_tokens) * 1e9 / sum(dur), null) as new_tokens_per_second,
    --: Tokens that decoding requests got, by dur; NULL unless known of all steps.
    if(count(output_tokens) = count(*), sum(output_tokens) * 1e9 / sum(dur), null) as output_tokens_per_second,
    --: serving_step.gpu_busy by duration, 0 to 1.
    sum(gpu_busy) / sum(dur) as gpu_busy_share,
    --: Median of serving_step.host_gap, ns.
    quantile_cont(host_gap, 0.5) as host_gap_p50,
    --: Median of serving_step.gpu_gap, ns.
    quantile_cont(gpu_gap, 0.5) as gpu_gap_p50
from counted
group by trace_id, dialect, kind, least_requests;

--: One row per step for which decoding requests waited because prompts were computed: between it and the last one that
--: decoded, or inside it.
create or replace view serving_stall as
with
-- Steps up to one that decodes have its number, those after it the next.
turned as (
    select
        *,
        coalesce(decode_requests > 0, false) as decodes,
        1::bigint << (length(bin(decode_requests)) - 1) as least_decoding,
        count(*) filter (decode_requests > 0)
            over (partition by trace_id order by ts rows between unbounded preceding and 1 preceding) as turn
    from serving_step
),

between_decodes as (
    select
        trace_id,
        turn,
        max(step) filter (decodes) as step,
        max(decode_requests) filter (decodes) as decode_requests,
        any_value(excluded) filter (decodes) as excluded,
        count(*) filter (kind = 'prefill') as prefill_steps,
        (sum(prefill_tokens) filter (kind = 'prefill'))::bigint as prefill_tokens,
        (sum(dur) filter (kind = 'prefill'))::bigint as dur
    from turned
    group by trace_id, turn
),

waited as (
    select *, least(decode_requests, lag(decode_requests) over (partition by trace_id order by turn)) as waiting_requests
    from between_decodes
),

usual as (
    select trace_id, least_decoding, median(dur) as dur
    from turned
    where kind = 'decode' and excluded is null
    group by trace_id, least_decoding
)

select
    --: Trace.
    trace_id,
--: Step whose next tokens came late.
step,
--: step.excluded of it.
excluded,
--: prefill: steps of prompts only ran since the last step that decoded. mixed: the step itself computes prompts and
--: next tokens, and takes longer than the median decode step with as many decoding requests (the same bucket of
--: serving_stats).
'prefill' as cause,
--: Steps that computed prompts.
prefill_steps,
--: Tokens of prompts in them; NULL where none of them says how many.
prefill_tokens,
--: Requests that waited: decoding in the step; for prefill at most, the fewer of those of this and of the last step
--: that decoded.
waiting_requests,
--: Time they waited, ns: that of the prefill steps; for mixed what the step takes beyond that median.
dur
from waited
where turn > 0 and step is not null and prefill_steps > 0
union all
select
    t.trace_id, t.step, t.excluded, 'mixed', 1, t.prefill_tokens, t.decode_requests, round(t.dur - u.dur)::bigint
from turned as t
inner join usual as u on u.trace_id = t.trace_id and u.least_decoding = t.least_decoding
where t.kind = 'mixed' and t.dur > u.dur;

--: One row per serving step of kind decode: the time that reading weights and KV cache takes at least. Of a step whose
--: operators are not recorded (CUDA graphs) the weights are those that the other steps of the trace read at least.
create or replace view serving_roofline as
with
-- Operators do not show what a graph computes, unless a capture does.
graphed as (
    select distinct c.trace_id, s.step
    from cpu_slice as c
    asof join serving_step as s on c.trace_id = s.trace_id and c.ts >= s.ts
    left join graph_launch as k on k.trace_id = c.trace_id and k.launch_id = c.slice_id
    where c.kind = 'runtime' and contains(c.name, 'GraphLaunch') and c.ts < s.ts + s.dur and coalesce(k.matched_kernels = 0, true)
),

-- What any pass over the model reads at least: the least of the steps whose operators are recorded.
model as (
    select
        b.trace_id,
        b.device,
        min(b.weight_bytes) as weight_bytes,
        min(b.token_bytes) as token_bytes
    from serving_bytes as b
    where not exists (from graphed as g where g.trace_id = b.trace_id and g.step = b.step)
    group by b.trace_id, b.device
),

-- several GPUs work beside one another: the one that reads most
read as (
    select
        s.trace_id,
        s.step,
        arg_max({
            'weight_bytes': coalesce(if(g.step is null, b.weight_bytes, null), d.weight_bytes),
            'kv_bytes': coalesce(if(g.step is null, b.kv_bytes, null), coalesce(b.token_bytes, d.token_bytes) * s.kv_tokens),
            'memory_bandwidth': m.memory_bandwidth,
            'of_other_steps': b.weight_bytes is null or g.step is not null
        }, coalesce(b.weight_bytes, d.weight_bytes, 0) + coalesce(b.kv_bytes, 0)) as most
    from serving_step as s
    inner join model as d using (trace_id)
    left join serving_bytes as b on b.trace_id = s.trace_id and b.step = s.step and b.device is not distinct from d.device
    left join graphed as g on g.trace_id = s.trace_id and g.step = s.step
    left join device_model as m on m.trace_id = d.trace_id and m.device = d.device
    where s.kind = 'decode'
    group by s.trace_id, s.step
)

select
    --: Trace.
    s.trace_id,
    --: Step.
    s.step,
    --: step.excluded of it.
    s.excluded,
    --: serving_bytes.weight_bytes of the device that reads most; of a step that a CUDA graph computes the least of the
    --: other steps. NULL where not known.
    r.most.weight_bytes as weight_bytes,
    --: serving_bytes.kv_bytes, else serving_bytes.token_bytes times the tokens in the cache (serving_mark.kv_tokens);
    --: prefixes that requests share count for each.
    r.most.kv_bytes as kv_bytes,
    --: Peak memory bandwidth of that device, bytes per second; NULL when not known.
    r.most.memory_bandwidth as memory_bandwidth,
    --: weight_bytes, and kv_bytes where known, over memory_bandwidth, ns: with this batch the step cannot be shorter.
    --: NULL with a reason.
    round((weight_bytes + coalesce(kv_bytes, 0)) * 1e9 / memory_bandwidth)::bigint as least_dur,
    --: least_dur over the duration of the step: 1 says that nothing but reading is left.
    least_dur / s.dur as roofline_share,
    --: Why least_dur is NULL; NULL where it is known.
    case
        when weight_bytes is null and g.step is not null
            then 'it was launched as a graph, and no other step records its operators'
        when weight_bytes is null then 'shapes of its matrix products are not recorded'
        when memory_bandwidth is null then 'memory bandwidth of the GPU is not known'
    end as reason
from serving_step as s
left join read as r using (trace_id, step)
left join graphed as g using (trace_id, step)
where s.kind = 'decode';
