-- kernel_occupancy: what fits on a multiprocessor by the rules of NVIDIA's occupancy calculator, and each kernel's share of
-- the time. Definition: docs/metrics.md.
-- reads: _kernel_class, graph_kernel
-- makes: kernel_occupancy

-- A sweep as in device_activity, over kernels alone: how many run between two boundaries, and what a kernel that runs all the
-- time has been given until then. In units of 1/720720 of a billionth of a ns (720720 is the least common multiple of 1 to 16):
-- up to 16 kernels at once share without rounding, 100,000 of them all along lose far less than a ns, and the order of summing
-- does not matter.
create temp macro _share_units() as 720720000000000::hugeint;

create temp table _kernel_change as
select device, t, sum(change)::bigint as change
from (
    select device, ts as t, 1 as change from gpu_slice where kind = 'kernel'
    union all
    select device, ts_end, -1 from gpu_slice where kind = 'kernel'
)
group by device, t
order by device, t;

-- The rows lie in the order of device and time, and nothing runs where a device's end: so sums run through. Only differences count.
create temp table _kernel_share as
with
segment as (
    select
        device,
        t,
        lead(t) over () - t as dur,
        sum(change) over (rows unbounded preceding) as running
    from _kernel_change
),

shared as (
    select device, t, if(running > 0, dur * _share_units() // running::bigint, 0) as share
    from segment
)

select device, t, (sum(share) over (rows unbounded preceding) - share)::hugeint as given
from shared;

drop table _kernel_change;

-- Its start first and its end after that: both at once would be two large hash tables.
create temp table _kernel_start as
select g.slice_id, g.device, g.ts_end, s.given
from gpu_slice as g
inner join _kernel_share as s on s.device = g.device and s.t = g.ts
where g.kind = 'kernel';

-- Whole ns apart: as one number they would not fit into a double's digits.
create temp table _kernel_time as
select
    s.slice_id,
    ((f.given - s.given) // _share_units())::double + ((f.given - s.given) % _share_units())::double / _share_units()::double
        as exclusive_dur
from _kernel_start as s
inner join _kernel_share as f on f.device = s.device and f.t = s.ts_end;

drop table _kernel_start;
drop table _kernel_share;

-- What CUDA allows; beyond it a number is damaged, and must not overflow.
create temp macro _threads(x, y, z) as
    case when x::hugeint * y * z between 1 and 1024 then (x::hugeint * y * z)::integer end;

create temp macro _within(value, most) as case when value between 0 and most then value end;

create temp macro _cluster(recorded) as case when try_cast(recorded as integer) >= 1 then try_cast(recorded as integer) end;

-- Once: planning the view costs more than all else here in a small trace.
create temp table _device_limits as from device_model where trace_id = $trace_id;

-- Launches repeat themselves: the rules are worked out once per geometry.
create temp table _kernel_geometry as
with
geometry as (
    select distinct
        device,
        _threads(block_x, block_y, block_z) as threads,
        _within(registers_per_thread, 255) as registers_per_thread,
        _within(shared_memory, 1048576) as shared_memory
    from gpu_slice
    where kind = 'kernel'
),

allocated as (
    select
        g.*, m.max_blocks_per_sm, m.max_threads_per_sm, m.registers_per_sm, m.shared_memory_per_sm,
        ceil(g.threads / 32)::integer as warps,
        -- registers go to warps in units of 256
        ceil(g.registers_per_thread * 32 / 256)::integer * 256 as registers_per_warp,
        ceil((g.shared_memory + m.reserved_shared_memory) / m.shared_memory_unit)::bigint * m.shared_memory_unit as shared_per_block
    from geometry as g
    inner join _device_limits as m on m.device = g.device
    where m.compute_capability is not null
),

limited as (
    select
        *,
        max_blocks_per_sm as by_blocks,
        max_threads_per_sm // 32 // nullif(warps, 0) as by_warps,
        case
            when registers_per_warp > 0
                -- each of the four partitions of a multiprocessor has a quarter of the registers
                then registers_per_sm // 4 // registers_per_warp * 4 // nullif(warps, 0)
            -- no registers, no limit
            when registers_per_warp = 0 then 2147483647
        end as by_registers,
        case
            when shared_per_block > 0 then shared_memory_per_sm // shared_per_block
            when shared_per_block = 0 then 2147483647
        end as by_shared_memory
    from allocated
)

select
    device, threads, registers_per_thread, shared_memory, max_threads_per_sm, warps,
    -- A kernel that ran did fit: none at all means that a limit is not what it seems.
    nullif(least(by_blocks, by_warps, by_registers, by_shared_memory), 0)::integer as resident_blocks,
    case least(by_blocks, by_warps, by_registers, by_shared_memory)
        when by_warps then 'warps'
        when by_blocks then 'blocks'
        when by_registers then 'registers'
        else 'shared_memory'
    end as limiter
from limited
-- least() would pass over what is not known
where by_blocks is not null and by_warps is not null and by_registers is not null and by_shared_memory is not null;

-- Templates of Inductor multiply with tl.dot: on tensor cores, where the operands are no single precision, of which the name
-- says nothing.
create temp table _template_in_half as
select g.slice_id
from gpu_slice as g
inner join cpu_slice as l on l.slice_id = g.launch_id
inner join cpu_slice as o on o.slice_id = l.operator_id
where
    g.kind = 'kernel'
    and starts_with(g.name, 'triton_tem_')
    and regexp_matches(try(json_extract_string(o.args, '$."Input type"')), 'Half|BFloat16|Float8|signed char')
union
select g.slice_id
from graph_kernel as k
inner join gpu_slice as g using (slice_id)
where starts_with(g.name, 'triton_tem_') and regexp_matches(k.types, 'Half|BFloat16|Float8|signed char');

insert into kernel_occupancy
with
kernel as (
    select
        g.slice_id, g.device, g.step, g.ts, g.name, g.is_communication,
        if(
            contains(g.args, '"cluster_x"') or contains(g.args, '"est. achieved occupancy %"'),
            json_extract_string(g.args, ['cluster_x', 'cluster_y', 'cluster_z', '$."est. achieved occupancy %"']),
            null
        ) as recorded,
        nullif(try_cast(g.grid_x::hugeint * g.grid_y * g.grid_z as bigint), 0) as blocks,
        _threads(g.block_x, g.block_y, g.block_z) as threads,
        _within(g.registers_per_thread, 255) as registers_per_thread,
        _within(g.shared_memory, 1048576) as shared_memory,
        t.exclusive_dur
    from gpu_slice as g
    inner join _kernel_time as t using (slice_id)
    where g.kind = 'kernel'
),

placed as (
    select
        k.*, o.resident_blocks, o.limiter, o.warps, o.max_threads_per_sm, m.sm_count,
        k.blocks / m.sm_count as blocks_per_sm
    from kernel as k
    left join _kernel_geometry as o
        on
            o.device = k.device
            and o.threads = k.threads
            and o.registers_per_thread = k.registers_per_thread
            and o.shared_memory = k.shared_memory
    left join _device_limits as m on m.device = k.device
)

select
    $trace_id as trace_id,
    k.slice_id, k.device, k.step,
    if(k.is_communication, 'communication', c.family) as family,
    if(k.is_communication, false, coalesce(c.tensor_core, if(h.slice_id is not null, true, null))) as tensor_core,
    k.blocks,
    k.threads as threads_per_block,
    _cluster(k.recorded[1]) as cluster_x,
    _cluster(k.recorded[2]) as cluster_y,
    _cluster(k.recorded[3]) as cluster_z,
    k.resident_blocks,
    case
        when k.resident_blocks is null then 'unknown'
        when k.blocks_per_sm < k.resident_blocks then 'grid'
        else k.limiter
    end as limiter,
    k.resident_blocks * k.warps / (k.max_threads_per_sm // 32) as theoretical_occupancy,
    k.blocks_per_sm / k.resident_blocks as waves,
    k.blocks_per_sm / k.resident_blocks / ceil(k.blocks_per_sm / k.resident_blocks) as wave_efficiency,
    if(k.blocks_per_sm is not null, least(1, k.blocks_per_sm), null) as sm_coverage,
    if(
        k.resident_blocks is not null and k.blocks_per_sm is not null,
        least(k.resident_blocks, k.blocks_per_sm) * k.threads / k.max_threads_per_sm,
        null
    ) as estimated_occupancy,
    _within(try_cast(k.recorded[4] as double), 100) / 100 as recorded_occupancy,
    k.exclusive_dur
from placed as k
inner join _kernel_class as c using (name)
left join _template_in_half as h using (slice_id)
order by k.device, k.ts, k.slice_id;
