-- What the capture is: the first kind of decision 0029 that holds.
-- reads: step, unit
-- makes: triage

-- Names are few and slices many: names are looked at once each.
create temp table _call_name as
select
    name,
    -- a function of the host runs no work on a GPU
    regexp_matches(name, '^(cuda|cu|hip)\w*Launch') and not contains(name, 'LaunchHostFunc') as is_launch,
    regexp_matches(name, '^(cuda|cu|hip)\w*(Launch|Memcpy|Memset)') as is_work,
    contains(name, 'StreamBeginCapture') as begins_recording,
    contains(name, 'StreamEndCapture') as ends_recording,
    _asks_for_devices(name) as is_start,
    -- whichever call needs a context first creates it, for as long as such a call takes at no other time
    regexp_matches(name, '^(cu(Init|CtxCreate|DevicePrimaryCtxRetain)|(cuda|hip)(Free|Malloc\w*|HostAlloc|SetDevice\w*|GetDeviceCount|InitDevice|MemGetInfo|StreamCreate\w*))(_v[0-9]+)?(_ptsz)?$') as may_create
from (select distinct name from cpu_slice where kind = 'runtime');

create temp table _judged as
select min(ts) as ts, max(ts_end) as ts_end, count(*) filter (source <> 'window') as steps, any_value(source) as source
from step
where excluded is null;

-- Calls that create a context, or make a library start: they do not wait for work, as no kernel runs meanwhile.
create temp table _set_up as
with
-- until the end of all that started before
running as (
    select ts, max(ts_end) over (order by ts, ts_end rows unbounded preceding) as until
    from gpu_slice
    where kind in ('kernel', 'graph')
)

select c.slice_id, c.dur, c.ts < coalesce((select min(ts) from running), c.ts + 1) as is_first
from (
    select c.slice_id, c.ts, c.ts_end, c.dur
    from cpu_slice as c
    inner join _call_name as n using (name)
    where c.kind = 'runtime' and n.may_create and c.dur >= 1000000
) as c
asof left join running as r on c.ts_end > r.ts
where coalesce(r.until <= c.ts, true);

-- What happens once, inside what is judged, on threads that launch; as pieces that may overlap. Of several steps nobody asks.
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
    select thread_id, ts, ts_end, row_number() over (partition by thread_id, name order by ts) = 1 as is_first
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
    where o.is_first and c.ts < o.ts_end and c.ts - greatest(coalesce(c.previous_end, o.ts), o.ts) >= 1000000
),

-- Copies to a GPU before most kernels: weights, where they are many; of an input there are few.
upload as (
    select launch_id
    from gpu_slice
    where
        copy_kind = 'h2d'
        and launch_id is not null
        and ts < (select quantile_disc(ts, 0.2) from gpu_slice where kind in ('kernel', 'graph'))
    qualify count(*) over () >= 5
),

first_launch as (
    select min_by(launch_id, ts) as slice_id
    from gpu_slice
    where kind in ('kernel', 'graph') and launch_id is not null
    group by name
),

-- A pool keeps what it got.
first_allocation as (
    select min_by(c.slice_id, c.ts) as slice_id
    from cpu_slice as c
    inner join host_name as h on h.kind = c.kind and h.name = c.name
    where c.kind = 'runtime' and h.activity = 'allocation' and not regexp_matches(h.name, 'Free|Unregister')
    group by c.name
),

piece as (
    select c.ts, c.ts_end
    from cpu_slice as c
    left join host_name as h on h.kind = c.kind and h.name = c.name
    where
        -- what the profiler notes of it stands on a thread of its own
        ('compile' = h.activity and c.kind = 'overhead')
        or (
            (c.thread_id in (from launching) or not exists (from launching))
            and (
                'compile' in (h.context, h.activity)
                or c.slice_id in (from first_allocation)
                or c.slice_id in (select slice_id from _set_up)
                or c.slice_id in (from upload)
                or (c.dur >= 1000000 and c.slice_id in (from first_launch))
            )
        )
    union all
    from prepared
)

select greatest(p.ts, j.ts) as ts, least(p.ts_end, j.ts_end) as ts_end
from piece as p
cross join _judged as j
where j.steps <= 1 and p.ts < j.ts_end and p.ts_end > j.ts and p.ts_end > p.ts;

