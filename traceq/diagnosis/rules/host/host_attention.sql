-- The training thread's time in attention that is written out, in a trace without GPU work.
-- title: Attention is not fused on the CPU
-- finds: Softmax between two batched matrix products, each a separate operator, in traces without GPU activity; and loops over
--   heads.
-- matters: Each operator on the scores reads and writes a matrix whose size is the square of the sequence length, forward and
--   backward; a fused operator keeps a block of it in the cache. A loop over heads calls all of them for every head.
-- measured: A softmax (not a log-softmax, which belongs to a loss) between two batched products, with at most 8 other operators
--   between them. Own time of the training thread (host_time) between the products, and in the nodes of the backward pass that
--   those operators added, by their sequence numbers; products stay. With k operators that pass over the scores: low 0, likely
--   1 - 1/k (one pass remains), high 1. Where n such softmaxes follow one another with only short operators between them
--   (heads), those operators and their nodes disappear as well: low 0, likely and high 1 - 1/n.
-- try: torch.nn.functional.scaled_dot_product_attention on all heads at once, with shape (batch, heads, length, size).
-- references: https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html
--   https://docs.pytorch.org/tutorials/intermediate/scaled_dot_product_attention_tutorial.html
-- heading: Use one operator for attention{% if worst.heads > 1 %} of all heads{% endif %}: {{ percent(claimed_share) }} of {% if
--   subject.is_window %}the window{% else %}a step{% endif %}
-- fix: {{ remedy('fused_attention') }} {% if worst.heads > 1 %}Give it all {{ worst.heads }} heads at once: `x.view(batch,
--   length, heads, -1).transpose(1, 2)`. {% endif %}The separate operators between the products take {{ per_step(claimed_ns)
--   }}.
-- confidence: medium
-- reason: The operators are in the trace; how long a fused one would take is not.
-- wrong-if: The program outputs the attention weights, or computes something from the scores that no fused operator supports.
-- for: pytorch
-- needs: steps, host_alone, operators
-- low: 0
-- likely: 1
-- threshold: most = 8: scale, mask, bias, softmax and dropout with their casts are at most eight operators between the two products
-- uses: host_time, host_operator, backward_node
-- only-with: host_slice_name: kind = 'op' and regexp_matches(name, '^aten::(_safe|special)?_?softmax$')
with
batched as (
    select distinct h.slice_id
    from (
        select ts from cpu_slice
        where
            trace_id = $trace_id
            and kind = 'op'
            and name in ('aten::bmm', 'aten::baddbmm', 'aten::baddbmm_')
            and thread_id = (select min(thread_id) from host_ledger where trace_id = $trace_id)
    ) as c
    asof inner join host_operator as h on c.ts >= h.ts
    where c.ts < h.ts_end
),

-- what ends a section: products, and what does not belong to attention
sorted as (
    select
        h.*,
        b.slice_id is not null as is_product,
        is_product or regexp_matches(h.name, '^aten::(linear|addmm|mm|matmul|conv|_convolution|layer_norm|native_layer_norm|batch_norm|embedding)') as is_end,
        regexp_matches(h.name, '^aten::(_safe|special)?_?softmax$') as is_softmax,
        regexp_matches(h.name, '^aten::(view|reshape|transpose|permute|expand|slice|select|squeeze|unsqueeze|split|chunk|narrow|t|alias|detach)$') as is_view
    from host_operator as h
    left join batched as b using (slice_id)
    where h.phase not in ('backward', 'optimizer')
),

-- what follows a product to the next end
section as (
    select
        step,
        section,
        min(number) as first,
        max(number) as last,
        min(ts_end) filter (is_end) as ts,
        count(*) - 1 as operators,
        count(*) filter (not is_end and not is_view) as passes,
        bool_or(is_softmax) as has_softmax,
        bool_or(is_product) as is_product
    from (select *, count(if(is_end, 1, null)) over (partition by step order by number) as section from sorted)
    group by step, section
),

placed as (
    select
        *,
        is_product and has_softmax and operators <= $most and coalesce(lead(is_product) over w, false) as is_attention,
        -- from the second product of one head to the first of the next
        is_product
        and operators <= $most
        and not has_softmax
        and coalesce(lag(is_product and has_softmax) over w, false)
        and coalesce(lead(is_product and has_softmax) over w, false) as is_between
    from section
    window w as (partition by step order by section)
),

run as (
    select *, count(*) filter (is_attention) over (partition by step, island) as heads
    from (
        select *, count(if(not is_attention and not is_between, 1, null)) over (partition by step order by section) as island
        from placed
    )
    where is_attention or is_between
),

forward as (
    select
        r.ts,
        h.ts as ts_end,
        if(r.is_attention, 1 - 1 / greatest(r.passes, 1), 1 - 1 / r.heads) as goes,
        if(r.is_attention, 1, 1 - 1 / r.heads) as goes_high,
        r.heads
    from run as r
    inner join host_operator as h on h.number = r.last + 1
    where r.is_attention or r.heads > 1
),

undone as (
    select
        n.ts,
        if(lead(n.is_part) over w and lead(n.number) over w = n.number + 1, lead(n.ts) over w, n.ts_end) as ts_end,
        n.goes, n.goes_high, n.heads
    from (
        select n.ts, n.ts_end, n.number, coalesce(h.ts < f.ts_end, false) as is_part, f.goes, f.goes_high, f.heads
        from backward_node as n
        inner join host_operator as h using (slice_id)
        asof left join forward as f on h.ts >= f.ts
    ) as n
    window w as (order by n.ts)
    qualify n.is_part
),

part as (
    from forward
    union all
    from undone
)

select
    p.step, p.ts, p.dur, p.name, p.slice_id, p.dur as claimed, p.category as cause, p.piece_id as gap_id,
    a.goes, a.goes_high,
    a.heads
from host_time as p
asof inner join part as a on p.ts >= a.ts
where p.ts < a.ts_end
