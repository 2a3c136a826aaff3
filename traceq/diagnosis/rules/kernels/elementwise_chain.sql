-- Elementwise kernels one after another on a stream: compiled into one they read and write their tensor once. Of a run with k
-- different kernels (the same one over and over may be about as many tensors, which fusing does not save from being read)
-- one of k, and no less than a fifth, remains. Optimizers are another rule's.
-- title: Chains of elementwise kernels
-- finds: Runs of different elementwise kernels on a stream with nothing else between them: operations on the same tensor that
--   each read it from memory and write it back.
-- matters: Memory bandwidth limits such kernels, and most of what they move only goes from one kernel to the next. A compiler
--   turns a run into one kernel.
-- measured: Per stream, consecutive kernels of the families elementwise and copy (kernel_occupancy; by name, so for both
--   profilers), without fills, foreach kernels, concatenations and the optimizer's. Of a run with k different kernels, the
--   share 1 - 1/k is claimed, at most 0.8; a run of the same kernel again and again claims nothing. Shares: 0.1 low, 0.5 likely
--   (not all in a run work on the same tensor, and some results are needed later), 0.9 high.
-- try: torch.compile(model), or of the module with most of them; fused operators (gelu, layer_norm, dropout with residual),
--   in-place operations, half precision.
-- references: https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
--   https://docs.pytorch.org/docs/stable/generated/torch.compile.html
-- fix: {{ remedy('fuse') }} {{ plural(occurrences / steps, 'kernel') }} per step belong to runs of elementwise work, up to {{
--   pieces | map(attribute='run_length') | max }} in a row, mostly {{ operator_names(pieces) }}. Fusing them saves at most {{
--   time(claimed_ns) }} ({{ percent(claimed_share) }}) of each step.
-- confidence: medium
-- reason: Kernels that follow one another are identified by name and order; whether they work on the same tensor is not
--   recorded.
-- wrong-if: The kernels of a run work on different tensors, or cannot be compiled together.
-- same-fix: fusion
-- needs: gpu, steps
-- low: 0.1
-- likely: 0.5
-- high: 0.9
-- uses: busy
-- categories: compute
-- heading: Fuse elementwise kernels
with
-- Names are few and long, kernels many: names are looked at once each, and sorted are kernels without them.
named as (
    select
        name,
        not regexp_matches(name, 'multi_tensor_apply|CatArray|FillFunctor|split_with_sizes|chunk_cat|distribution_') as is_single,
        hash(name) as hash
    from (select distinct name from gpu_slice where trace_id = $trace_id and device = $device and kind = 'kernel')
),

kernel as (
    select
        b.stream, b.ts, b.slice_id, n.hash,
        k.family in ('elementwise', 'copy', 'norm', 'softmax', 'reduce') and n.is_single and s.phase is distinct from 'optimizer' as is_elementwise
    from busy as b
    inner join kernel_occupancy as k using (trace_id, slice_id)
    inner join named as n on n.name = b.name
    left join launch_state as s using (trace_id, slice_id)
    where b.category = 'compute'
),

-- A run is identified by how many other kernels came before (a difference of row numbers; counting them in a window is slow).
numbered as (
    select
        slice_id, stream, hash, is_elementwise,
        row_number() over (partition by stream order by ts, slice_id)
        - row_number() over (partition by stream, is_elementwise order by ts, slice_id) as run
    from kernel
),

sized as (
    select stream, run, count(*) as run_length, count(distinct hash) as different
    from numbered
    where is_elementwise
    group by stream, run
    having count(*) > 1 and min(hash) <> max(hash)
),

member as (
    select n.slice_id, s.run_length, s.different
    from numbered as n
    inner join sized as s on s.stream is not distinct from n.stream and s.run = n.run
    where n.is_elementwise
)

select
    b.step, b.ts, b.dur, b.name, b.slice_id,
    b.ledger_dur * (1 - 1 / least(m.different, 5)) as claimed,
    'compute' as cause,
    -- kernels go with their launches, so that the host gets as much faster: no replay of kernels alone bounds it
    'fusion' as scenario,
    b.slice_id as busy_id,
    split_part(o.name, ',', 1) as operator,
    m.run_length,
    m.different as different_kernels
from member as m
inner join busy as b on b.slice_id = m.slice_id
left join cpu_slice as l on l.trace_id = $trace_id and l.slice_id = b.launch_id
left join cpu_slice as o on o.trace_id = $trace_id and o.slice_id = l.operator_id
