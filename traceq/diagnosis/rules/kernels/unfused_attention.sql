-- Softmax between two matrix products on a stream, with nothing but elementwise work between: attention that writes its scores to
-- memory. A fused kernel takes as long as the products alone do at $efficiency of the peak; where that is not known, half as long.
-- title: Attention that is not fused
-- finds: Softmax between two batched matrix products, each a separate kernel: attention that writes its matrix of scores to
--   memory and reads it again for every operation.
-- matters: The scores grow with the square of the sequence length. A fused kernel (FlashAttention, memory-efficient or cuDNN
--   attention) never writes them, takes a fraction of the time, and needs memory that grows only linearly.
-- measured: Per stream, a softmax (not a log-softmax, which belongs to a loss) between two kernels of matrix products with
--   nothing but elementwise work, copies and unknown kernels between, at most 8 kernels in all; where operators were recorded,
--   both products must be batched (aten::bmm, not aten::mm or aten::addmm). The claim is all of the softmax and elementwise
--   kernels and, of the products, the time above that of their operations at 0.4 of the peak (the least that fused kernels
--   reach on longer sequences), or half if that is not known. Shares: 0.4 low, 0.8 likely, 1 high.
-- try: torch.nn.functional.scaled_dot_product_attention, in half precision. Rule-based masks (causal, windows, documents) can
--   go into flex_attention; the fastest kernels need head sizes that are a multiple of 8.
-- references: https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html
--   https://docs.pytorch.org/tutorials/intermediate/scaled_dot_product_attention_tutorial.html
--   https://arxiv.org/abs/2205.14135
-- fix: {{ remedy('fused_attention') }} Products and softmax of attention take {{ of_step(claimed_ns) }} more than a fused
--   kernel would ({{ percent(claimed_share) }}; mostly {{ kernel_name((pieces | rejectattr('is_product') | first |
--   default(worst)).name) }}).{% if program.has('flash_attention') %} Other layers already use a fused kernel.{% endif %}
-- confidence: {% if pieces | selectattr('operator') | list %}high{% else %}medium{% endif %}
-- reason: {% if pieces | selectattr('operator') | list %}Two batched matrix products were launched with a softmax between them.
--   {%- else %}The names of consecutive kernels on a stream match unfused attention. {%- endif %}
-- wrong-if: The program outputs the attention weights, or computes something from the scores that no fused kernel supports.
-- heading: Use a fused attention kernel
-- for: model
-- needs: gpu, steps
-- low: 0.4
-- likely: 0.8
-- high: 1.0
-- threshold: efficiency = 0.4: FlashAttention-2 reaches 0.35 to 0.7 of the peak (Dao 2023, figure 5 and 6)
-- threshold: most = 8: scale, mask, bias, softmax and dropout with their casts are at most eight kernels between the
--   two products
-- uses: busy
-- categories: compute
-- only-with: kernel_name: regexp_matches(name, '(?i)softmax') and not regexp_matches(name, '(?i)log_?soft_?max|cross_?entropy|nll_loss|softmax_warp_(for|back)ward<[^<>]*\d+, ?(true|\(bool\)1)')
with
-- Names are few and long, kernels many: names are looked at once each, and sorted are kernels without them.
named as (
    select
        name,
        case
            when
                regexp_matches(name, '(?i)softmax')
                and not regexp_matches(name, '(?i)log_?soft_?max|cross_?entropy|nll_loss|softmax_warp_(for|back)ward<[^<>]*\d+, ?(true|\(bool\)1)')
                then 'softmax'
            when regexp_matches(name, '(?i)splitKreduce|epilogue::|gemv|dot_kernel') then 'helper'
            else 'other'
        end as sort,
        regexp_matches(name, '(?i)backward') as is_backward
    from (select distinct name from gpu_slice where trace_id = $trace_id and device = $device and kind = 'kernel')
),

