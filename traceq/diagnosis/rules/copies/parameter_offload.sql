-- Copies of parameters from the host within the ranges that fetch them before a layer computes.
-- title: Parameters are copied from the host in every pass
-- finds: Copies of at least 1 MiB from the host to the GPU within ranges that fetch the parameters of a layer: FSDP with
--   CPU offload, DeepSpeed ZeRO with offload, Accelerate's hooks.
-- matters: Every pass moves all parameters over PCIe, which is tens of times slower than the GPU's memory.
-- measured: Copies from host to device (copy_overlap) whose call lies in such a range (its innermost or outermost annotation,
--   or the operator around it), and copies of the same sizes on the same stream whose calls came before the capture. Claimed is
--   their exposed time. low 0.5, likely and high 1: parameters that stay on the GPU are not copied.
-- try: FSDP without CPUOffload; sharding over more GPUs; parameters in bf16, which halves the copies; quantized weights.
-- references: https://docs.pytorch.org/docs/stable/fsdp.html
-- fix: {{ remedy('keep_parameters') }} {{ copies() }} They are the parameters of layers, fetched in {{ worst.range | cut }}.
--   Overlap alone saves no more than the time for which the GPU computes.
-- confidence: {% if facts.share > mostly %}high{% else %}medium{% endif %}
-- reason: The ranges around the copies fetch parameters, and nothing overlaps them.
-- wrong-if: The parameters do not fit into the GPU's memory, even in bf16 and sharded.
-- heading: Keep parameters on the GPU
-- needs: gpu, steps, calls, annotations
-- for: model
-- about: copies
-- facts: parameter_offload_facts
-- low: 0.5
-- likely: 1.0
-- threshold: least_bytes = 1048576: below 1 MiB it is no layer's parameters
-- threshold: mostly = 0.5: the larger part of the bytes from the host
-- uses: counted_copy
-- categories: copy_h2d
-- only-with: host_slice_name: regexp_matches(name, '^FSDP::|^fsdp::|FullyShardedDataParallel|PartitionedParameterCoordinator|AlignDevicesHook')
with
call as (
    select c.slice_id, s.operator_id, s.annotation_id, s.outer_annotation_id
    from counted_copy as c
    inner join cpu_slice as s on s.trace_id = c.trace_id and s.slice_id = c.launch_id
    where c.direction = 'h2d' and c.bytes >= $least_bytes and c.exposed > 0
),

named as (
    select slice_id, name
    from cpu_slice
    where
        trace_id = $trace_id
        and slice_id in (select operator_id from call union select annotation_id from call union select outer_annotation_id from call)
        and regexp_matches(name, '^FSDP::|^fsdp::|FullyShardedDataParallel|PartitionedParameterCoordinator|AlignDevicesHook')
),

fetched as (
    select call.slice_id, coalesce(a.name, u.name, o.name) as range
    from call
    left join named as a on a.slice_id = call.annotation_id
    left join named as u on u.slice_id = call.outer_annotation_id
    left join named as o on o.slice_id = call.operator_id
    where coalesce(a.name, u.name, o.name) is not null
),

-- copies of the same sizes on the same stream, whose calls came before the capture
alike as (
    select c.stream, c.bytes, any_value(f.range) as range
    from fetched as f
    inner join counted_copy as c using (slice_id)
    group by c.stream, c.bytes
)

select
    c.step, c.ts, c.dur, c.name, c.slice_id, c.exposed as claimed, c.category as cause, c.slice_id as busy_id,
    c.direction, c.bytes, c.bandwidth,
    coalesce(f.range, a.range) as range
from counted_copy as c
left join fetched as f using (slice_id)
left join alike as a on c.launch_id is null and a.stream = c.stream and a.bytes = c.bytes
where c.direction = 'h2d' and c.exposed > 0 and coalesce(f.range, a.range) is not null
