-- Kernels that only change the layout of a tensor: conversions between NCHW and NHWC that cuDNN or MIOpen add to a convolution, and copies
-- made by contiguous() and reshape().
-- title: Kernels that only change the layout of tensors
-- finds: Conversions between NCHW and NHWC that the library adds around convolutions, and copies by contiguous() and
--   reshape().
-- matters: They compute nothing, and read and write the whole tensor each time. Tensor cores need NHWC: a model in NCHW is
--   converted before and after convolutions, in every step.
-- measured: Kernels named nchwToNhwc, nhwcToNchw (cuDNN) or batched_transpose (MIOpen): low, likely and high share
--   0.3, 0.9 and 1. Copy kernels inside aten::contiguous and aten::reshape, with their aten::clone, or within a
--   convolution: 0.1, 0.4 and 0.9, since some of these copies make the kernels after them faster than they cost.
--   Claimed is kernel_occupancy's exclusive_dur.
-- try: channels_last from the input to the loss; for other tensors, a layout that the next operator accepts unchanged.
-- references: https://docs.pytorch.org/tutorials/intermediate/memory_format_tutorial.html
--   https://docs.nvidia.com/deeplearning/performance/dl-performance-convolutional/index.html
-- fix: {% if what == 'conversion' %}{{ remedy('nhwc') }} {{ '{:,}'.format(occurrences) }} kernels convert layouts, such as {{
--   cut(worst.name) }}{% if worst.asked_by %} in {{ cut(worst.asked_by) }}{% endif %}. {%- if 'batched_transpose' in worst.name
--   and program.is_pytorch %} On AMD, also set PYTORCH_MIOPEN_SUGGEST_NHWC=1, or MIOpen still converts. {%- endif %} {%- else
--   %}{% if program.may_be_pytorch %}Drop .contiguous() where the next operator accepts strides (matmul,
--   scaled_dot_product_attention and most others do), use view instead of reshape, which fails where a copy would be made, and
--   lay{% else %}Lay{% endif %} weights and inputs out so that no transpose is needed. {% if not program.has('channels_last')
--   %}In front of convolutions: {{ remedy('nhwc') }} {% endif %}{{ '{:,}'.format(occurrences) }} kernels copy tensors into
--   another layout for {{ pieces | map(attribute='asked_by') | map('cut') | unique(case_sensitive=true) |
--   sort(case_sensitive=true) | join(', ') }}. {%- if program.is_pytorch and program.can_compile and not program.is_compiled %}
--   torch.compile fuses the remaining copies into their neighbours. {%- endif %} {%- endif %}
-- confidence: {% if what == 'conversion' %}high{% else %}low{% endif %}
-- reason: {% if what == 'conversion' %}The kernels' names say what they do. {%- else %}The operators around the kernels show
--   that they copy to change a layout; whether the copy can be avoided is not known. {%- endif %}
-- wrong-if: {% if what == 'conversion' %}The data is already in NHWC, or convolutions are slower in NHWC. {%- else %}The
--   operator that reads the copy needs it contiguous, or without it becomes slower by more than the copy takes. {%- endif %}
-- heading: {% if what == 'conversion' %}Use NHWC from end to end: layouts are converted around convolutions {%- else
--   %}Leave out copies that make tensors contiguous {%- endif %}
-- key: {{ what }}
-- each: layout_copy_kinds
-- uses: kernel_name, counted
-- categories: compute
-- only-with: kernel_name: regexp_matches(name, '(?i)nchwToNhwc|nhwcToNchw|batched_transpose_\d+x\d+|direct_copy_kernel')
with
converting as materialized (
    select
        name,
        regexp_matches(name, '(?i)nchwToNhwc|nhwcToNchw|batched_transpose_\d+x\d+') as is_conversion
    from kernel_name
    where regexp_matches(name, '(?i)nchwToNhwc|nhwcToNchw|batched_transpose_\d+x\d+|direct_copy_kernel')
),

piece as (
    select k.slice_id, k.step, g.ts, g.dur, g.name, g.launch_id, k.exclusive_dur, n.is_conversion
    from gpu_slice as g
    inner join converting as n using (name)
    inner join kernel_occupancy as k using (trace_id, slice_id)
    inner join counted on counted.step = k.step
    where
        g.trace_id = $trace_id
        and g.device = $device
        and g.kind = 'kernel'
        and n.is_conversion = ($what = 'conversion')
),

-- The operator that launched it and two around that one: ids first, names only of those.
chain as (
    select p.slice_id, l.operator_id as first_id, a.operator_id as second_id, b.operator_id as third_id
    from piece as p
    inner join cpu_slice as l on l.trace_id = $trace_id and l.slice_id = p.launch_id
    left join cpu_slice as a on a.trace_id = $trace_id and a.slice_id = l.operator_id
    left join cpu_slice as b on b.trace_id = $trace_id and b.slice_id = a.operator_id
),

operator as (
    select slice_id, name
    from cpu_slice
    where
        trace_id = $trace_id
        and slice_id in (
            select first_id from chain union select second_id from chain union select third_id from chain
        )
),

-- aten::copy_ inside aten::contiguous or aten::reshape, with or without an aten::clone between them; or within a convolution.
asked as (
    select
        p.*,
        case
            when not starts_with(a.name, 'aten::copy_') then null
            when regexp_matches(b.name, '^aten::(contiguous|reshape|_reshape_alias)(,|$)|conv|batch_norm') then b.name
            when starts_with(b.name, 'aten::clone') and regexp_matches(c.name, '^aten::(contiguous|reshape)(,|$)') then c.name
        end as asked_by,
        a.name as operator
    from piece as p
    left join chain as h using (slice_id)
    left join operator as a on a.slice_id = h.first_id
    left join operator as b on b.slice_id = h.second_id
    left join operator as c on c.slice_id = h.third_id
)

select
    step, ts, dur, name, slice_id, exclusive_dur as claimed, 'compute' as cause, slice_id as busy_id,
    coalesce(asked_by, operator) as asked_by
from asked
where exclusive_dur > 0 and (is_conversion or asked_by is not null)
