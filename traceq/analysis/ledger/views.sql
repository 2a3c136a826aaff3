-- The time of the counted steps cut into the pieces that rules lay claim to; see docs/metrics.md, "What a fix wins".

create or replace view idle_piece as
select
    c.trace_id,
    g.device,
    g.step,
    c.gap_id,
    c.cause,
    c.ts,
    c.dur,
    c.cpu_slice_id,
    g.thread_id,
    g.next_slice_id,
    g.launch_slice_id,
    g.drained_by,
    g.late_after
from idle_gap_cause as c
inner join idle_gap as g using (trace_id, gap_id)
inner join step as s using (trace_id, step)
where
    s.excluded is null
    -- the device works, on what the trace does not hold: nothing to win
    and c.cause <> 'idle_earlier_work';
comment on view idle_piece is 'One row per gap of a counted step and cause: idle_gap_cause with what idle_gap knows of the gap. Per device and cause the pieces add up to time_ledger, but for idle_earlier_work, which nothing can win.';
comment on column idle_piece.trace_id is 'Trace.';
comment on column idle_piece.device is 'Device.';
comment on column idle_piece.step is 'Step it elapsed in.';
comment on column idle_piece.gap_id is 'Gap; see idle_gap.';
comment on column idle_piece.cause is 'As in idle_gap_cause.';
comment on column idle_piece.ts is 'Where the cause begins first in the gap, ns.';
comment on column idle_piece.dur is 'Time of this cause in the gap, ns.';
comment on column idle_piece.cpu_slice_id is 'The host slice with the most time of this cause; NULL when none was open.';
comment on column idle_piece.thread_id is 'As in idle_gap.';
comment on column idle_piece.next_slice_id is 'gpu_slice that ends the gap; NULL for none.';
comment on column idle_piece.launch_slice_id is 'cpu_slice of the call that launched it; NULL when unknown.';
comment on column idle_piece.drained_by is 'cpu_slice of the synchronizing call that held the host when the device ran dry; NULL for none.';
comment on column idle_piece.late_after is 'As in idle_gap: cpu_slice of the synchronizing call whose delay the host had not made up; NULL for none.';

create or replace view busy_piece as
with
counted as (
    select trace_id, step
    from step
    where excluded is null
),

-- Memsets have no table of their own: their time in the ledger is shared out by their durations.
memset as (
    select g.trace_id, g.device, sum(g.dur) as dur
    from gpu_slice as g
    inner join counted using (trace_id, step)
    where g.kind = 'memset'
    group by g.trace_id, g.device
),

exposed_memset as (
    select l.trace_id, l.device, sum(l.dur) as dur
    from time_ledger as l
    inner join counted using (trace_id, step)
    where l.category = 'memset'
    group by l.trace_id, l.device
)

select g.trace_id, g.device, g.step, g.slice_id, p.category, g.ts, g.dur, p.ledger_dur, g.stream, g.name, g.launch_id
from (
    select k.trace_id, k.slice_id, 'compute' as category, k.exclusive_dur as ledger_dur
    from kernel_occupancy as k
    inner join gpu_slice as c using (trace_id, slice_id)
    where not c.is_communication
    union all
    select trace_id, slice_id, 'compute', dur
    from gpu_slice
    where kind = 'graph'
    union all
    select trace_id, slice_id, 'communication', exposed
    from collective_slice
    union all
    select trace_id, slice_id, category, exposed
    from copy_overlap
    union all
    select m.trace_id, m.slice_id, 'memset', m.dur * e.dur / a.dur
    from gpu_slice as m
    inner join memset as a using (trace_id, device)
    inner join exposed_memset as e using (trace_id, device)
    where m.kind = 'memset' and a.dur > 0
) as p
inner join gpu_slice as g using (trace_id, slice_id)
inner join counted using (trace_id, step);
comment on view busy_piece is 'One row per GPU slice launched in a counted step: the time for which it alone is to account.';
comment on column busy_piece.trace_id is 'Trace.';
comment on column busy_piece.device is 'Device.';
comment on column busy_piece.step is 'Step it was launched in.';
comment on column busy_piece.slice_id is 'The gpu_slice.';
comment on column busy_piece.category is 'Its category in time_ledger: compute, communication, copy_h2d, copy_d2h, copy_other or memset.';
comment on column busy_piece.ts is 'Start, ns.';
comment on column busy_piece.dur is 'Duration, ns.';
comment on column busy_piece.ledger_dur is 'Kernels: kernel_occupancy.exclusive_dur; communication and copies: their exposed time; memsets: their share of the time in which nothing else ran, ns.';
comment on column busy_piece.stream is 'Stream; NULL when the source does not say.';
comment on column busy_piece.name is 'Name of the slice.';
comment on column busy_piece.launch_id is 'cpu_slice of the launching call; NULL when it is not in the trace.';
