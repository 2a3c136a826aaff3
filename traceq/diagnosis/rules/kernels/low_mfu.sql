-- How much of the peak the counted steps use, and how much of them the GPU computes.
-- title: The GPU computes, but far below its peak
-- finds: Steps that spend more than 60 % of their time computing and use less than 30 % of the GPU's peak (model FLOPs
--   utilization).
-- matters: A busy GPU is not necessarily well used: the time may go to memory-bound kernels, or to matrix products far below
--   their peak.
-- measured: mfu (step_mfu) weighted by duration over the counted steps, if known, below 0.3, and the share of category compute
--   of the ledger above 0.6; with less, the GPU waits, which other findings cover. Matrix kernels are those of operators with
--   known operations, and those whose names say so; for the latter, such as kernels in graphs, the operations are not known,
--   and utilization must be below 0.3 even if all of them ran at the peak. Products in custom kernels whose names do not show
--   it are not counted.
-- try: The findings about kernels: precision, fused attention and elementwise kernels, shapes; a larger batch.
-- references: https://arxiv.org/abs/2204.02311
--   https://docs.nvidia.com/deeplearning/performance/dl-performance-gpu-background/index.html
-- remark: {% if facts.mfu_most_share < low_share and facts.compute_share > computing_share %}{% set least =
--   percent(facts.mfu_share) -%} {% set most = percent(facts.mfu_most_share) %}Steps use {{ least }}{% if most != least %} to
--   {{ most }}{% endif %} of the GPU's peak, although {{ percent(facts.compute_share) }} of their time is computing; matrix
--   kernels take {{ percent(facts.matrix_share) }} of that {%- if facts.unknown_share %}. Those whose operations are known
--   reach {{ percent(facts.kernel_efficiency_share) }} of their peak; for {{ percent(facts.unknown_share) }} of these kernels,
--   the operations are not known. {%- else %} and reach {{ percent(facts.kernel_efficiency_share) }} of their peak. {%- endif
--   %} {%- endif %}
-- fix: {% if facts.matrix_share < 0.5 %}{{ remedy('fuse') }} Most of the time goes to kernels other than matrix products. {%-
--   else %}Use larger sizes, lower precision and aligned shapes in matrix products. Most of the time goes to products below
--   their peak. {%- endif %}
-- needs: gpu, steps, flops, peaks
-- unknown: {% if not rows %}{{ lacks('the operations or peaks of some matrix products are not known', 'flops', 'brings them')
--   }} {%- elif facts.mfu_share < low_share and facts.mfu_most_share >= low_share and facts.compute_share > computing_share
--   %}for {{ percent(facts.unknown_share) }} of the time of matrix kernels, such as kernels in graphs, the operations are not
--   known {%- endif %}
-- threshold: low_share = 0.3: well-tuned training of transformers reaches 0.4 to 0.55 of the peak (PaLM,
--   Megatron-LM); below 0.3 there is a cause to look for
-- threshold: computing_share = 0.6: with less the GPU waits, which other findings say
-- remarks: yes
-- uses: counted, busy, costed_kernel, matrix_kernel
with
compute as (
    select step, sum(dur) as dur
    from time_ledger
    where trace_id = $trace_id and device = $device and category = 'compute'
    group by step
),

-- by their operators, in graphs as well, else by their names
matrix as (
    select b.step, sum(b.ledger_dur) as dur, coalesce(sum(b.ledger_dur) filter (x.flops is null), 0) as unknown_dur
    from busy as b
    left join costed_kernel as k using (slice_id)
    left join operator_cost as x on x.trace_id = $trace_id and x.slice_id = k.operator_id and x.flops > 0
    where b.category = 'compute' and (x.flops is not null or b.slice_id in (select slice_id from matrix_kernel))
    group by b.step
)

select
    count(*) as steps,
    sum(m.mfu * c.dur) / sum(c.dur) as mfu_share,
    (sum(m.mfu * c.dur) + sum(q.unknown_dur)) / sum(c.dur) as mfu_most_share,
    sum(p.dur) / sum(c.dur) as compute_share,
    sum(m.mfu * c.dur) / nullif(sum(m.gpu_dur), 0) as kernel_efficiency_share,
    sum(q.dur) / nullif(sum(p.dur), 0) as matrix_share,
    sum(q.unknown_dur) / nullif(sum(q.dur), 0) as unknown_share,
    sum(m.achieved * c.dur) / sum(c.dur) as achieved
from counted
inner join step as c on c.trace_id = $trace_id and c.step = counted.step
inner join step_mfu as m on m.trace_id = $trace_id and m.device = $device and m.step = c.step
inner join compute as p on p.step = c.step
inner join matrix as q on q.step = c.step
where m.mfu is not null
having count(*) > 0
