-- Migrations of unified memory with nothing beside them, and kernels that wait for pages: what ran beside a kernel in pieces smaller than
-- those of a prefetch was fetched because it faulted.
-- title: Migrations of unified memory
-- finds: Pages of managed memory that move between host and GPU while nothing else runs on the GPU, and kernels that
--   wait for pages they touch.
-- matters: Touching a page that is elsewhere stops the thread that touches it: the driver handles the fault and moves the page
--   in small pieces, at a fraction of the link's bandwidth. The same data moves faster, and during computation, if the program
--   asks for it in time, and it does not move at all if it stays where it is used.
-- measured: The exposed time of copies of kind um (copy_overlap). In addition, for every kernel, the larger of two times: that
--   of migrations to the device that overlapped it in pieces below 2 MiB (cudaMemPrefetchAsync moves whole blocks of 2 MiB,
--   faults bring smaller ones), and that of the page faults of the GPU served during it, where the trace has them (page_fault).
--   Low, likely and high share: 0.2, 1 and 1. Data that is needed still has to be moved, which leaves less to save; but a
--   migration is only the transfer, and most traces do not record the fault before it (tens of microseconds for each group of
--   pages). The two are assumed to cancel out. What waits for a migration is not recorded, so its time counts in full, while
--   for other copies a replay decides.
-- try: Move data before the kernel that needs it starts (cudaMemPrefetchAsync), tell the driver who reads and writes it
--   (cudaMemAdvise), initialise data on the GPU, or use cudaMalloc and explicit copies of pinned memory.
-- references: https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#unified-memory-programming
--   https://developer.nvidia.com/blog/maximizing-unified-memory-performance-cuda/
-- fix: {% if facts.prefetches %}{{ remedy('prefetch_pages_more') }} The program already prefetches ({{ plural(facts.prefetches,
--   'call') }}), but pages still move one by one. {%- else %}{{ remedy('prefetch_pages') }} {%- endif %} The counted steps have
--   {{ '{:,}'.format(facts.migrations_h2d) }} migrations to the device ({{ short_size(facts.bytes_h2d) }}) and {{
--   '{:,}'.format(facts.migrations_d2h) }} to the host ({{ short_size(facts.bytes_d2h) }}) {%- if facts.gpu_faults %}, and {{
--   '{:,}'.format(facts.gpu_faults) }} page faults of the GPU {%- endif %}. {% for waiting in pieces | selectattr('cause',
--   'equalto', 'compute') %}{% if loop.first %}The kernel {{ cut(waiting.name) }} waits for pages while it runs. {% endif %}
--   {%- endfor %}
-- confidence: medium
-- reason: The driver recorded the migrations; that kernels waited for those that overlap them is inferred, and how much has to
--   move in any case is not known.
-- wrong-if: Host and GPU touch the pages in turn by design, and each side needs all of them.
-- heading: Move pages before they are needed, or use device memory
-- absent: {% if not subject.present.migrations %}no unified memory migrated{% endif %}
-- facts: unified_memory_facts
-- low: 0.2
-- likely: 1.0
-- high: 1.0
-- threshold: prefetch_bytes = 2097152: cudaMemPrefetchAsync moves whole blocks of 2 MiB, faults bring smaller pieces
--   (CUDA: unified memory)
-- uses: counted
-- categories: compute, copy_other
with
migration as (
    select c.slice_id, c.step, g.ts, c.dur, g.name, c.direction, c.bytes, c.bandwidth, c.exposed, c.overlapped, s.excluded
    from copy_overlap as c
    inner join gpu_slice as g using (trace_id, slice_id)
    left join step as s on s.trace_id = c.trace_id and s.step = c.step
    where c.trace_id = $trace_id and c.device = $device and c.copy_kind = 'um'
),

-- Groups of faults overlap: of each only what is later than all before it.
fault as (
    select ts, faults, greatest(0, ts + dur - greatest(ts, max(ts + dur) over earlier)) as dur
    from page_fault
    where trace_id = $trace_id and device = $device and processor = 'gpu'
    window earlier as (order by ts, dur rows between unbounded preceding and 1 preceding)
),

kernel_piece as (
    select k.slice_id, k.step, g.ts, g.ts_end, g.dur, g.name, k.exclusive_dur
    from kernel_occupancy as k
    inner join gpu_slice as g using (trace_id, slice_id)
    inner join counted on counted.step = k.step
    where
        k.trace_id = $trace_id
        and k.device = $device
        and not g.is_communication
),

fetched as (
    select k.slice_id, count(*) as pages, sum(m.overlapped) as dur, sum(m.bytes) as bytes
    from (select * from migration where direction = 'h2d' and overlapped > 0 and bytes < $prefetch_bytes) as m
    asof inner join kernel_piece as k on m.ts >= k.ts
    where m.ts < k.ts_end
    group by k.slice_id
),

faulted as (
    select k.slice_id, sum(f.faults) as faults, sum(f.dur) as dur
    from fault as f
    asof inner join kernel_piece as k on f.ts >= k.ts
    where f.ts < k.ts_end
    group by k.slice_id
)

select
    step, ts, dur, name, slice_id, exposed as claimed, 'copy_other' as cause, slice_id as busy_id,
    -- whoever touches a page waits for it, and no call says so: a replay knows nothing of that
    'migration' as scenario, direction, bytes, bandwidth, 1 as migrations, null as faults
from migration
where exposed > 0 and step is not null and excluded is null
union all
select
    k.step, k.ts, k.dur, k.name, k.slice_id,
    least(k.exclusive_dur, greatest(coalesce(p.dur, 0), coalesce(f.dur, 0))) as claimed,
    'compute' as cause, k.slice_id as busy_id, 'compute' as scenario, null as direction, p.bytes,
    null as bandwidth, p.pages as migrations, f.faults
from kernel_piece as k
left join fetched as p using (slice_id)
left join faulted as f using (slice_id)
where p.dur > 0 or f.dur > 0
