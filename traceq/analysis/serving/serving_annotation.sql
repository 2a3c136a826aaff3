-- The annotations of servers, and whose they are: vLLM, SGLang, TensorRT-LLM, ATOM and diffusion servers. The forms are listed in
-- docs/metrics.md.
-- makes: _serving_annotation

create temp table _serving_annotation as
with
-- thread, device and stream say where it stands
annotation as (
    select slice_id, thread_id, null::integer as device, null::bigint as stream, name, ts, dur
    from cpu_slice
    where kind = 'annotation'
    union all
    select slice_id, null, device, stream, name, ts, dur
    from gpu_annotation
),

told as (
    select
        *,
        case
            when regexp_matches(name, '^execute_diffusion_(\d+_)?\d+x\d+') then 'diffusion'
            when regexp_matches(name, '^execute_((\d+_)?context_\d+\(.*_generation_\d+\(|new_\d+_cached_\d+$)') then 'vllm'
            -- the draft model's own passes belong to the step of the model that they draft for
            when regexp_matches(name, '^step\[(EXTEND|SPLIT_PREFILL|DECODE|(TARGET_)?VERIFY|MIXED)\b.*\]$') then 'sglang'
            when regexp_matches(name, '^\[Executor\] _forward_step( \d+)?: \d+ ctx reqs,.* \d+ gen reqs') then 'tensorrt_llm'
            when regexp_matches(name, '^(prefill|decode)\[bs=\d+(/\d+)? tok=\d+.*\]$') then 'atom'
        end as dialect
    from annotation
    where dur > 0
)

from told
where dialect is not null;