-- What a process launches between the begin and the end of a recording is put into a graph, and does not run.
create temp table _launching_call as
with
recording as (
    select t.pid, c.ts, n.begins_recording as is_recorded
    from cpu_slice as c
    inner join _call_name as n using (name)
    inner join thread as t using (thread_id)
    where c.kind = 'runtime' and (n.begins_recording or n.ends_recording)
)

select t.pid, c.ts, g.launch_id is not null as is_matched, coalesce(r.is_recorded, false) as is_recorded
from cpu_slice as c
inner join _call_name as n using (name)
inner join thread as t using (thread_id)
left join (select distinct launch_id from gpu_slice) as g on g.launch_id = c.slice_id
asof left join recording as r on r.pid is not distinct from t.pid and c.ts >= r.ts
where c.kind = 'runtime' and n.is_launch;

insert into triage by name
with
-- How long launches are recorded into graphs within what is judged: of several processes as long as in the longest.
recorded as (
    select coalesce(max(dur), 0) as recorded_ns
    from (
        select sum(greatest(least(r.ts_end, j.ts_end) - greatest(r.ts, j.ts), 0)) as dur
        from (
            select
                t.pid, n.begins_recording, c.ts,
                lead(c.ts_end) over (partition by t.pid order by c.ts) as ts_end,
                lead(n.ends_recording) over (partition by t.pid order by c.ts) as is_ended
            from cpu_slice as c
            inner join _call_name as n using (name)
            inner join thread as t using (thread_id)
            where c.kind = 'runtime' and (n.begins_recording or n.ends_recording)
        ) as r
        cross join _judged as j
        where r.begins_recording and r.is_ended
        group by r.pid
    )
),

host as (
    select
        count(*) filter (c.kind not in ('overhead', 'other')) as host_slices,
        count(*) filter (c.kind = 'runtime') as device_calls,
        count(*) filter (n.is_launch) as launch_calls,
        count(*) filter (n.is_work) as work_calls,
        count(*) filter (c.kind = 'annotation') as ranges
    from cpu_slice as c
    left join _call_name as n on c.kind = 'runtime' and n.name = c.name
),

-- operators that only a GPU has
of_gpu as (
    select count(*) > 0 as has_operators
    from (select distinct name from cpu_slice where kind in ('op', 'annotation'))
    where regexp_matches(name, '^(nccl:|aten::(record_stream|cudnn_|miopen_|_cudnn_))')
),

gpu as (
    select
        count(*) as gpu_slices,
        count(*) filter (kind in ('kernel', 'graph')) as kernels,
        count(*) filter (kind = 'memcpy' and copy_kind is distinct from 'h2d') as other_copies,
        count(distinct device) as gpus_used,
        count(distinct device) filter (kind in ('kernel', 'graph')) as gpus_with_kernels,
        coalesce(sum(dur), 0)::bigint as gpu_ns,
        max(dur) as longest,
        max(ts_end) as last_end
    from gpu_slice
),

-- Calls that launch work of which nothing is in the capture. The last ones of a process may only have been queued when it ended. Lost
-- are those that later ones of the same process overtook; and those that go on long after the last work of all.
unmatched as (
    select
        count(*) filter (is_recorded) as recorded_launches,
        count(*) filter (not is_matched and not is_recorded) as unmatched_launches,
        count(*) filter (
            not is_matched
            and not is_recorded
            and (ts < last_matched or (ts > last_end and last_launch - last_end > longest))
        ) as lost_launches,
        -- a fifth of all launches or more are of processes of whose work nothing is there
        coalesce(count(*) filter (last_matched is null and not is_recorded) >= 0.2 * count(*) and bool_or(is_matched), false)
            as has_silent_process
    from (
        select *, max(ts) filter (is_matched) over (partition by pid) as last_matched, max(ts) over () as last_launch
        from _launching_call
    )
    cross join gpu
),

-- Work that starts before the call that launched it, and by how much: where clocks of host and GPU differ, most of it does.
early as (
    select
        count(*) as launched_slices,
        count(*) filter (g.ts < c.ts) as early_slices,
        coalesce(median(c.ts - g.ts) filter (g.ts < c.ts), 0) as early_ns
    from gpu_slice as g
    inner join cpu_slice as c on c.slice_id = g.launch_id
),

