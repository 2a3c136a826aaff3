-- Idle time without a cause.
-- title: GPU idle, and nothing in the trace says why
-- finds: Time in which nothing runs on the GPU and the trace has no cause for it: the launching thread had no slice
--   open, or the launching call is not in the trace.
-- matters: It is as long as any other idle time; only its cause is missing. It is shown and never spread over other
--   causes.
-- measured: The pieces of cause idle_unattributed in the counted steps (idle_piece). Only bounds are
--   given: nothing of a cause that is not known is certain to go, and at most what a replay without it saves.
-- try: Capture more: the runtime API, ranges (traceq.annotate), Python stacks (with_stack=True), calls of the
--   operating system (nsys --trace=osrt).
-- references: https://docs.nvidia.com/nsight-systems/UserGuide/index.html
-- fix: Capture more before changing anything:
--   {{ way('idle_causes', 'calls, ranges and whatever else the profiler can record of the host') }}
-- confidence: low
-- reason: Nothing recorded explains this time.
-- wrong-if: A capture with more detail names causes for it.
-- each: idle_unattributed_likely
-- low: 0.0
-- rest: yes
-- uses: idle
-- categories: idle_unattributed
select p.step, p.ts, p.dur, c.name, p.cpu_slice_id as slice_id, p.dur as claimed, p.cause, p.gap_id
from idle as p
left join cpu_slice as c on c.trace_id = p.trace_id and c.slice_id = p.cpu_slice_id
where p.cause = 'idle_unattributed'
