-- Idle time between the GPU work of one step of a server and that of the next, while requests are there that decode.
-- title: The GPU waits for the host between the server's steps
-- finds: Gaps between the end of all GPU work launched by earlier steps and the first GPU work of a step, while requests wait
--   for their next token: the host samples, answers, schedules, and prepares the next batch.
-- matters: Every request in the batch waits through this gap at every token, and the GPU does nothing. The smaller the model
--   and the larger the batch, the larger its share of the time per token.
-- measured: Idle time (idle_piece) in the gaps before steps that have decoding requests (serving_step.gpu_gap), of causes on
--   the host. Those requests were already waiting; before a prompt-only step, it is not known whether the requests had arrived.
--   Waiting for work launched before the capture does not count, nor does the first step. Shares: low 0.5, likely 0.8, high 1:
--   if the next step is scheduled ahead, the host still needs the time, but overlaps it with the GPU.
-- try: Schedule the next step while the GPU computes this one (asynchronous, or overlap, scheduling), and take per-request work
--   out of the loop: detokenization, logging, structured output, penalties on the host.
-- references: https://docs.vllm.ai/en/stable/configuration/optimization/
--   https://nvidia.github.io/TensorRT-LLM/features/overlap-scheduler.html
-- fix: {{ remedy('schedule_ahead') }} The host then schedules while the GPU computes. Between two steps the GPU has nothing to
--   do for {{ time(facts.gap_ns) }} (median) {%- if facts.between_share is not none %}, {{ percent(facts.between_share) }} of
--   it between their annotations (sampling, answering, scheduling), the rest while a batch is prepared or handed over{% endif
--   %}. {% if not program.has_graphs %}If many small launches prepare the batch, a {{ program.words.graph }} for them shortens
--   that. {% endif %}A profile with Python stacks shows what the host does in the gap.
-- confidence: medium
-- reason: The annotations show that requests were waiting while the GPU had nothing to do; whether the scheduler could run
--   ahead is not in the trace.
-- wrong-if: The host needs the token for its work, as with some structured output, or the profiler itself slows the host down.
-- heading: Schedule ahead, while the GPU computes
-- needs: gpu, several_steps
-- absent: {% if not ask('serving_told') %}no step belongs to a server{% endif %}
-- unknown: {% set told = ask('serving_told') %}{% if told and not told[0].steps_told %}the annotations do not say how many
--   requests are decoding{% endif %}
-- facts: serving_told
-- low: 0.5
-- likely: 0.8
-- uses: idle
-- categories: idle_cpu, idle_sync, idle_launch, idle_python, idle_os, idle_launch_latency, idle_unattributed
with
gap as (
    select s.step as next_step, s.kind, t.gpu_ts - s.gpu_gap as ts, t.gpu_ts as ts_end
    from serving_step as s
    inner join step as t using (trace_id, step)
    where s.trace_id = $trace_id and s.gpu_gap > 0 and s.decode_requests > 0
),

-- on the critical device: what of its gap lies in that of all devices
idle_between as (
    select
        i.gap_id, g.next_step, g.kind,
        (least(i.ts_end, g.ts_end) - greatest(i.ts, g.ts)) / (i.ts_end - i.ts) as part
    from idle_gap as i
    asof join gap as g on i.ts_end > g.ts
    where i.trace_id = $trace_id and i.device = $device and i.ts < g.ts_end
)

select
    p.step, p.ts, p.dur, c.name, p.cpu_slice_id as slice_id,
    p.dur * b.part as claimed,
    p.cause, p.gap_id, b.next_step, b.kind
from idle as p
inner join idle_between as b using (gap_id)
left join cpu_slice as c on c.trace_id = p.trace_id and c.slice_id = p.cpu_slice_id
where
    p.cause in ('idle_sync', 'idle_launch', 'idle_python', 'idle_cpu', 'idle_os', 'idle_launch_latency', 'idle_unattributed')
    -- what was launched before the capture was not launched late
    and p.gap_id not in (
        select gap_id from idle_gap_cause where trace_id = $trace_id and device = $device and cause = 'idle_earlier_work'
    )