-- Of the process that calls most: what it asks first.
started as (
    select coalesce(max_by(list_contains(first_calls, true), calls), false) as is_started
    from (
        select min_by(n.is_start, {'ts': c.ts, 'ts_end': c.ts_end}, 3) as first_calls, count(*) as calls
        from cpu_slice as c
        inner join _call_name as n using (name)
        inner join thread as t using (thread_id)
        where c.kind = 'runtime'
        group by t.pid
    )
),

-- Profilers number calls one after the other, and leave few out: in a sample of the records most numbers are missing.
numbered as (
    select if(count(*) >= 10, median(gap), 1) as number_gap
    from (
        -- of a damaged trace they can lie further apart than 64 bits hold
        select correlation_id::hugeint - lag(correlation_id) over (partition by t.pid order by correlation_id) as gap
        from cpu_slice as c
        inner join thread as t using (thread_id)
        where c.kind = 'runtime' and correlation_id is not null
    )
    where gap > 0
),

-- While kernels run, what happens once costs nothing, and a call that takes long may wait for them.
edge as (
    select unnest([ts, ts_end]) as ts, unnest([1, -1]) as once, 0 as running from _once
    union all
    select unnest([ts, ts_end]), 0, unnest([1, -1])
    from gpu_slice
    where kind in ('kernel', 'graph') and (select steps <= 1 from _judged)
),

once as (
    select coalesce(sum(dur) filter (once > 0 and running = 0), 0)::bigint as once_ns
    from (
        select
            lead(ts) over in_order - ts as dur,
            sum(sum(once)) over in_order as once,
            sum(sum(running)) over in_order as running
        from edge
        group by ts
        window in_order as (order by ts)
    )
),

note as (
    select
        count(*) filter (code in ('truncated', 'table_damaged')) > 0 as is_cut,
        count(*) filter (regexp_matches(code, '_not_measured$')) > 0 as is_other_device,
        count(*) filter (code = 'gpu_not_collected') > 0 as is_not_collected
    from import_note
),

-- Passes through a model, steps and iterations, by name: those that touch an end of the capture are cut by it. What lies inside
-- another is a part of it.
extent as (
    select min(ts) as ts, max(ts_end) as ts_end
    from (
        select ts, ts_end from cpu_slice where kind not in ('other', 'overhead')
        union all
        select ts, ts_end from gpu_slice
    )
),

pass_name as (
    select kind, name
    from (select distinct kind, name from cpu_slice where kind in ('annotation', 'python'))
    where
        not regexp_matches(name, '(?i)(layers?|blocks?|h)[._\[]?[0-9]|^enumerate\(DataLoader\)|^Optimizer\.')
        and regexp_matches(
            regexp_replace(if(kind = 'python', split_part(name, ': ', -1), name), '([a-z0-9])([A-Z])', '\1_\2', 'g'),
            '(?i)(^|[^a-z])((time)?step|iter(ation)?|forward|fwd)([^a-z]|$)'
        )
),

passed as (
    select
        sum(p.ts_end - p.ts) filter (p.is_cut) >= 0.2 * any_value(e.ts_end - e.ts) and count(*) filter (not p.is_cut) = 0 as is_cut
    from (
        select c.ts, c.ts_end, c.ts <= e.ts + 10000 or c.ts_end >= e.ts_end - 10000 as is_cut, max(c.ts_end) over (
            partition by c.thread_id order by c.ts, c.ts_end desc rows between unbounded preceding and 1 preceding
        ) as until
        from cpu_slice as c
        inner join pass_name as n on n.kind = c.kind and n.name = c.name
        cross join extent as e
        where c.dur > 0
    ) as p
    cross join extent as e
    where p.until is null or p.ts_end > p.until
),

