-- Idle time of the GPU between the compiled graphs before and after a graph break.
-- title: Graph breaks keep the GPU waiting
-- finds: Time in which nothing runs on the GPU while the host is between two compiled graphs, at a line where torch.compile ends a graph,
--   by its log beside the trace.
-- matters: At a break Python runs the line, then looks for the compiled code of the rest and enters it: a queue of short kernels runs
--   empty meanwhile, and a value that is read (`.item()`) empties it.
-- measured: The pieces of causes idle_launch, idle_python, idle_sync and idle_unattributed (idle_piece) in the counted steps, cut to the
--   time from the end of the compiled graph before the line to the begin of the one after it (graph_break_passing). Low 0.3 (the line's
--   work may be needed elsewhere), likely 0.9, high 1. What fusing over the line wins is not in it.
-- try: torch.compile(..., fullgraph=True) raises an error at each break. Prints and logs outside of compiled code; torch.where in place of
--   if on values; custom operators for functions written in C.
-- references: https://docs.pytorch.org/docs/stable/torch.compiler_troubleshooting.html
--   https://docs.pytorch.org/docs/stable/compile/programming_model.graph_breaks_index.html
-- heading: Remove the graph break at {{ facts.place }}: the GPU waits while the host passes {{ plural(rows | length, 'such line') }}
-- fix: {{ break_advice(facts.kind) }} {{ facts.place }}{% if facts.code %} (`{{ cut(facts.code) }}`){% endif %} breaks the graph:
--   {{ facts.reason }}. {%- if rows | length > 1 %} So {{ 'do' if rows | length > 2 else 'does' }} {{ rows[1:4] |
--   map(attribute='place') | join(', ') }}. {%- endif %} The GPU waits {{ per_step(claimed_ns) }} for what the host does there.
-- confidence: high
-- reason: The log of the compiler names the line, and the trace shows that the GPU idles while the host passes it.
-- wrong-if: What the line does is needed in each step, and takes as long elsewhere.
-- for: pytorch
-- needs: gpu, steps
-- facts: broken_lines
-- low: 0.3
-- likely: 0.9
-- uses: idle
-- categories: idle_launch, idle_python, idle_sync, idle_unattributed
-- only-with: graph_break: not skips_function
with
passing as (
    select ts, ts + dur as ts_end, _short_place(file, line) as name, before_slice_id
    from graph_break_passing
    where trace_id = $trace_id and dur > 0
)

select
    p.step,
    greatest(p.ts, b.ts) as ts,
    least(p.ts + p.dur, b.ts_end) - greatest(p.ts, b.ts) as dur,
    b.name,
    b.before_slice_id as slice_id,
    least(p.ts + p.dur, b.ts_end) - greatest(p.ts, b.ts) as claimed,
    p.cause,
    p.gap_id
from idle as p
inner join passing as b on b.ts < p.ts + p.dur and b.ts_end > p.ts
where p.cause in ('idle_launch', 'idle_python', 'idle_sync', 'idle_unattributed')
