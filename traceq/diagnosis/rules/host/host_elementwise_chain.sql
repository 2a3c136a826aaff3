-- The training thread's time in operators that pass over the same memory one after the other, in a trace without GPU work.
-- title: A chain of elementwise operators on the CPU
-- finds: At least three elementwise operators in a row, of the same shape where shapes are known, each of which takes longer
--   than the call itself, in traces without GPU activity.
-- matters: Each of them reads and writes the whole tensor. Compiled, the chain makes a single pass.
-- measured: Own time of the training thread (host_time) in such operators, outside the optimizer. For a chain of k: low 0 (the
--   compiler may not fuse it), likely (1 - 1/k) / 2, which assumes that half of the time is memory access, of which one pass of
--   k remains, and half is arithmetic, which remains; high 1 - 1/k.
-- try: torch.compile on the function; in-place operators; fewer intermediate results.
-- references: https://docs.pytorch.org/docs/stable/torch.compiler.html
--   https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
-- heading: Compile the chain of elementwise operators{% if worst.range is not none %} in {{ worst.range | cut }}{% endif %}: {{
--   percent(claimed_share) }} of {% if subject.is_window %}the window{% else %}a step{% endif %}
-- fix: Compile the function around them, which turns {{ worst.chain }} passes into one: `f = {{ 'torch.compile(f)' if
--   program.can_compile else 'torch.jit.script(f)' }}`. Most of the time is in {{ names(pieces) }}.
-- confidence: low
-- reason: The chain is in the trace; how much of its time is memory access and how much arithmetic is not, so half of each is
--   assumed.
-- wrong-if: The operators are limited by arithmetic (exp, sin, tanh), or their results are needed elsewhere.
-- for: pytorch
-- needs: steps, host_alone, operators
-- low: 0
-- likely: 0.5
-- threshold: least_chain = 3: two are fused by hand; below that there is no chain
-- threshold: least_ns = 20000: an operator of PyTorch takes the host 5 to 20 us before it computes anything
-- uses: host_time, host_operator
with
elementwise as (
    select o.*, number - row_number() over (order by number) as island, nullif(cast(c.args -> 'Input Dims' -> 0 as varchar), '[]') as shape
    from host_operator as o
    inner join cpu_slice as c on c.trace_id = $trace_id and c.slice_id = o.slice_id
    where
        o.dur >= $least_ns
        and phase not in ('optimizer', 'backward')
        and regexp_matches(
            o.name,
            '^aten::(abs|add|addcdiv|addcmul|ceil|clamp|clamp_max|clamp_min|cos|div|erf|exp|expm1|floor|gelu|hardtanh|leaky_relu|lerp|log|log1p|maximum|minimum|mul|neg|pow|reciprocal|relu|round|rsqrt|rsub|sigmoid|silu|sin|softplus|sqrt|square|sub|tanh|where)_?$'
        )
),

-- a chain ends where the shape changes; an operator without a shape goes on with it
turned as (
    select
        *,
        shape <> last_value(shape ignore nulls) over (
            partition by step, island order by number rows between unbounded preceding and 1 preceding
        ) as turns
    from elementwise
),

shaped as (
    select *, count(if(turns, 1, null)) over (partition by step, island order by number) as part
    from turned
),

chained as (
    select *, count(*) over (partition by step, island, part) as chain
    from shaped
    qualify chain >= $least_chain
)

select
    p.step, p.ts, p.dur, e.name, p.slice_id, p.dur as claimed, p.category as cause, p.piece_id as gap_id,
    1 - 1 / e.chain as goes,
    -- the rule's likely share is half of it, the highest all
    1 - 1 / e.chain as goes_high,
    e.chain,
    g.name as range
from host_time as p
asof inner join chained as e on p.ts >= e.ts
left join cpu_slice as g
    on g.trace_id = $trace_id and g.slice_id = e.annotation_id and not regexp_matches(g.name, '^(ProfilerStep#|traceq\.step)')
where p.ts < e.ts_end and p.category = 'operator'
