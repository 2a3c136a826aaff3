-- How much of the peak the counted steps use, and how much of them the GPU computes.
-- title: The GPU computes, but far below its peak
-- finds: Steps of which more than 60 % are computing and that use less than 30 % of the peak of the GPU (model FLOPs
--   utilization).
-- matters: A GPU that is busy is not yet well used: the time goes to kernels that memory limits, or to matrix products
--   far below their peak.
-- measured: mfu (step_mfu) weighted by duration over the counted steps, if known, below 0.3, and the share of category
--   compute of the ledger above 0.6; with less, the GPU waits, which other findings say. Work of custom kernels and of
--   graphs is not counted, so the true figure may be higher.
-- try: The findings about kernels: precision, fused attention and elementwise kernels, shapes; a larger batch.
-- references: https://arxiv.org/abs/2204.02311
--   https://docs.nvidia.com/deeplearning/performance/dl-performance-gpu-background/index.html
-- remark: {% if facts.mfu_share < low_share and facts.compute_share > computing_share %}Steps use
--   {{ percent(facts.mfu_share) }} of the peak of the GPU though {{ percent(facts.compute_share) }} of their time is
--   computing; matrix kernels have {{ percent(facts.matrix_share) }} of that and reach
--   {{ percent(facts.kernel_efficiency_share) }} of their peak.
--   {%- endif %}
-- fix: {% if facts.matrix_share < 0.5 %}{{ remedy('fuse') }} Most of the time goes to kernels that are not matrix
--   products. {%- else %}Use larger sizes, lower precision and aligned shapes in matrix products. Most of the time
--   goes to products below their peak. {%- endif %}
-- needs: gpu, steps, flops, peaks
-- unknown: {% if not rows %}{{ lacks('the operations or the peaks of some matrix products are not known', 'flops', 'brings them') }}
--   {%- endif %}
-- threshold: low_share = 0.3: well-tuned training of transformers reaches 0.4 to 0.55 of the peak (PaLM,
--   Megatron-LM); below 0.3 there is a cause to look for
-- threshold: computing_share = 0.6: with less the GPU waits, which other findings say
-- remarks: yes
-- uses: counted
with
compute as (
    select step, sum(dur) as dur
    from time_ledger
    where trace_id = $trace_id and device = $device and category = 'compute'
    group by step
)

select
    count(*) as steps,
    sum(m.mfu * c.dur) / sum(c.dur) as mfu_share,
    sum(p.dur) / sum(c.dur) as compute_share,
    sum(m.mfu * c.dur) / nullif(sum(m.gpu_dur), 0) as kernel_efficiency_share,
    sum(m.gpu_dur) / nullif(sum(p.dur), 0) as matrix_share,
    sum(m.achieved * c.dur) / sum(c.dur) as achieved
from counted
inner join step as c on c.trace_id = $trace_id and c.step = counted.step
inner join step_mfu as m on m.trace_id = $trace_id and m.device = $device and m.step = c.step
inner join compute as p on p.step = c.step
where m.mfu is not null
having count(*) > 0
