-- Products of what a model computes with its weights, by what limits them, and what weights or arithmetic of fewer bits take away at best.
-- title: Matrix products that fewer bits would speed up
-- finds: A trained model that runs in 16 bits (products in 32 bits gain from 16 first), whose steps spend much time in products
--   with weights: limited by reading the weights (decoding, small batches), or by arithmetic on a GPU that computes faster in 8
--   bits.
-- matters: 8-bit weights have half the bytes of 16-bit weights, 4-bit weights a quarter; tensor cores do twice as many
--   operations in fp8 or int8. Neither needs retraining, but both change the results, so accuracy has to be checked.
-- measured: Operators of products with a weight of two dimensions whose operations and bytes follow from their shapes
--   (operator_cost), over the time that only their kernels account for (busy_piece). If memory limits one (bound), the share of
--   its bytes that 8, or 4, bits remove from the weight; if arithmetic does, 1 - peak / peak of fp8 or int8, whichever peak is
--   higher on the GPU. These are upper bounds: 8-bit kernels are rarely as good as today's, least of all for small products.
--   The remark is made if 8 bits save at least 10 % of the step. It is made only for inference, and not if a kernel or an
--   operator shows that it already computes in 8 bits or less.
-- try: 8-bit or 4-bit weights where reading is the limit, fp8 or int8 for weights and activations where arithmetic is; compare
--   the answers on your own data first.
-- references: https://arxiv.org/abs/2211.10438
--   https://arxiv.org/abs/2306.00978
--   https://docs.vllm.ai/en/stable/features/quantization/
--   https://docs.pytorch.org/ao/stable/
-- remark: {% if facts.eight_share >= worth %}{% if 'serving' in program.workloads %}Products{% else %}Nothing in the trace
--   trains a model. Products{% endif %} with weights take {{ time(facts.all_ns) }} of {{ time(facts.step_ns) }}{% if not
--   subject.is_window %} a step{% endif %}. {%- for row in rows if row.gpu_ns >= least * row.step_ns %} {% if row.bound ==
--   'memory' %}Reading {{ size(row.weight_bytes) }} of {{ row.dtype }} weights is the limit in {{ time(row.gpu_ns) }} of it:
--   8-bit weights save at most {{ time(row.eight_ns) }}{% if row.four_ns > row.eight_ns %}, 4-bit ones {{ time(row.four_ns)
--   }}{% endif %}. {%- else %}Arithmetic in {{ row.compute_type }} is the limit in {{ time(row.gpu_ns) }} of it: {{ row.faster
--   }}, with {{ '%.1f' | format(row.faster_peak / row.peak) }} times the peak, saves at most {{ time(row.eight_ns) }}. {%-
--   endif %} {%- endfor %} In all, that saves at most {{ percent(facts.eight_share) }}. These are upper bounds from bytes and
--   operations, and accuracy has to be checked. {%- endif %}
-- fix: {% if rows | selectattr('bound', 'equalto', 'compute') | sum(attribute='eight_ns') >= facts.eight_total_ns / 2 %}{{
--   remedy('quantize_products') }} {%- else %}{{ remedy('quantize_weights') }} {%- endif %} Compare results on your own data
--   before and after.
-- needs: gpu, steps, shapes
-- absent: {% if 'training' in program.workloads %}the program trains a model {%- elif program.workloads and 'inference' not in
--   program.workloads and 'serving' not in program.workloads %}the program runs no model {%- elif ask('quantized') %}{{
--   cut(ask('quantized')[0].name) }} already computes with fewer than 16 bits {%- endif %}
-- unknown: {% if not program.workloads %}the trace does not show whether the program trains {%- elif not rows %}no product with
--   a 16-bit weight has known shapes and peaks {%- endif %}
-- threshold: worth = 0.1: less is not worth a change of the model's precision and a check of its accuracy
-- threshold: least = 0.01: of the step: what is below is counted, not told
-- remarks: yes
-- uses: busy, counted
-- only-with: operator_cost: trace_id = $trace_id and dtype in ('fp16', 'bf16') and bound <> 'unknown'
with
named as materialized (
    select slice_id, name, args
    from (
        select slice_id, name, args from cpu_slice where trace_id = $trace_id and kind = 'op'
        union all
        select slice_id, name, args from graph_operator where trace_id = $trace_id
    )
    where regexp_matches(name, '^aten::(linear|mm|mv|matmul|addmm|addmv|_addmm_activation)$') and args is not null
),

