-- The training thread's time between the compiled graphs before and after a graph break, in a trace without GPU work.
-- title: Graph breaks in compiled code (CPU)
-- finds: Lines at which torch.compile ends a graph, by its log beside the trace, and what runs there eagerly in each step, in traces
--   without GPU activity.
-- matters: At a break Python runs the line, then looks for the compiled code of the rest and enters it; nothing is fused over the line.
-- measured: Own time of the training thread (host_time) from the end of the compiled graph before the line to the begin of the one
--   after it (graph_break_passing), and in these two graphs. Of the time between, low 0.5 (the line's work may be needed elsewhere),
--   likely and high 1; of the graphs, which fusing over the line makes shorter by what nobody can tell from a trace: low 0, likely
--   0.1, high 0.8.
-- try: torch.compile(..., fullgraph=True) raises an error at each break. Prints and logs outside of compiled code; torch.where in place of
--   if on values; custom operators for functions written in C.
-- references: https://docs.pytorch.org/docs/stable/torch.compiler_troubleshooting.html
--   https://docs.pytorch.org/docs/stable/compile/programming_model.graph_breaks_index.html
-- heading: Remove the graph break at {{ facts.place }}: {{ percent(claimed_share) }} of {% if subject.is_window %}the window{%
--   else %}a step{% endif %} is spent at {{ plural(rows | length, 'such line') }} and in the graphs around
-- fix: {{ break_advice(facts.kind) }} {{ facts.place }}{% if facts.code %} (`{{ cut(facts.code) }}`){% endif %} breaks the graph:
--   {{ facts.reason }}. {%- if rows | length > 1 %} So {{ 'do' if rows | length > 2 else 'does' }} {{ rows[1:4] |
--   map(attribute='place') | join(', ') }}. {%- endif %} Between the graphs {{ per_step(facts.between_ns) }} pass.
-- confidence: high
-- reason: The log of torch.compile names the line, and the trace shows the graphs before and after it.
-- wrong-if: What the line does is needed in each step, and takes as long elsewhere.
-- needs: steps, host_alone
-- facts: broken_lines
-- low: 1
-- likely: 1
-- uses: host_time
-- only-with: graph_break: not skips_function
with
passing as (
    select ts, ts + dur as ts_end, _short_place(file, line) as name, 'between' as part
    from graph_break_passing
    where trace_id = $trace_id and dur > 0
),

graph as (
    select distinct c.ts, c.ts_end, 'graph' as part
    from graph_break_passing as b
    inner join cpu_slice as c on c.trace_id = b.trace_id and c.slice_id in (b.before_slice_id, b.after_slice_id)
    where b.trace_id = $trace_id
),

part as (
    select ts, ts_end, name, part from passing
    union all
    select ts, ts_end, null, part from graph
)

select
    p.step, p.ts, p.dur, coalesce(k.name, p.name) as name, p.slice_id,
    least(p.ts + p.dur, k.ts_end) - p.ts as claimed,
    p.category as cause, p.piece_id as gap_id,
    if(k.part = 'between', 0.5, 0) as goes_low,
    if(k.part = 'between', 1, 0.1) as goes,
    if(k.part = 'between', 1, 0.8) as goes_high
from host_time as p
asof inner join part as k on p.ts >= k.ts
where p.ts < k.ts_end
