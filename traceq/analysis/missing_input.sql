-- What the capture lacks, and how that changes what the tables of the analyses say. Last of all, as it looks at them.
-- _way says what records an input, as far as that is known of the profiler.
-- reads: _way, collective, graph_launch, graph_region, idle_gap_cause
-- makes: import_note

create or replace temp table _host_kind as
select kind, count(*) as slices
from cpu_slice
where kind not in ('overhead', 'other')
group by kind;

insert into import_note
select
    $trace_id, 'info', 'no_gpu_work', 1,
    'the trace has no GPU work: time_ledger, idle_gap and device_activity are empty, which does not mean that a GPU was idle; host_ledger has the host time'
    || coalesce('; capture with ' || (select words from _way where name = 'gpu'), '')
where
    not exists (select 1 from gpu_slice)
    and exists (select 1 from cpu_slice)
    -- of a memory snapshot nobody expects times
    and not exists (select 1 from _way where name = 'timeless');

insert into import_note
select
    $trace_id, 'info', 'no_host_side', count(*),
    'GPU slices, but nothing shows what the host did: all idle time is idle_unattributed, launch names no calls, host_ledger is empty'
    || coalesce('; capture with ' || (select words from _way where name = 'host_side'), '')
from gpu_slice
where not exists (select 1 from _host_kind)
having count(*) > 0;

insert into import_note
select
    $trace_id, 'info', 'no_operators', slices,
    'API calls, and neither operators nor annotations around them: what the host did between calls is unknown (idle_unattributed, host_ledger none), operators and phases are too'
    || coalesce('; capture with ' || (select words from _way where name = 'operator_names'), '')
from _host_kind
where kind = 'runtime' and not exists (select 1 from _host_kind where kind in ('op', 'annotation', 'python'));

insert into import_note
select
    $trace_id, 'info', 'no_phases', 1,
    'no operator or annotation names a phase of training: launch.phase and host_ledger.phase are other throughout; mark phases with traceq.annotate.phase("forward") and so on'
where
    exists (select 1 from _host_kind where kind in ('op', 'annotation', 'python'))
    and not exists (select 1 from host_name where phase is not null)
    and not exists (select 1 from _way where name = 'timeless');

-- With a single stream there is nothing else to wait for, and without such idle time nothing to tell apart.
insert into import_note
select
    $trace_id, 'info', 'no_synchronization', count(distinct (device, context, stream)),
    'streams run at the same time, but the trace has no synchronization: idle time in which one stream waits for another counts as idle_launch_latency instead of idle_dependency'
    || coalesce('; capture with ' || (select words from _way where name = 'synchronizations'), '')
from gpu_slice
where
    not exists (select 1 from synchronization)
    and exists (select 1 from idle_gap_cause where cause = 'idle_launch_latency')
    and device in (
        select device from gpu_slice where launch_id is not null group by device having count(distinct (context, stream)) > 1
    )
having count(*) > 0;

insert into import_note
select
    $trace_id, 'info', 'graph_not_traced', count(*),
    'graphs traced as a whole: each counts as compute from start to end, and copies and communication inside are not visible'
    || coalesce('; capture with ' || (select words from _way where name = 'graph_nodes'), '')
from gpu_slice
where kind = 'graph'
having count(*) > 0;

-- The driver of AMD's GPUs copies and fills by kernels of its own where no engine does it.
insert into import_note
select
    $trace_id, 'info', if(starts_with(name, '__amd_rocclr_copy'), 'copies_as_kernels', 'memsets_as_kernels') as code, count(*),
    if(code = 'copies_as_kernels', 'copies', 'fills') || ' of memory that the driver ran as kernels (__amd_rocclr_*), '
    || round(sum(dur) / 1e6, 3) || ' ms in all: they count as compute, and neither their size nor their direction is known'
from gpu_slice
where kind = 'kernel' and (starts_with(name, '__amd_rocclr_copy') or starts_with(name, '__amd_rocclr_fill'))
group by code;

insert into import_note
select
    $trace_id, 'info', 'graph_kernel_without_operator', count(*),
    'kernels of replayed graphs, whose operators are not in the trace; a trace of the capture of these graphs, or of the program without them, has them: traceq ingest TRACE --capture FILE (docs/capture.md)'
    || if(count(r.slice_id) > 0, '; ' || count(r.slice_id) || ' of them have the region or module that the program named: graph_region', '')
from gpu_slice as g
inner join cpu_slice as l on l.slice_id = g.launch_id
left join graph_region as r on r.slice_id = g.slice_id
where g.kind = 'kernel' and contains(l.name, 'GraphLaunch') and not exists (from graph_launch)
having count(*) > 0;

insert into import_note
select
    $trace_id, 'info', 'graph_capture', count(*),
    'launches of graphs, compared with what a capture holds: ' || sum(matched_kernels) || ' of ' || sum(kernels) || ' kernels, '
    || round(sum(matched_dur) / 1e6, 3) || ' of ' || round(sum(dur) / 1e6, 3) || ' ms (' || floor(1000 * sum(matched_dur) / sum(dur)) / 10
    || ' %), have their operators from it' || coalesce(', by ' || string_agg(distinct matched_by, ' and ' order by matched_by), '')
    || if(
        count(reason) > 0,
        '; of ' || count(reason) || ' launches it is not known which graph they replay: '
        || string_agg(distinct reason, '; ' order by reason),
        ''
    )
    || if(
        count(*) filter (candidates > 1) > 0,
        '; ' || count(*) filter (candidates > 1) || ' launches fit several captured graphs: what differs between these is left open',
        ''
    )
from graph_launch
having count(*) > 0;

insert into import_note
select
    $trace_id, 'info', 'collective_not_described', count(*),
    'communication kernels without a row in collective: neither operation nor size nor group is known'
    || coalesce('; ' || (select words from _way where name = 'described_collectives'), '')
from gpu_slice
where kind = 'kernel' and is_communication and slice_id not in (select slice_id from collective)
having count(*) > 0;

insert into import_note
select
    $trace_id, 'info', 'steps_not_marked', 1,
    'nothing marks steps and no work recurs, so the window of GPU work is analysed as one step; mark steps with traceq.annotate.step()'
    || coalesce(' or ' || (select words from _way where name = 'step_call'), '') || ', or name annotations with --step-range'
from step
where source = 'window' and not exists (select 1 from _way where name = 'timeless');

insert into import_note
select
    $trace_id, 'info', 'few_steps', count(*) filter (excluded is null),
    'steps in all: with fewer than four, warm-up and outliers cannot be found, so no step is excluded or listed as such; record more'
from step
where source <> 'window'
having count(*) between 1 and 3;
