-- Elementwise kernels one after another on a stream: compiled into one they read and write their tensor once. Of a run with k
-- different kernels (the same one over and over may be about as many tensors, which fusing does not save from being read)
-- one of k, and no less than a fifth, remains. Optimizers are another rule's.
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
        b.stream,
        b.ts,
        b.slice_id,
        n.hash,
        k.family in ('elementwise', 'copy') and n.is_single and s.phase is distinct from 'optimizer' as is_elementwise
    from busy_piece as b
    inner join kernel_occupancy as k using (trace_id, slice_id)
    inner join named as n on n.name = b.name
    left join launch_state as s using (trace_id, slice_id)
    where b.trace_id = $trace_id and b.device = $device and b.category = 'compute'
),

-- A run is told by how many other kernels came before (a difference of row numbers; counting them in a window is slow).
numbered as (
    select
        slice_id,
        stream,
        hash,
        is_elementwise,
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
    b.step,
    b.ts,
    b.dur,
    b.name,
    b.slice_id,
    b.ledger_dur * (1 - 1 / least(m.different, 5)) as claimed,
    'compute' as cause,
    b.slice_id as busy_id,
    split_part(o.name, ',', 1) as operator,
    m.run_length,
    m.different as different_kernels
from member as m
inner join busy_piece as b on b.trace_id = $trace_id and b.slice_id = m.slice_id
left join cpu_slice as l on l.trace_id = $trace_id and l.slice_id = b.launch_id
left join cpu_slice as o on o.trace_id = $trace_id and o.slice_id = l.operator_id
where b.device = $device
