-- What the capture is: the first kind of decision 0029 that holds.

-- Names are few and slices many: names are looked at once each.
create temp table _call_name as
select
    name,
    regexp_matches(name, '^(cuda|cu|hip)\w*Launch') as is_launch,
    -- whichever call needs a context first creates it, for as long as such a call takes at no other time
    regexp_matches(name, '^(cu(Init|CtxCreate|DevicePrimaryCtxRetain)|(cuda|hip)(Free|Malloc\w*|HostAlloc|SetDevice\w*|GetDeviceCount|InitDevice|MemGetInfo))(_v[0-9]+)?(_ptsz)?$') as may_create
from (select distinct name from cpu_slice where kind = 'runtime');

-- Not waiting for work: no GPU runs anything meanwhile.
create temp table _set_up as
select c.slice_id, c.dur
from cpu_slice as c
inner join _call_name as n using (name)
where
    c.kind = 'runtime'
    and n.may_create
    and c.dur >= 20000000
    and not exists (select 1 from gpu_slice as g where g.ts < c.ts_end and g.ts + g.dur > c.ts);

create temp table _judged as
select min(ts) as ts, max(ts_end) as ts_end, count(*) filter (source <> 'window') as steps, any_value(source) as source
from step
where excluded is null;

-- What happens once, inside what is judged, on threads that launch; as pieces that may overlap.
create temp table _once as
with
launching as (
    select distinct c.thread_id
    from cpu_slice as c
    inner join _call_name as n using (name)
    where c.kind = 'runtime' and n.is_launch
),

-- An operator prepares its calls within microseconds, but for its first ones, when libraries start and code is compiled.
outermost as (
    select thread_id, ts, ts_end
    from cpu_slice
    where kind = 'op' and operator_id is null and depth is not null
),

prepared as (
    select greatest(coalesce(c.previous_end, o.ts), o.ts) as ts, c.ts as ts_end
    from (
        select c.thread_id, c.ts, max(c.ts_end) over (
            partition by c.thread_id order by c.ts, c.ts_end rows between unbounded preceding and 1 preceding
        ) as previous_end
        from cpu_slice as c
        where c.kind = 'runtime' and c.thread_id in (from launching)
    ) as c
    asof join outermost as o on c.thread_id = o.thread_id and c.ts >= o.ts
    where c.ts < o.ts_end and c.ts - greatest(coalesce(c.previous_end, o.ts), o.ts) >= 1000000
),

first_launch as (
    select min_by(launch_id, ts) as slice_id
    from gpu_slice
    where kind in ('kernel', 'graph') and launch_id is not null
    group by name
)

select greatest(c.ts, j.ts) as ts, least(c.ts_end, j.ts_end) as ts_end
from cpu_slice as c
cross join _judged as j
left join host_name as h on h.kind = c.kind and h.name = c.name
where
    c.ts < j.ts_end
    and c.ts_end > j.ts
    and c.dur > 0
    and (c.thread_id in (from launching) or not exists (from launching))
    and (
        'compile' in (h.context, h.activity)
        or c.slice_id in (select slice_id from _set_up)
        or (c.dur >= 1000000 and c.kind = 'runtime' and c.slice_id in (from first_launch))
    )
union all
select greatest(p.ts, j.ts), least(p.ts_end, j.ts_end)
from prepared as p
cross join _judged as j
where p.ts < j.ts_end and p.ts_end > j.ts;

insert into triage by name
with
host as (
    select
        count(*) filter (c.kind not in ('overhead', 'other')) as host_slices,
        count(*) filter (c.kind = 'runtime') as device_calls,
        count(*) filter (n.is_launch) as launch_calls
    from cpu_slice as c
    left join _call_name as n on c.kind = 'runtime' and n.name = c.name
),

-- operators that only a GPU has
of_gpu as (
    select exists (
        select 1
        from cpu_slice
        where kind in ('op', 'annotation') and regexp_matches(name, '^(nccl:|aten::(record_stream|cudnn_|miopen_|_cudnn_))')
    ) as has_operators
),

