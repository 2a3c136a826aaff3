-- Idle time in which launched work waited for an event: what was recorded before it.
-- reason: The work was launched before the gap began, and its stream was told to wait for an event.
-- wrong-if: The work that is waited for does nothing but wait itself: then mend what it waits for.
-- needs: gpu, steps
-- rules-out: synchronizations
-- low: 0.2
-- likely: 0.8
-- high: 1.0
-- rest: yes
-- uses: idle
-- categories: idle_dependency
with
piece as (
    select trace_id, device, step, gap_id, ts, dur, cause, next_slice_id
    from idle
    where cause = 'idle_dependency'
),

-- of several waits before one slice, the one for what ended last
awaited as (
    select w.next_slice_id, max_by(w.waited_for_id, coalesce(w.finished, w.ts)) as waited_for_id
    from stream_wait as w
    where w.trace_id = $trace_id and w.next_slice_id in (select next_slice_id from piece)
    group by w.next_slice_id
)

select
    p.step,
    p.ts,
    p.dur,
    n.name,
    p.next_slice_id as slice_id,
    p.dur as claimed,
    p.cause,
    p.gap_id,
    n.stream,
    f.name as waited_for,
    f.kind as waited_for_kind,
    f.device as waited_for_device,
    f.stream as waited_for_stream,
    f.is_communication as waited_for_communication
from piece as p
left join gpu_slice as n on n.trace_id = p.trace_id and n.slice_id = p.next_slice_id
left join awaited as a on a.next_slice_id = p.next_slice_id
left join gpu_slice as f on f.trace_id = p.trace_id and f.slice_id = a.waited_for_id