kernel as (
    select
        b.stream, b.ts, b.slice_id, n.is_backward,
        case
            when n.sort = 'softmax' then 'softmax'
            when n.sort = 'other' and k.family in ('cublas', 'nvjet', 'cutlass', 'hipblas', 'composable_kernel') then 'product'
            when k.family in ('elementwise', 'copy', 'triton', 'nvfuser', 'index', 'unknown', 'cublas') then 'between'
            else 'other'
        end as role,
        role in ('product', 'other') as is_end
    from busy as b
    inner join kernel_occupancy as k using (trace_id, slice_id)
    inner join named as n on n.name = b.name
    where
        b.category = 'compute'
        and exists (select 1 from named where sort = 'softmax')
),

-- A section begins with a product or with what does not belong to attention, and lasts to the next of these. It is identified by how
-- many of these there were.
sectioned as (
    select
        stream, slice_id, role, is_backward,
        if(is_end, of_sort, number - of_sort) as section
    from (
        select
            *,
            row_number() over (partition by stream order by ts, slice_id) as number,
            row_number() over (partition by stream, is_end order by ts, slice_id) as of_sort
        from kernel
    )
),

section as (
    select
        stream,
        section,
        any_value(slice_id) filter (role = 'product') as product,
        bool_or(role = 'softmax') as has_softmax,
        bool_or(role = 'softmax' and is_backward) as is_backward,
        count(*) as kernels
    from sectioned
    group by stream, section
),

neighbour as (
    select
        *,
        lag(if(kernels = 1, product, null)) over same as before,
        lead(product) over same as after,
        lead(if(kernels = 1, product, null)) over same as after_one,
        lead(product, 2) over same as after_next
    from section
    window same as (partition by stream order by section)
),

attention as (
    select
        *,
        -- backward has two products on each side
        [product, after] || if(is_backward, [before, if(after_one is not null, after_next, null)], []) as products
    from neighbour
    where has_softmax and product is not null and after is not null and kernels <= $most
),

candidate as (
    select s.slice_id, a.stream, a.section, false as is_product
    from sectioned as s
    inner join attention as a on a.stream is not distinct from s.stream and a.section = s.section
    where s.role <> 'product'
    union all
    select product, stream, section, true
    from (select stream, section, unnest(products) as product from attention)
    where product is not null
),

-- Products of two matrices without a batch (a layer, a classifier) are none of attention's.
judged as (
    select
        b.step, b.ts, b.dur, b.name, b.slice_id,
        b.ledger_dur, c.stream, c.section, c.is_product,
        split_part(coalesce(r.operator, o.name), ',', 1) as launched_by,
        coalesce(launched_by not in ('aten::mm', 'aten::addmm', 'aten::linear', 'aten::_addmm_activation'), true) as is_batched,
        1 - least(1, coalesce(x.flops / (1000 * x.peak * $efficiency) / nullif(x.gpu_dur, 0), 0.5)) as spare
    from candidate as c
    inner join busy as b on b.slice_id = c.slice_id
    left join cpu_slice as l on l.trace_id = $trace_id and l.slice_id = b.launch_id
    left join cpu_slice as o on o.trace_id = $trace_id and o.slice_id = l.operator_id
    left join graph_kernel as r on r.trace_id = $trace_id and r.slice_id = b.slice_id
    left join operator_cost as x on x.trace_id = $trace_id and x.slice_id = coalesce(r.operator_id, o.slice_id)
),

batched as (
    select stream, section
    from judged
    group by stream, section
    having count(*) filter (is_product and is_batched) >= 2
),

piece as (
    select j.*
    from judged as j
    inner join batched as b on b.stream is not distinct from j.stream and b.section = j.section
    where not j.is_product or j.is_batched
    qualify row_number() over (partition by j.slice_id order by j.section) = 1
)

select
    step, ts, dur, name, slice_id,
    ledger_dur * if(is_product, spare, 1) as claimed,
    'compute' as cause, slice_id as busy_id, launched_by as operator, is_product
from piece
