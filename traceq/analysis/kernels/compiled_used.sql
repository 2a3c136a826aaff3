-- Kernels of torch.compile that ran, by name and by the file that holds them, which the operator that launched them tells.
-- reads: graph_kernel, graph_operator
-- makes: _compiled_used
create or replace temp table _compiled_used as
with
compiled as (
    select slice_id, launch_id, name, dur
    from gpu_slice
    where kind = 'kernel' and regexp_matches(name, '^triton_[a-z]{3}_fused')
),

launching as (
    select k.slice_id, coalesce(r.args, o.args) as args
    from compiled as k
    left join cpu_slice as l on l.slice_id = k.launch_id
    left join cpu_slice as o on o.slice_id = l.operator_id and o.name = k.name
    left join graph_kernel as g on g.slice_id = k.slice_id
    left join graph_operator as r on r.slice_id = g.operator_id and r.name = k.name
)

select
    k.name,
    try(json_extract_string(l.args, '$.kernel_hash')) as kernel_hash,
    any_value(try(json_extract_string(l.args, '$.kernel_file'))) as kernel_file,
    any_value(try(json_extract_string(l.args, '$.kernel_backend'))) as backend,
    count(*) as kernels,
    sum(k.dur)::bigint as dur
from compiled as k
inner join launching as l using (slice_id)
group by all;

from _compiled_used order by name, kernel_hash;
