-- serving_mark: what annotations of servers (_serving_annotation) say of a step. The forms are listed in docs/metrics.md.
-- reads: _serving_annotation
-- makes: serving_mark

create temp macro _written(text, pattern) as try_cast(nullif(regexp_extract(text, pattern, 1), '') as bigint);

-- Sums of what is known: NULL only where nothing is.
create temp macro _sum_of(a, b) as coalesce(a + b, a, b);

-- NULL where the annotation does not say, 0 where it says that there are none.
create temp table _serving_said as
select
    *,
    case dialect
        when 'diffusion' then _written(name, '^execute_diffusion_(\d+)_\d+x')
        when 'vllm' then _written(name, '^execute_new_(\d+)_') + _written(name, '_cached_(\d+)$')
        when 'sglang' then _written(name, ' bs=(\d+)')
        when 'atom' then _written(name, '\[bs=(\d+)')
    end as batch,
    case dialect
        when 'vllm' then _written(name, 'context_(\d+)\(')
        when 'sglang' then if(
            contains(name, '[MIXED'),
            _written(name, ' c=(\d+)'),
            if(contains(name, '[EXTEND') or contains(name, '[SPLIT_PREFILL'), batch, 0)
        )
        when 'tensorrt_llm' then _written(name, ': (\d+) ctx reqs')
        when 'atom' then if(starts_with(name, 'prefill'), batch, coalesce(_written(name, ' p=(\d+)'), 0))
    end as prefill_requests,
    case dialect
        when 'vllm' then _written(name, '_generation_(\d+)\(')
        when 'sglang' then if(contains(name, '[MIXED'), _written(name, ' g=(\d+)'), batch - prefill_requests)
        when 'tensorrt_llm' then _written(name, ', (\d+) gen reqs')
        when 'atom' then batch - prefill_requests
    end as decode_requests,
    case dialect
        when 'vllm' then _written(name, 'context_\d+\((?:sq)?(\d+)')
        when 'sglang' then coalesce(_written(name, ' toks=(\d+)'), _written(name, ' c_sq=(\d+)'))
        when 'tensorrt_llm' then _written(name, ', (\d+) ctx tokens')
        when 'atom' then if(starts_with(name, 'prefill'), _written(name, ' tok=(\d+)'), null)
    end as said_prefill_tokens,
    case dialect
        when 'vllm' then _written(name, '_generation_\d+\((?:sq)?(\d+)')
        when 'sglang' then coalesce(_written(name, ' g_sq=(\d+)'), if(contains(name, '[DECODE'), batch, null))
        when 'atom' then if(starts_with(name, 'decode') and prefill_requests = 0, _written(name, ' tok=(\d+)'), null)
    end as said_decode_tokens,
    if(prefill_requests = 0, 0, said_prefill_tokens) as prefill_tokens,
    if(decode_requests = 0, 0, said_decode_tokens) as decode_tokens,
    case dialect
        when 'vllm' then _written(name, 'context_\d+\(sq\d+sk(\d+)') + _written(name, '_generation_\d+\(sq\d+sk(\d+)')
        when 'sglang' then _sum_of(_written(name, ' c_sk=(\d+)'), _written(name, ' g_sk=(\d+)'))
        when 'atom' then _written(name, ' sk=(\d+)')
    end as kv_tokens
from _serving_annotation;

insert into serving_mark by name
with
-- The profiler projects an annotation onto each stream that worked for it.
chosen as (
    select thread_id, device, stream
    from _serving_said
    where thread_id is null and not exists (from _serving_said where thread_id is not null)
    group by thread_id, device, stream
    order by count(*) desc, device, stream
    limit 1
),

placed as (
    from _serving_said
    where thread_id is not null or (device, stream) in (select (device, stream) from chosen)
),

-- SGLang had an annotation in vLLM's form around its own, which says more and begins long before the work.
wrapped as (
    select i.slice_id, o.slice_id as around_id, if(count(*) over (partition by o.slice_id) = 1, o.kv_tokens, null) as kv_tokens
    from placed as i
    asof join (from placed where dialect = 'vllm') as o
        on coalesce(o.thread_id, -1) = coalesce(i.thread_id, -1) and i.ts >= o.ts
    where i.dialect = 'sglang' and i.ts + i.dur <= o.ts + o.dur
),

swept as (
    select
        p.* replace (coalesce(p.kv_tokens, w.kv_tokens) as kv_tokens),
        max(p.ts + p.dur) over (
            partition by p.thread_id
            order by p.ts, p.dur desc, p.slice_id
            rows between unbounded preceding and 1 preceding
        ) as busy_until
    from placed as p
    left join wrapped as w using (slice_id)
    where p.slice_id not in (select around_id from wrapped)
)

select
    $trace_id as trace_id,
    slice_id, thread_id, dialect,
    case
        when dialect = 'diffusion' then 'diffusion'
        when prefill_requests > 0 and decode_requests > 0 then 'mixed'
        when prefill_requests > 0 and decode_requests = 0 then 'prefill'
        when decode_requests > 0 then 'decode'
        when contains(name, '[MIXED') then 'mixed'
    end as kind,
    coalesce(batch, prefill_requests + decode_requests) as requests,
    prefill_requests,
    decode_requests,
    if(dialect = 'atom', _written(name, ' tok=(\d+)'), prefill_tokens + decode_tokens) as new_tokens,
    prefill_tokens, decode_tokens, kv_tokens, ts, dur
from swept
where (busy_until is null or ts >= busy_until) and coalesce(batch, prefill_requests + decode_requests) is distinct from 0
order by ts, slice_id;
