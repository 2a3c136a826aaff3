-- Idle time in which launched work waited for an event: what was recorded before it.
-- title: GPU idle: launched work waits for an event
-- finds: Time in which nothing runs on the GPU although work has been launched: its stream has to wait for an event
--   on another stream or device that had not occurred yet.
-- matters: The host did its part in time; the order of the work makes the GPU wait. This happens with stages on
--   several GPUs of one process, and with copies and communication on separate streams.
-- measured: The pieces of cause idle_dependency in the counted steps (idle_piece), and what they waited for: the last
--   work recorded before the event (stream_wait). low 0.2, likely 0.8, high 1: a wait that the algorithm needs can be
--   moved behind other work, not removed.
-- try: Record the event earlier, wait for it later, right before the work that needs it, and put independent work in
--   between. Between stages: more and smaller micro-batches.
-- references: https://docs.pytorch.org/docs/stable/notes/cuda.html
--   https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html
-- fix: {% if not worst.waited_for %}{{ remedy('wait_late') }} Up to {{ time(worst.claimed) }} at a time, {{
--   cut(worst.name) }} on stream {{ worst.stream }} waits for an event. {%- else %}{% if worst.waited_for_device !=
--   subject.device %}{{ remedy('split_between_devices') }} {%- elif worst.waited_for_kind == 'memcpy' %}{{
--   remedy('copy_beside') }} {%- else %}Launch the awaited work earlier. {{ remedy('wait_late') }} {%- endif %} Up to
--   {{ time(worst.claimed) }} at a time, {{ cut(worst.name) }} on stream {{ worst.stream }} waits for {{
--   cut(worst.waited_for) }} on {% if worst.waited_for_device != subject.device %}device {{ worst.waited_for_device
--   }}{% else %}stream {{ worst.waited_for_stream }}{% endif %}. {%- endif %}
-- confidence: {% if worst.waited_for %}high{% else %}medium{% endif %}
-- reason: The work was launched before the gap began, and its stream has to wait for an event.
-- wrong-if: The awaited work does nothing but wait itself: then fix what it waits for.
-- heading: Make work wait later, and for less: {{ cut(worst.waited_for or 'an event') }}
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
    p.step, p.ts, p.dur, n.name, p.next_slice_id as slice_id, p.dur as claimed, p.cause, p.gap_id,
    n.stream, f.name as waited_for, f.kind as waited_for_kind, f.device as waited_for_device,
    f.stream as waited_for_stream, f.is_communication as waited_for_communication
from piece as p
left join gpu_slice as n on n.trace_id = p.trace_id and n.slice_id = p.next_slice_id
left join awaited as a on a.next_slice_id = p.next_slice_id
left join gpu_slice as f on f.trace_id = p.trace_id and f.slice_id = a.waited_for_id
