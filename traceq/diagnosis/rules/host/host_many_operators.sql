-- The training thread's time in calling many short operators, in a trace without GPU work.
-- title: Many short operators on the CPU
-- finds: Steps with at least 200 operators outside the optimizer, in which the operators and the Python between them are short,
--   in traces without GPU activity.
-- matters: PyTorch and Python need 5 to 20 us to call an operator, whatever it computes.
-- measured: Own time of the training thread (host_time) in operators of less than 20 us, and up to 100 us at a time between
--   operators, outside the optimizer and fetching. Shares: low 0, likely 0.5, an assumption (compiling, batching, or one
--   operator for a whole layer removes half of the calls), high 1 - 1/n of n calls: if a loop becomes one operator (nn.LSTM),
--   one call remains.
-- try: One operator for a whole loop (nn.LSTM, scaled_dot_product_attention, torch.bmm); larger batches; torch.compile.
-- references: https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
--   https://docs.pytorch.org/docs/stable/torch.compiler.html
-- heading: Call fewer and larger operators: {{ percent(claimed_share) }} of {% if subject.is_window %}the window{% else %}a
--   step{% endif %} is spent calling {{ plural(worst.operators, 'operator') }}
-- fix: {{ remedy('less_python') }} Larger batches make the same calls for more samples. Replace loops over time, heads or
--   layers by one operator if PyTorch has one (`nn.LSTM`, `scaled_dot_product_attention`, `torch.bmm`). Most of the time is in
--   {{ shares(rows) }}.
-- confidence: low
-- reason: The number and durations of the operators are in the trace; how many of them can be avoided is not.
-- wrong-if: The operators depend on one another and on the data, so nothing can be compiled or batched.
-- for: pytorch
-- needs: steps, host_alone, operators
-- facts: host_names
-- low: 0
-- likely: 0.5
-- high: 1
-- threshold: operators = 200: calling them takes 1 to 4 ms, whatever they compute
-- threshold: short_ns = 20000: an operator of PyTorch takes the host 5 to 20 us before it computes anything
-- threshold: between_ns = 100000: longer Python between two operators is work of its own
-- uses: host_time, host_operator
with
crowd as (
    select step, count(*) as operators
    from host_operator
    where phase <> 'optimizer'
    group by step
    having count(*) >= $operators
)

select
    p.step, p.ts, p.dur, p.name, p.slice_id,
    p.dur * _above(k.operators, $operators) as claimed,
    p.category as cause,
    p.piece_id as gap_id,
    1 - 1 / k.operators as goes_high,
    k.operators
from host_time as p
inner join crowd as k on k.step = p.step
where
    p.phase <> 'optimizer'
    and (
        (p.category = 'operator' and p.dur < $short_ns)
        or (p.category in ('annotation', 'python', 'none') and p.elsewhere is null and p.dur < $between_ns)
    )
