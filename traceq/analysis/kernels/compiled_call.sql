-- Operators in the graphs that torch.compile calls, of those that its code calls (_compiled_operator): the outermost ones. sequence: the
-- graph's name, and those of its operators, in their order; place: the operator's, from 0.
-- reads: _compiled_operator
-- makes: _compiled_call
create or replace temp table _compiled_call as
with
graph as (
    select slice_id, thread_id, ts, ts_end, regexp_extract(name, '^## Call CompiledFxGraph (\w+)', 1) as graph_key
    from cpu_slice
    where kind in ('op', 'annotation') and starts_with(name, '## Call CompiledFxGraph ')
),

called as (
    select
        g.slice_id as graph_id, g.graph_key, c.slice_id, c.thread_id, c.name, c.ts, c.ts_end,
        max(c.ts_end) over (
            partition by g.slice_id order by c.ts, c.ts_end desc, c.slice_id rows between unbounded preceding and 1 preceding
        ) as before
    from (select * from cpu_slice where kind = 'op' and dur > 0 and name in (select name from _compiled_operator)) as c
    asof inner join graph as g on g.thread_id = c.thread_id and c.ts >= g.ts
    where c.ts_end <= g.ts_end
)

select
    thread_id, ts, ts_end,
    row_number() over (partition by graph_id order by ts) - 1 as place,
    graph_key || ' ' || string_agg(name, ' ') over (
        partition by graph_id order by ts rows between unbounded preceding and unbounded following
    ) as sequence
from called
where before is null or ts >= before;

-- reads: _compiled_call
select distinct sequence from _compiled_call order by sequence;
