-- What each rank would send a step, and hold of the model, were it replicated, sharded or split otherwise. P, G, S: parameters, gradients,
-- states of the optimizer (bytes); n ranks; m micro-batches, of r of which gradients are reduced, u optimizer steps; A: activations that
-- a layer hands to the next, of one micro-batch, L layers. A ring sends 2 (n - 1) / n of what it all-reduces, (n - 1) / n of a gather.
-- uses: replicated_model, tensor_ranks, attention_query
-- remarks: yes
-- threshold: worth = 0.1: of the step in communication: with less no other split can win much
-- threshold: memory_taken = 0.85: of the GPU's memory: from there on a larger batch, or a longer sequence, soon fails
with
model as (
    select
        gradient_bytes as g, parameter_bytes as p, state_bytes as s, ranks as n,
        (ranks - 1) / ranks as f,
        micro_batches as m, reductions as r, updates as u, best_rate,
        op = 'all_reduce' as is_replicated
    from replicated_model
),

choice as (
    select 1 as number, 'DDP' as choice, 2 * f * g * r as sends, p + g as holds, s as states, null as bubble, '2 (n-1)/n G r' as sends_by, 'P + G, S' as holds_by, best_rate
    from model
    union all
    select 2, 'ZeRO-1', f * (g * r + p * u), p + g, s / n, null, '(n-1)/n (G r + P u)', 'P + G, S/n', best_rate
    from model
    union all
    select 3, 'ZeRO-2', f * (g * m + p * u), p + g / n, s / n, null, '(n-1)/n (G m + P u)', 'P + G/n, S/n', best_rate
    from model
    union all
    select 4, 'ZeRO-3 (FSDP)', f * (g + 2 * p) * m, (p + g) / n, s / n, null, '(n-1)/n (G + 2 P) m', '(P + G)/n, S/n', best_rate
    from model
    -- half as many replicas, of half of the model each
    union all
    select
        5, 'TP 2, DP n/2', 4 * a.calls * a.bytes + (n - 2) / n * g * r, (p + g) / 2, s / 2, null, '4 A L m + 2 (n/2-1)/(n/2) G/2 r', '(P + G)/2, S/2', best_rate
    from model
    cross join attention_query as a
    where is_replicated and n % 2 = 0
    union all
    select 6, 'PP 2, DP n/2', a.bytes * m + (n - 2) / n * g * r, (p + g) / 2, s / 2, 1 / (m + 1), 'A m + 2 (n/2-1)/(n/2) G/2 r', '(P + G)/2, S/2', best_rate
    from model
    cross join attention_query as a
    where is_replicated and n % 2 = 0
    union all
    select 7 + d.number, 'TP ' || (ranks * d.times)::integer, 2 * (ranks * d.times - 1) / (ranks * d.times) * bytes, null, null, null, '2 (t-1)/t 4 A L m', null, best_rate
    from tensor_ranks
    cross join (values (0, 1), (1, 0.5), (2, 2)) as d (number, times)
    where
        ranks * d.times > 1
        and ranks * d.times % 1 = 0
        and (d.times <= 1 or ranks * d.times <= (select world_size from trace where trace_id = $trace_id))
)

select
    choice,
    sends::bigint as sent_bytes,
    (sends / best_rate)::bigint as sending_ns,
    holds::bigint as held_bytes,
    states::bigint as state_bytes,
    bubble as bubble_share, sends_by, holds_by
from choice
order by number
