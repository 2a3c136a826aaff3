-- The same kernel on the same work, which takes much longer now and then. The same work: the n-th launch of a name and
-- geometry in each step, where all steps launch it equally often.
-- title: The same kernel is sometimes much slower
-- finds: Kernel launches that take over a quarter longer than the same launch in other steps.
-- matters: The same work on the same GPU should take the same time. If it does not, something else uses the GPU or its memory
--   (another process, copies, communication), clocks change, or the work depends on the data.
-- measured: The n-th launch of each name, geometry and stream in a step is compared with its median over the counted steps, if
--   all steps launch it equally often and there are at least 10 in all; kernels that overlap others are left out, as are
--   launches in a server's steps of another kind or with other tokens, and embeddings, indexing, sorting and unknown kernels,
--   whose time depends on data. The claim is the time above the median where that is more than 25 % and 5 us. Shares: 0.2 low,
--   0.7 likely, 1 high.
-- try: Look for other processes on the GPU (nvidia-smi), at clocks (nvidia-smi -q -d CLOCK,PERFORMANCE), and at
--   what runs at the same time in the slow steps.
-- references: https://docs.nvidia.com/deploy/nvidia-smi/index.html
-- fix: Find out what slows down individual launches. {{ plural(occurrences, 'launch', 'launches') }} took over {{ percent(above
--   - 1) }} longer than the same launch in other steps, at worst {{ kernel_name(worst.name) }} with {{ time(worst.dur) }}
--   instead of {{ time(worst.usual_ns) }} in step {{ worst.step }}. {{ remedy('other_users') }}, and for inputs that differ
--   between steps.
-- confidence: low
-- reason: The work is assumed to be the same because name, geometry and place in the step agree; shapes and data may differ.
-- wrong-if: The slow launches have larger inputs with the same geometry.
-- heading: Find out what slows down individual launches
-- needs: gpu, steps, several_steps, kernel_geometry
-- captures: host_only, steps, window
-- low: 0.2
-- likely: 0.7
-- high: 1.0
-- threshold: above = 1.25: clocks and caches move equal kernels by less than a fifth
-- threshold: least_ns = 5000: start and end of a kernel vary by some us
-- threshold: instances = 10: a median of fewer is not known well enough to call one of them long
-- uses: counted, busy
-- categories: compute
with
kernel as (
    select
        b.step, b.ts, b.dur, b.slice_id,
        b.ledger_dur,
        -- steps of a server that compute other tokens give the same kernels other work
        hash(
            b.name, g.grid_x, g.grid_y, g.grid_z, g.block_x, g.block_y, g.block_z, g.shared_memory, b.stream, s.kind, s.new_tokens
        ) as kernel
    from busy as b
    inner join gpu_slice as g using (trace_id, slice_id)
    inner join kernel_occupancy as k using (trace_id, slice_id)
    left join serving_step as s on s.trace_id = $trace_id and s.step = b.step
    where
        b.category = 'compute'
        and g.kind = 'kernel'
        and g.grid_x is not null
        and b.ledger_dur >= 0.99 * b.dur
        and k.family not in ('embedding', 'index', 'scan_sort', 'unknown')
),

regular as (
    select kernel
    from (
        select kernel, step, count(*) as launches
        from kernel
        group by kernel, step
    )
    group by kernel
    having
        count(*) = (select count(*) from counted)
        and min(launches) = max(launches)
        and sum(launches) >= $instances
),

placed as (
    select k.*, row_number() over (partition by k.kernel, k.step order by k.ts, k.slice_id) as place
    from kernel as k
    inner join regular as c using (kernel)
),

usual as (
    select *, median(dur) over (partition by kernel, place) as usual_dur
    from placed
)

select
    u.step, u.ts, u.dur, g.name, u.slice_id,
    u.ledger_dur * (1 - u.usual_dur / u.dur) as claimed,
    'compute' as cause, u.slice_id as busy_id, u.usual_dur as usual_ns,
    u.dur / u.usual_dur as times
from usual as u
inner join gpu_slice as g on g.trace_id = $trace_id and g.slice_id = u.slice_id
where u.dur > $above * u.usual_dur and u.dur - u.usual_dur > $least_ns