gpu as (
    select
        count(*) as gpu_slices,
        count(*) filter (kind in ('kernel', 'graph')) as kernels,
        count(*) filter (kind = 'memcpy' and copy_kind is distinct from 'h2d') as other_copies,
        count(distinct device) as gpus_used
    from gpu_slice
),

-- Of the devices that worked at all, those that hardly did.
device_work as (
    select count(*) filter (busy < 0.01 * most) as hardly
    from (select device, sum(dur) as busy, max(sum(dur)) over () as most from gpu_slice group by device)
),

swept as (
    select ts, ts_end, max(ts_end) over (order by ts, ts_end rows between unbounded preceding and 1 preceding) as until
    from _once
),

once as (
    select coalesce(sum(ts_end - greatest(ts, coalesce(until, ts))) filter (until is null or ts_end > until), 0)::bigint as once_ns
    from swept
),

note as (
    select
        count(*) filter (code in ('truncated', 'table_damaged')) > 0 as is_cut,
        count(*) filter (regexp_matches(code, '_not_measured$')) > 0 as is_other_device,
        count(*) filter (code = 'gpu_not_collected') > 0 as is_not_collected
    from import_note
),

-- What a process launches between the begin and the end of a recording is put into a graph, and does not run.
recording as (
    select t.pid, c.ts, contains(c.name, 'BeginCapture') as is_recorded
    from cpu_slice as c
    inner join thread as t using (thread_id)
    where c.kind = 'runtime' and regexp_matches(c.name, '^(cuda|cu|hip)Stream(Begin|End)Capture')
),

recorded as (
    select count(*) filter (r.is_recorded) as recorded_launches
    from (
        select t.pid, c.ts
        from cpu_slice as c
        inner join thread as t using (thread_id)
        where c.kind = 'runtime' and regexp_matches(c.name, 'Launch\w*Kernel') and exists (from recording)
    ) as l
    asof join recording as r on r.pid is not distinct from l.pid and l.ts >= r.ts
),

fact as (
    select
        gpu.* exclude (other_copies),
        gpu.other_copies,
        host.*,
        of_gpu.*,
        note.*,
        recorded.recorded_launches,
        (select count(*) from device where device >= 0)::integer as gpus_listed,
        coalesce(j.steps, 0) as steps,
        j.source,
        coalesce(j.ts_end - j.ts, 0) as window_ns,
        once.once_ns,
        coalesce((select max(dur) from _set_up), 0) as set_up_ns,
        exists (from thread_state) or exists (from cpu_sample) as has_threads,
        exists (from allocator_event) or exists (from allocator_segment) or exists (from monitor_log) as has_other
    from gpu, host, of_gpu, note, recorded, once, _judged as j
)

select
    $trace_id as trace_id,
    split_part(k.kind, ':', 1) as kind,
    split_part(k.kind, ':', 2) as reason,
    gpu_slices, kernels, host_slices, device_calls, launch_calls, recorded_launches, gpus_listed, gpus_used::integer as gpus_used,
    steps, window_ns, once_ns, set_up_ns
from fact
cross join lateral (
    select case
        when gpu_slices = 0 and is_not_collected then 'host_only:not_collected'
        when gpu_slices = 0 and is_other_device then 'host_only:other_device'
        when gpu_slices = 0 and host_slices = 0 and not has_threads and not has_other then 'nothing_recorded:empty'
        when gpu_slices = 0 and (launch_calls > 0 or has_operators) then 'host_only:rows_missing'
        when gpu_slices = 0 then 'host_only:by_design'
        when launch_calls > 0 and recorded_launches > 0.5 * launch_calls then 'fragment:graph_capture'
        when is_cut then 'fragment:cut'
        when kernels = 0 and other_copies = 0 and steps = 0 then 'start_up_only:stopped'
        when steps <= 1 and once_ns >= 0.5 * window_ns then 'one_off:cold'
        when steps = 0 and set_up_ns > 0 then 'one_off:whole_run'
        when steps > 0 and source in ('recurrence', 'optimizer') then 'steps:recurrence'
        when steps > 0 then 'steps:marked'
        else 'window:unmarked'
    end as kind
) as k
-- a memory snapshot is no capture of work
where (select format from trace where trace_id = $trace_id) is distinct from 'memory_snapshot';

