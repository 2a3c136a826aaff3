-- Runs of small matrix products of the same kernel and size, one after another on a stream with nothing between them: they could
-- be one batched product, which fills the GPU. The part that can go is the share of the GPU that each leaves empty.
-- title: Sequences of small matrix products
-- finds: Runs of at least four matrix products of the same kernel and grid, each shorter than 20 us, with nothing
--   between them: a loop over heads, experts, time or samples that one batched product could do.
-- matters: Each product fills only part of the GPU and has its own start and end. One batched product fills the GPU with a
--   single launch.
-- measured: Per stream, consecutive kernels of cuBLAS, nvjet and CUTLASS of one name and number of blocks, at least 4 (three
--   are the projections of attention) and below 20 us (longer ones fill the GPU on their own). The claim is the share of
--   multiprocessors without a block, or half if that is not known. Shares: 0.2 low, 0.6 likely, 1 high; other rules count the
--   launches.
-- try: torch.bmm or torch.einsum on stacked operands, torch.nested or a grouped matrix product for different sizes, torch.vmap
--   for ensembles, one projection with stacked weights for several projections of one input.
-- references: https://docs.pytorch.org/docs/stable/generated/torch.bmm.html
--   https://docs.nvidia.com/cuda/cublas/index.html
-- fix: {{ remedy('batch_products') }} {{ plural(occurrences / steps, 'small product') }} per step run one after
--   another, up to {{ worst.run_length }} in a row, such as {{ kernel_name(worst.name) }} of {{ time(worst.dur) }}.{% if
--   worst.sm_coverage is none %}{% else %} Each reaches {{ percent(worst.sm_coverage) }} of the multiprocessors.{%
--   endif %}
-- confidence: {% if worst.sm_coverage is not none %}medium{% else %}low{% endif %}
-- reason: They have the same kernel and size, and nothing runs between them; whether each needs the one before is not in the
--   trace.
-- wrong-if: Each product needs the result of the one before.
-- heading: Batch small matrix products
-- needs: gpu, steps
-- low: 0.2
-- likely: 0.6
-- high: 1.0
-- threshold: longest = 20000: longer ones fill the GPU on their own, and their launches are hidden
-- threshold: shortest_run = 4: three in a row are the projections of attention (query, key, value)
-- uses: busy
-- categories: compute
with
kernel as (
    select
        b.slice_id, b.stream, b.ts, k.sm_coverage,
        k.family in ('cublas', 'nvjet', 'cutlass', 'hipblas') and b.dur < $longest as is_small,
        hash(b.name, k.blocks) as hash
    from busy as b
    inner join kernel_occupancy as k using (trace_id, slice_id)
    where b.category = 'compute'
),

numbered as (
    select
        slice_id, stream, sm_coverage, is_small, hash,
        row_number() over same - row_number() over (partition by stream, is_small, hash order by ts, slice_id) as run
    from kernel
    window same as (partition by stream order by ts, slice_id)
),

run as (
    select stream, hash, run, count(*) as run_length
    from numbered
    where is_small
    group by stream, hash, run
    having count(*) >= $shortest_run
)

select
    b.step, b.ts, b.dur, b.name, b.slice_id,
    b.ledger_dur * (1 - coalesce(n.sm_coverage, 0.5)) as claimed,
    'compute' as cause, b.slice_id as busy_id, r.run_length, n.sm_coverage
from run as r
inner join numbered as n on n.stream is not distinct from r.stream and n.hash = r.hash and n.run = r.run and n.is_small
inner join busy as b on b.slice_id = n.slice_id
where claimed > 0
