-- The training thread's time between the compiled graphs before and after a graph break, in a trace without GPU work.
-- title: Graph breaks in compiled code (CPU)
-- finds: Lines at which torch.compile ends a graph, by its log beside the trace, and what runs there eagerly in each step, in traces
--   without GPU activity.
-- matters: At a break Python runs the line, then looks for the compiled code of the rest and enters it; nothing is fused over the line.
-- measured: Own time of the training thread (host_time) from the end of the compiled graph before the line to the begin of the one
--   after it (graph_break_passing), and in these two graphs. Of the time between, low 0.5 (the line's work may be needed elsewhere),
--   likely and high 1. Of the graphs, which fusing over the line makes shorter by what nobody can tell from a trace: low 0, high
--   0.8, likely 15 us of the own time of the one after it, as a graph of its own checks its inputs and allocates before it computes.
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
-- reason: The log of the compiler names the line, and the trace shows the graphs before and after it.
-- wrong-if: What the line does is needed in each step, and takes as long elsewhere.
-- for: pytorch
-- needs: steps, host_alone
-- facts: broken_lines
-- low: 1
-- likely: 1
-- threshold: entry_ns = 15000: what a call of a compiled graph takes the host before it computes anything
-- uses: host_time
-- only-with: graph_break: not skips_function
with
passing as (
    select ts, ts + dur as ts_end, _short_place(file, line) as name
    from graph_break_passing
    where trace_id = $trace_id and dur > 0
),

graph as (
    select c.slice_id, c.ts, c.ts_end, bool_or(c.slice_id = b.after_slice_id) as is_after
    from graph_break_passing as b
    inner join cpu_slice as c on c.trace_id = b.trace_id and c.slice_id in (b.before_slice_id, b.after_slice_id)
    where b.trace_id = $trace_id
    group by c.slice_id, c.ts, c.ts_end
),

part as (
    select ts, ts_end, name, null as graph_id, false as is_after from passing
    union all
    select ts, ts_end, null, slice_id, is_after from graph
),

piece as (
    select
        p.*, k.name as place, k.graph_id, k.is_after,
        least(p.ts + p.dur, k.ts_end) - p.ts as claimed,
        k.graph_id = p.slice_id as is_own
    from host_time as p
    asof inner join part as k on p.ts >= k.ts
    where p.ts < k.ts_end
)

select
    step, ts, dur, coalesce(place, name) as name, slice_id, claimed,
    category as cause, piece_id as gap_id,
    if(graph_id is null, 0.5, 0) as goes_low,
    case
        when graph_id is null then 1
        when is_after and is_own then least(1, $entry_ns / sum(claimed) over (partition by graph_id, is_own))
        else 0
    end as goes,
    if(graph_id is null, 1, 0.8) as goes_high
from piece
