-- The training thread's time in what autograd's anomaly detection does, in a trace without GPU work.
-- title: Anomaly detection is on
-- finds: Autograd's anomaly detection in the counted steps of traces without GPU activity: after each node of the backward pass
--   it checks the gradients for NaN.
-- matters: It is meant for finding the step that has a NaN. Left on, it reads every gradient once more, and records the Python
--   stack of every operator in the forward pass, which takes longer than calling the operator.
-- measured: Own time of the training thread (host_time). Checks: from aten::isnan to aten::item, right under the nodes, after
--   their functions, in at least half of them; all of that time disappears (low, likely and high 1). Stacks: one is formatted
--   within each operator of the forward pass that adds a node (its sequence number is that of one in the backward pass).
--   Operators that compute nothing (view, transpose) show what that costs: their median own time, if it is above 5 us, which is
--   more than they need. The same amount is claimed of other operators that took at least as long. Stacks differ in depth: low
--   0.5, likely 1, and high is the time of the longest tenth of these operators.
-- try: No torch.autograd.set_detect_anomaly(True) in training runs.
-- references: https://docs.pytorch.org/docs/stable/autograd.html
--   https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
-- heading: Switch anomaly detection off: {{ percent(claimed_share) }} of {% if subject.is_window %}the window{% else %}a step{% endif %}
-- fix: Remove `torch.autograd.detect_anomaly()` and `torch.autograd.set_detect_anomaly(True)`; in Lightning,
--   Trainer(detect_anomaly=True). It checks for NaN after {{ plural(worst.nodes, 'node') }} of a step's backward pass, and
--   formats the Python stack in operators of the forward pass: {{ per_step(claimed_ns) }}. To look for a NaN, switch it on only
--   for the step that has one.
-- confidence: high
-- reason: Autograd nodes call aten::isnan and read the result, which only anomaly detection does.
-- wrong-if: One of your own functions checks for NaN in every backward pass: then remove that check.
-- for: pytorch, training
-- needs: steps, host_alone, operators
-- low: 1
-- likely: 1
-- threshold: least_ns = 5000: an operator of PyTorch takes the host 5 to 20 us, most of it in Python and in finding what to call, outside of its own time
-- uses: host_time, anomaly_check
-- only-with: host_slice_name: kind = 'op' and name = 'aten::isnan'
with
numbered as (
    select
        slice_id,
        name,
        starts_with(name, 'autograd::engine::evaluate_function') as is_node,
        ts,
        ts_end,
        try_cast(try(json_extract_string(args, '$."Sequence number"')) as bigint) as number
    from cpu_slice
    where
        trace_id = $trace_id
        and kind = 'op'
        and thread_id = (select min(thread_id) from host_ledger where trace_id = $trace_id)
        and contains(args, '"Sequence number"')
        and exists (from anomaly_check)
),

-- of the operators that have a node's number the last to begin is the one that adds it; the first run of a number in the backward pass
adding as (
    select o.number, max_by(o.slice_id, (o.ts, o.slice_id)) as slice_id
    from numbered as o
    inner join (select number, min(ts) as ts from numbered where is_node group by number) as n using (number)
    where o.ts < n.ts
    group by o.number
),

own as (
    select a.slice_id, c.name, sum(p.dur) as dur
    from adding as a
    inner join host_time as p using (slice_id)
    inner join cpu_slice as c on c.trace_id = $trace_id and c.slice_id = a.slice_id
    group by a.slice_id, c.name
),

stack as (
    select median(dur) as dur, quantile_cont(dur, 0.9) as longest
    from own
    where regexp_matches(name, '^aten::(t|view|_unsafe_view|reshape|_reshape_alias|transpose|permute|expand|select|slice|squeeze|unsqueeze|alias|unflatten)$')
    having median(dur) > $least_ns
),

asking as (
    select step, count(*) as nodes
    from anomaly_check as k
    asof inner join (select step, ts from step where trace_id = $trace_id and excluded is null) as s on k.ts >= s.ts
    group by step
)

select
    p.step, p.ts, p.dur, p.name, p.slice_id,
    if(p.ts < k.ts_end, p.dur, p.dur * least(1, s.dur / o.dur)) as claimed,
    p.category as cause,
    p.piece_id as gap_id,
    if(p.ts < k.ts_end, 1, 0.5) as goes_low,
    if(p.ts < k.ts_end, 1, least(s.longest, o.dur) / least(s.dur, o.dur)) as goes_high,
    w.nodes
from host_time as p
asof left join anomaly_check as k on p.ts >= k.ts
left join own as o on o.slice_id = p.slice_id
left join stack as s on true
left join asking as w on w.step = p.step
where p.ts < k.ts_end or (o.dur > 0 and s.dur > 0)