-- the weight comes second, of what adds a bias third; of a product with a vector one place before
shaped as (
    select
        slice_id,
        try_cast(
            args -> 'Input Dims' -> case name when 'aten::mv' then 0 when 'aten::addmm' then 2 when 'aten::_addmm_activation' then 2 else 1 end as bigint[]
        ) as weight
    from named
),

kernel_time as (
    select coalesce(g.operator_id, l.operator_id) as slice_id, sum(b.ledger_dur) as dur
    from busy as b
    left join cpu_slice as l on l.trace_id = b.trace_id and l.slice_id = b.launch_id
    left join graph_kernel as g on g.trace_id = b.trace_id and g.slice_id = b.slice_id
    where b.category = 'compute'
    group by coalesce(g.operator_id, l.operator_id)
),

product as (
    select
        x.bound, x.dtype, x.compute_type, x.peak, x.bytes, k.dur,
        2 * s.weight[1] * s.weight[2] as weight_bytes,
        if(coalesce(m.fp8, 0) >= coalesce(m.int8, 0), 'fp8', 'int8') as faster,
        greatest(coalesce(m.fp8, 0), coalesce(m.int8, 0), x.peak) as faster_peak
    from operator_cost as x
    inner join shaped as s using (slice_id)
    inner join kernel_time as k using (slice_id)
    left join device_model as m on m.trace_id = x.trace_id and m.device = x.device
    where
        x.trace_id = $trace_id
        and x.dtype in ('fp16', 'bf16')
        and x.bound <> 'unknown'
        and len(s.weight) = 2
),

-- what is left of bytes when only the weight has fewer, and of operations by the peaks
shorter as (
    select
        *,
        if(bound = 'memory', weight_bytes / bytes * 0.5, 1 - peak / faster_peak) * dur as eight,
        if(bound = 'memory', weight_bytes / bytes * 0.75, 1 - peak / faster_peak) * dur as four
    from product
),

kind as (
    select
        bound, dtype, compute_type,
        any_value(faster) as faster,
        any_value(peak) as peak,
        any_value(faster_peak) as faster_peak,
        count(*) as products,
        sum(weight_bytes) as weight_bytes,
        sum(dur) as dur,
        sum(eight) as eight,
        sum(four) as four
    from shorter
    group by bound, dtype, compute_type
),

-- what was launched before the capture is not in it: how much of that time is products is not known
spent as (
    select sum(dur) as total, count(distinct step) as steps
    from time_ledger
    inner join counted using (step)
    where trace_id = $trace_id and device = $device and category <> 'idle_earlier_work'
)

select
    k.bound, k.dtype, k.compute_type, k.products,
    (k.weight_bytes / s.steps)::bigint as weight_bytes,
    (k.dur / s.steps)::bigint as gpu_ns,
    k.peak, k.faster, k.faster_peak,
    (k.eight / s.steps)::bigint as eight_ns,
    (k.four / s.steps)::bigint as four_ns,
    (sum(k.dur) over () / s.steps)::bigint as all_ns,
    (sum(k.eight) over () / s.steps)::bigint as eight_total_ns,
    s.total / s.steps as step_ns,
    sum(k.eight) over () / s.total as eight_share
from kind as k
cross join spent as s
order by k.eight desc, k.bound, k.dtype, k.compute_type