fact as (
    select
        gpu.*, early.*, host.*, of_gpu.*, note.*, unmatched.*, started.*, once.*, numbered.*, recorded.*,
        coalesce(passed.is_cut, false) or (
            -- layers and nothing else, and the host waits for nothing: as inside one pass
            exists (from unit where level = 'layer' and coverage >= 0.8)
            and not exists (
                select 1
                from cpu_slice as c
                inner join host_name as h on h.kind = c.kind and h.name = c.name
                where h.activity = 'synchronization'
            )
        ) as is_inside,
        (select count(*) from device where device >= 0)::integer as gpus_listed,
        (select format from trace where trace_id = $trace_id) is not distinct from 'xplane' as is_xplane,
        coalesce(j.steps, 0) as steps,
        j.source,
        coalesce(j.ts_end - j.ts, 0) as window_ns,
        coalesce((select ts_end - ts from extent), 0) as run_ns,
        coalesce((select max(dur) from _set_up where is_first and dur >= 20000000), 0) as set_up_ns,
        exists (from cpu_sample) as has_samples,
        exists (from allocator_event) or exists (from allocator_segment) or exists (from monitor_log) as has_other
    from gpu, early, host, of_gpu, note, unmatched, started, once, numbered, recorded, passed, _judged as j
)

select
    $trace_id as trace_id,
    split_part(k.kind, ':', 1) as kind,
    split_part(k.kind, ':', 2) as reason,
    gpu_slices, kernels, host_slices, device_calls, launch_calls, recorded_launches, unmatched_launches, gpus_listed,
    gpus_used::integer as gpus_used, steps, window_ns, once_ns, set_up_ns, number_gap
from fact
cross join lateral (
    select case
        when gpu_slices = 0 and host_slices = 0 and steps = 0 and not has_samples and not has_other then 'nothing_recorded:empty'
        -- a few calls that launch nothing, and nothing else: the profiler's own, as it ends
        when
            gpu_slices = 0 and steps = 0 and host_slices = device_calls and host_slices <= 20 and work_calls = 0
            and not has_samples and not has_other
            then 'nothing_recorded:empty'
        -- ranges and nothing else, on a machine with GPUs: whether the program used one was not recorded
        when gpu_slices = 0 and (is_not_collected or (gpus_listed > 0 and ranges > 0 and ranges = host_slices and not has_samples))
            then 'host_only:not_collected'
        when gpu_slices = 0 and is_other_device then 'host_only:other_device'
        when gpu_slices = 0 and (work_calls > 0 or has_operators) then 'host_only:rows_missing'
        when gpu_slices = 0 then 'host_only:by_design'
        when recorded_launches > 0.5 * launch_calls and kernels < recorded_launches then 'fragment:graph_capture'
        when steps <= 1 and window_ns > 0 and recorded_ns >= 0.5 * window_ns then 'fragment:graph_capture'
        when is_cut then 'fragment:cut'
        -- several times what whole captures have (at most 12)
        when number_gap > 20 then 'fragment:sampled'
        -- an XSpace has a plane for each device that the program uses: of some only copies are there
        when is_xplane and gpus_with_kernels < gpus_used then 'fragment:devices_missing'
        when has_silent_process then 'fragment:devices_missing'
        when lost_launches >= 5 and lost_launches >= 0.2 * launch_calls then 'fragment:lost'
        when early_slices > 0.5 * launched_slices and early_ns > 0.1 * window_ns / greatest(steps, 1) then 'fragment:clocks'
        when kernels = 0 and other_copies = 0 and steps = 0 and (gpu_ns < 0.5 * window_ns or set_up_ns > 0 or is_started)
            then 'start_up_only:stopped'
        when steps <= 1 and window_ns > 0 and once_ns >= 0.5 * window_ns then 'one_off:cold'
        -- a handful of first launches in a moment of a run that is else without work of a GPU
        when steps = 0 and (set_up_ns > 0 or is_started) and kernels < 10 and gpu_ns < 10000000 and window_ns < 0.01 * run_ns
            then 'start_up_only:trivial'
        when steps = 0 and (set_up_ns > 0 or is_started) then 'one_off:whole_run'
        when steps = 0 and is_inside then 'fragment:no_unit'
        when steps > 0 and source in ('recurrence', 'optimizer') then 'steps:recurrence'
        when steps > 0 then 'steps:marked'
        else 'window:unmarked'
    end as kind
) as k
-- a memory snapshot is no capture of work
where (select format from trace where trace_id = $trace_id) is distinct from 'memory_snapshot';
