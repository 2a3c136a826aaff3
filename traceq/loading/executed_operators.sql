-- Operators of an execution trace (_executed_node) that are in the staged trace: by the number that the profiler gives them as well, and
-- the name, in process $pid (NULL: any); and the dependencies (_executed_edge) between two of them. Numbers begin anew in each run and
-- so do those of processes in containers: where fewer than half of the operators with the same number have the same name, none is.
create or replace temp table _executed_operator as
with
recorded as (
    select
        c.slice_id, c.name,
        coalesce(
            try_cast(if(json_valid(c.args), json_extract_string(c.args, '$."Record function id"'), null) as bigint), c.external_id
        ) as record_id
    from staging.cpu_slice as c
    inner join staging.thread as t using (thread_id)
    where c.kind = 'op' and ($pid::bigint is null or t.pid is null or t.pid = $pid)
),

numbered as (
    select n.node, r.slice_id, r.name = n.name as is_same from _executed_node as n inner join recorded as r on r.record_id = n.record_id
),

agreement as (
    select count(distinct node) filter (is_same) * 2 >= count(distinct node) as is_one_run from numbered
)

select node, min(slice_id) as slice_id
from numbered
where is_same and (select is_one_run from agreement)
group by node
having count(*) = 1;

create or replace temp table _executed_dependency as
select r.slice_id, w.slice_id as source_id, e.kind, e.size
from _executed_edge as e
inner join _executed_operator as r on r.node = e.reader
inner join _executed_operator as w on w.node = e.writer
order by all;
