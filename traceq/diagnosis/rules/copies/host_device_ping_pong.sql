-- Copies to the host and back of the same size within a step, step after step, where nothing else of that size comes to the device.
-- Large ones that come back for backward or the optimizer are offloading, which is meant.
-- title: Data leaves the GPU and comes back within a step
-- finds: Copies to the host followed by copies of the same size to the device, within one step and in step after
--   step.
-- matters: Each way costs a copy over the slowest link in the machine, and usually a wait for the GPU as well, only because
--   some work in between runs on the host.
-- measured: Pairs of copy_overlap.returns_slice_id of at least 4 KiB (smaller ones are values and flags, whose sizes match by
--   chance), in at least half of the counted steps and no less than two, where every copy to the device of that size is the
--   second of a pair: otherwise something else of that size comes in. Copies of 1 MiB and more that return for backward or the
--   optimizer are offloading, see offload-copy; batches, checkpoints and pipelines are left out. Claimed is the exposed time of
--   both copies. Low, likely and high share: 0.6, 1 and 1.
-- try: Do the work in between on the GPU (torch instead of numpy, a kernel instead of a loop on the host).
-- references: https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
--   https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/#data-transfer-between-host-and-device
-- fix: {{ remedy('stay_on_gpu') }} {{ copies() }}
-- confidence: medium
-- reason: Sizes and order match in every pair; the trace does not show which bytes were copied.
-- wrong-if: The data that comes back is different data of the same size.
-- heading: Keep data on the GPU: it leaves and comes back within a step
-- needs: gpu, steps, calls, several_steps
-- about: copies
-- low: 0.6
-- likely: 1.0
-- high: 1.0
-- threshold: least_bytes = 4096: a page; smaller copies are values and flags, and equal in size by chance
-- threshold: offload_bytes = 1048576: below 1 MiB offloading costs more in latency than it frees; what returns for
--   backward above it is offloading
-- threshold: least_steps_share = 0.5: what half of the steps do is a habit of the program
-- uses: counted
-- only-with: counted_copy: copy_kind in ('h2d', 'd2h') and bytes >= $least_bytes and returns_slice_id is not null
with
copy as (
    select
        c.slice_id, c.step, c.copy_kind, c.bytes, c.bandwidth, c.category, c.dur, c.exposed, c.position,
        c.returns_slice_id
    from copy_overlap as c
    inner join counted using (step)
    where
        c.trace_id = $trace_id
        and c.device = $device
        and c.copy_kind in ('h2d', 'd2h')
        and c.bytes >= $least_bytes
),

trip as (
    select b.step, b.bytes, b.slice_id as back_id, a.slice_id as away_id
    from copy as b
    inner join copy as a on a.slice_id = b.returns_slice_id
    where
        b.position not in ('data', 'checkpoint', 'pipeline')
        and a.position not in ('checkpoint', 'pipeline')
        and (b.bytes < $offload_bytes or b.position not in ('backward', 'optimizer'))
),

size as (
    select c.bytes
    from copy as c
    left join trip as t on t.back_id = c.slice_id
    where c.copy_kind = 'h2d'
    group by c.bytes
    having
        count(distinct t.step) >= greatest(2, $least_steps_share * (select steps from step_stats where trace_id = $trace_id))
        and count(t.back_id) = count(*)
),

way as (
    select unnest([away_id, back_id]) as slice_id, back_id
    from trip
    inner join size using (bytes)
)

select
    c.step, g.ts, c.dur, g.name, c.slice_id, c.exposed as claimed, c.category as cause, c.slice_id as busy_id,
    c.copy_kind as direction, c.bytes, c.bandwidth, w.back_id as back_slice_id
from way as w
inner join copy as c using (slice_id)
inner join gpu_slice as g on g.trace_id = $trace_id and g.slice_id = c.slice_id
where c.exposed > 0
