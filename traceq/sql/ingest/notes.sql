-- Oddities that show only when everything is joined up.

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
select
    $trace_id, 'info', 'launch_not_traced', count(*),
    'GPU slices whose launching call is not in the trace; capture the runtime API as well (nsys: --trace=cuda; PyTorch: ProfilerActivity.CPU) and start the profiler before the work is launched'
from gpu_slice
where launch_id is null
having count(*) > 0;

insert into import_note
select
    $trace_id, 'info', 'step_range_unmatched', 1,
    'no annotation matches the given --step-range; steps were found as if it had not been given'
where $step_range is not null and $step_source is distinct from 'step_range';
