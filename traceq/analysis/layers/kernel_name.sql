-- Names of compute kernels in the counted steps, and what they tell. number: a number for each, from 0.
-- reads: kernel_occupancy
-- makes: _layer_name
create or replace temp table _layer_name as
select
    name,
    (row_number() over (order by name) - 1)::integer as number,
    family not in (
        'elementwise', 'reduce', 'norm', 'softmax', 'optimizer', 'copy', 'index', 'embedding', 'scan_sort', 'sampling',
        'kv_cache', 'quantize', 'routing', 'loss', 'pooling', 'fbgemm', 'pytorch', 'thrust', 'unknown'
    ) as is_heavy,
    family in ('flash_attention', 'linear_attention', 'softmax') as is_attention,
    is_heavy and not is_attention or family = 'unknown' as is_possible_product,
    family in ('embedding', 'loss', 'sampling') as is_end,
    regexp_matches(name, '(?i)backward|bwd|dgrad|wgrad|bprop') as is_named_backward
from (
    -- once per name, and not once per kernel
    select g.name, any_value(k.family) as family
    from kernel_occupancy as k
    inner join gpu_slice as g using (slice_id)
    where k.family <> 'communication'
    group by g.name
);
