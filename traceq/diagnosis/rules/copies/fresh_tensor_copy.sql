-- Tensors made on the host and copied to the GPU at once: the copies, and the time for which the GPU idles as they hold the host.
-- title: Tensors are created on the host and then copied to the GPU
-- finds: torch.zeros(...), torch.arange(...) and the like on the host, followed by .to(device) or .cuda() of the
--   result.
-- matters: The GPU can make such a tensor itself with one small kernel. Made on the host, it costs host time, a copy of
--   pageable memory, and a wait for the GPU, since the call blocks until the copy is done.
-- measured: Operators that make tensors (aten::zeros, ones, full, eye, arange, linspace, rand, randn, ...) and launch
--   nothing, after which the next operator among these and copies, on the same thread, within the same operator and
--   annotation, and within 200 us (Python calls the one right after the other), copies to the device. Claimed are the
--   exposed copy, idle_sync under the calls that wait for it, and the launching gaps that begin because such a call had
--   let the GPU run dry, for not longer than the call held the host. Low, likely and high share: 0.5, 0.9 and 1.
-- try: Name the device when the tensor is made: torch.zeros(n, device=device).
-- references: https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
-- fix: {% set copied = pieces | selectattr('direction') | map(attribute='name') | map('matched', '^[^,]*') -%} {% set makers =
--   copied | map('cut') | unique(true) | sort(case_sensitive=true) -%} {% set maker = (makers | first |
--   default('zeros')).removeprefix('aten::') -%} Make the tensor on the GPU: `torch.{{ maker }}(..., device=device)`, not
--   `torch.{{ maker }}(...).to(device)`. Make a constant tensor once, before the loop, or register it as a buffer of the
--   module. {{ copies() }} They follow {{ makers | join(', ') or 'the creation of a tensor' }} on the host.
-- confidence: medium
-- reason: The copy directly follows the creation of a tensor on the host; that it copies this tensor is inferred.
-- wrong-if: The tensor is changed on the host before it is copied, or another tensor is copied.
-- heading: Make tensors on the GPU, not on the host
-- for: pytorch
-- needs: gpu, steps, operators, calls
-- about: copies
-- low: 0.5
-- likely: 0.9
-- high: 1.0
-- threshold: near_ns = 200000: Python calls the one right after the other: two operators of 20 to 50 us each with a
--   profiler, and some lines between
-- uses: counted_copy, copy_call, copy_wait
-- categories: idle_launch, idle_launch_latency, idle_python, idle_sync
-- only-with: counted_copy: copy_kind = 'h2d'
-- only-with: host_slice_name: kind in ('op', 'annotation') and regexp_matches(name, '^aten::(zeros|ones|full|rand|randn)(_like)?(,|$)|^aten::(eye|arange|linspace|randint|randperm|tri[lu]_indices)(,|$)')
with
operation as (
    select c.slice_id, c.step, l.slice_id as launch_id, l.thread_id, o.slice_id as operator_id, o.name, o.operator_id as around
    from counted_copy as c
    inner join cpu_slice as l on l.trace_id = c.trace_id and l.slice_id = c.launch_id
    inner join cpu_slice as o on o.trace_id = c.trace_id and o.slice_id = l.operator_id
        where
        c.copy_kind = 'h2d'
        and starts_with(o.name, 'aten::')
),

-- aten::copy_ inside aten::_to_copy inside aten::to: the outermost of them is what the program called.
asked as (
    select
        n.slice_id,
        n.thread_id,
        case
            when starts_with(t.name, 'aten::to') then t.slice_id
            when regexp_matches(p.name, '^aten::(to|_to_copy)(,|$)') then p.slice_id
            else n.operator_id
        end as root
    from operation as n
    left join cpu_slice as p on p.trace_id = $trace_id and p.slice_id = n.around
    left join cpu_slice as t on t.trace_id = $trace_id and t.slice_id = p.operator_id and starts_with(p.name, 'aten::_to_copy')
),

-- What is made and what is copied, in the order of time, among the operators of the same operator and annotation.
call as (
    select
        r.slice_id, r.thread_id, r.ts, r.ts_end, r.operator_id, r.annotation_id, r.name, a.slice_id as copy_id
    from (select root, min(slice_id) as slice_id from asked group by root) as a
    inner join cpu_slice as r on r.trace_id = $trace_id and r.slice_id = a.root
    union all
    select slice_id, thread_id, ts, ts_end, operator_id, annotation_id, name, null
    from cpu_slice
    where
        trace_id = $trace_id
        and kind in ('op', 'annotation')
        and regexp_matches(
            name,
            '^aten::(zeros|ones|full|rand|randn)(_like)?(,|$)|^aten::(eye|arange|linspace|randint|randperm|tri[lu]_indices)(,|$)'
        )
        and exists (select 1 from asked)
),

neighbour as (
    select
        *,
        lag(slice_id) over alike as made_id,
        lag(name) over alike as made_by,
        lag(copy_id) over alike as earlier_copy,
        ts - lag(ts_end) over alike as apart
    from call
    window alike as (partition by thread_id, operator_id, annotation_id order by ts, slice_id)
),

fresh as (
    select copy_id, made_id, made_by
    from neighbour
    where copy_id is not null and made_id is not null and earlier_copy is null and apart between 0 and $near_ns
),

-- A tensor that was made on the GPU was filled by a kernel.
inside as (
    select made_id, made_id as slice_id
    from fresh
    union all
    select f.made_id, o.slice_id
    from fresh as f
    inner join cpu_slice as o on o.trace_id = $trace_id and o.operator_id = f.made_id and o.kind in ('op', 'annotation')
),

inner_most as (
    select made_id, slice_id
    from inside
    union
    select i.made_id, o.slice_id
    from inside as i
    inner join cpu_slice as o on o.trace_id = $trace_id and o.operator_id = i.slice_id and o.kind in ('op', 'annotation')
),

on_gpu as (
    select distinct i.made_id
    from inner_most as i
    inner join cpu_slice as l on l.trace_id = $trace_id and l.operator_id = i.slice_id and l.kind = 'runtime'
    where regexp_matches(l.name, 'Launch|Memset|Memcpy')
),

copy as (
    select c.* replace (f.made_by as name)
    from counted_copy as c
    inner join fresh as f on f.copy_id = c.slice_id
    where f.made_id not in (select made_id from on_gpu)
)

select step, ts, dur, name, slice_id, exposed as claimed, category as cause, null as gap_id, slice_id as busy_id, category as scenario, direction, bytes, bandwidth
from copy
where exposed > 0
union all
select step, ts, dur, name, slice_id, claimed, cause, gap_id, null, 'idle_sync', null, null, null
from copy_wait
where slice_id in (select k.slice_id from copy_call as k inner join copy as c on c.slice_id = k.copy_id)
