-- What is known of the parallelism of a job, one row: nulls for what is not.
-- uses: replicated_model, tensor_ranks, attention_query
select
    m.op, m.ranks, m.parameters, m.gradient_bytes, m.parameter_bytes, m.state_bytes, m.optimizer,
    m.micro_batches, m.reductions,
    coalesce(m.best_rate, t.best_rate) as best_rate,
    t.ranks as tensor_ranks, t.reductions as tensor_reductions, t.bytes as tensor_bytes,
    a.bytes as activation_bytes
from (select 1)
left join replicated_model as m on true
left join tensor_ranks as t on true
left join attention_query as a on true
