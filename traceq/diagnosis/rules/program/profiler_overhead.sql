-- Idle time in which the host did the profiler's own work.
-- title: GPU idle: the profiler's own work
-- finds: Time in which nothing runs on the GPU because the host does the profiler's own work: it sets up CUDA
--   tracing, allocates and flushes record buffers, patches code.
-- matters: A run without the profiler does not have this time. It is part of the measured step, so other shares look
--   smaller than they are, and comparing two captures partly compares the profiling.
-- measured: The pieces of cause idle_profiler in the counted steps (idle_piece), all of them: low, likely and high
--   are 1, because all of it disappears without the profiler. Profilers that do not record their own overhead have no
--   such pieces; it is then part of whatever it slowed down.
-- try: Ignore this time. Begin the capture after warm-up, end it at the end of a step, and record less: no Python
--   stacks, no memory, no system calls, no backtraces unless you need them.
-- references: https://docs.nvidia.com/nsight-systems/UserGuide/index.html
--   https://docs.pytorch.org/docs/stable/profiler.html
-- fix: {% set seen = pieces | map(attribute='name') | join(' ') -%} {% set later = ' (' ~ way('early_work') ~ ')' if
--   way('early_work') else '' -%} Ignore this time: without the profiler it does not exist (mostly {{
--   names(pieces[:3]) }}). {%- if seen | matched('(?i)flush') %} Full buffers of records were written out: a shorter
--   capture, or fewer kinds of activity, fills fewer buffers. {%- endif %} {%- if seen |
--   matched('(?i)initiali[sz]|TLS|Chunk|Resource|Buffer Request|dlopen') %} Tracing was being set up: begin the
--   capture after warm-up{{ later }}. {%- endif %} {%- if seen | matched('(?i)instrument') %} Code was patched for
--   tracing when it was first used: begin the capture after warm-up{{ later }}. {%- endif %} {%- if seen |
--   matched('(?i)backtrace|stack') %} Stacks were recorded with calls: {{ way('no_stacks', 'record none') }}. {%-
--   endif %} {%- if seen | matched('(?i)module load|lazy') %} Code was loaded when it was first used: run the whole
--   step once before the capture. {%- endif %}
-- confidence: high
-- reason: The profiler records this time as its own.
-- wrong-if: The step takes just as long without the profiler.
-- heading: Ignore the profiler's own work
-- needs: gpu, steps
-- low: 1.0
-- rest: yes
-- uses: idle
-- categories: idle_profiler
select p.step, p.ts, p.dur, c.name, p.cpu_slice_id as slice_id, p.dur as claimed, p.cause, p.gap_id
from idle as p
left join cpu_slice as c on c.trace_id = p.trace_id and c.slice_id = p.cpu_slice_id
where p.cause = 'idle_profiler'
