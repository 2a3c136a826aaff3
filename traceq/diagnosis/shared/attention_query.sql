-- What attention gets for queries in the counted steps, forward: as many activations as a layer hands to the next. One row; none where
-- they differ, where forwards are computed again (checkpointing), and without shapes.
-- uses: counted
with
query as (
    select
        o.slice_id,
        x.step,
        list_product(try_cast(o.args -> 'Input Dims' -> 0 as double[])) * case x.dtype when 'fp32' then 4 when 'fp64' then 8 else 2 end as bytes
    from operator_cost as x
    inner join counted using (step)
    inner join cpu_slice as o on o.trace_id = x.trace_id and o.slice_id = x.slice_id
    where
        x.trace_id = $trace_id
        and x.device = $device
        and x.kind = 'attention'
        and x.dtype in ('fp32', 'fp16', 'bf16', 'fp64')
        and not regexp_matches(o.name, '(?i)backward')
        and not exists (from program where trace_id = $trace_id and property = 'feature' and value = 'checkpointing')
)

select max(bytes)::bigint as bytes, count(*) / (select count(*) from counted) as calls
from query
having count(distinct bytes) = 1 and count(bytes) = count(*)
