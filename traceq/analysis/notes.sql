-- Oddities that show only when everything is joined up.
-- reads: _way, idle_gap_cause
-- makes: import_note

insert into import_note
select
    $trace_id, 'info', 'child_outlasts_parent', $cut,
    'host slices end up to 1 us after the slice that encloses them, as rounded clocks make them; for nesting they end with it'
where $cut > 0;

insert into import_note
select
    $trace_id, 'info', 'overlapping_slices', $overlapping,
    'host slices outlast the slice they start in (an annotation opened inside a Python frame, work that really overlaps); they stay around what follows until they end'
where $overlapping > 0;

insert into import_note
with
first_call as (
    select min(c.ts) as ts
    from gpu_slice as g
    inner join cpu_slice as c on c.slice_id = g.launch_id
),

-- ids that calls of several processes have
shared_id as (
    select c.correlation_id
    from cpu_slice as c
    inner join thread as t using (thread_id)
    where c.kind = 'runtime' and c.correlation_id > 0
    group by c.correlation_id
    having count(distinct coalesce(t.pid, -1)) > 1
)

select
    $trace_id, 'info', 'launch_not_traced', count(*),
    'GPU slices whose launch call is not in the trace: idle time before them is idle_unattributed, launch.queue_depth leaves them out; capture the runtime API as well'
    || coalesce(' (' || (select words from _way where name = 'launches') || ')', '') || ' and start the profiler before the work is launched'
    || if(
        count(*) filter (g.ts < f.ts) > 0,
        '; ' || count(*) filter (g.ts < f.ts) || ' of them, of ' || round(sum(g.dur) filter (g.ts < f.ts) / 1e6, 1)
        || ' ms, start before the first launching call in the trace: they were launched before the capture',
        ''
    )
    || if(
        count(*) filter (g.pid is null and g.correlation_id in (from shared_id)) > 0,
        '; ' || count(*) filter (g.pid is null and g.correlation_id in (from shared_id))
        || ' of them have ids that calls of several processes have, as where files of ranks were put into one: analyse the files of the ranks',
        ''
    )
from gpu_slice as g
cross join first_call as f
-- Nobody calls for migrations of unified memory; and where nothing is known of the host, the note no_host_side says so.
where
    launch_id is null
    and copy_kind is distinct from 'um'
    and exists (select 1 from cpu_slice where kind not in ('overhead', 'other'))
having count(*) > 0;

insert into import_note
select
    $trace_id, 'info', 'step_range_unmatched', 1,
    'no annotation matches --step-range, so steps were found without it'
where not $has_step_range;

insert into import_note
select
    $trace_id, 'info', 'window_unmatched', 1,
    'no annotation has the name given with --window, or it ends before it starts, so the window was found without it'
where not $has_window;

insert into import_note
select
    $trace_id, 'info', 'earlier_work', count(*),
    'the first work of the capture waited up to ' || round(max(dur) / 1e6, 1)
    || ' ms although the trace has nothing it could wait for: the GPU ran work launched before the capture, or by another process; that time is idle_earlier_work, and no finding claims it'
from idle_gap_cause
where cause = 'idle_earlier_work'
having count(*) > 0;

insert into import_note
select
    $trace_id, 'data_loss', 'starts_before_launch', count(*),
    'GPU slices start before the call that launched them, by up to ' || round(max(c.ts - g.ts) / 1e6, 3)
    || ' ms: the clocks of host and GPU differ or jumped, and times from one to the other (launch latency, what waits for what) are as wrong as that'
from gpu_slice as g
inner join cpu_slice as c on c.slice_id = g.launch_id
where g.ts < c.ts
having count(*) > 0;

-- PyTorch's profiler loses the first kernels of a session at times. What is captured into a graph does not run, either.
insert into import_note
with
launch as (
    select c.slice_id, c.ts, g.launch_id is not null as has_work
    from cpu_slice as c
    left join (select distinct launch_id from gpu_slice) as g on g.launch_id = c.slice_id
    where c.kind in ('runtime', 'driver') and regexp_matches(c.name, '^(cuda|hip|cu)\w*LaunchKernel')
),

first_with_work as (
    select min(ts) as ts from launch where has_work
)

select
    $trace_id, 'data_loss', 'first_work_missing', count(*),
    'calls launched kernels before the first one whose kernel is in the trace: the profiler lost the first work of the capture, so the GPU seems idle at that time; leave the first step out, or let the profiler warm up (schedule(wait=1, warmup=1, ...))'
from launch as l
inner join first_with_work as f on l.ts < f.ts
where not exists (from cpu_slice where regexp_matches(name, 'StreamBeginCapture'))
having count(*) > 0;
