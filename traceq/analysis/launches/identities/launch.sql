-- A GPU slice is joined with the API call of its correlation and process, and unjoined only when that call is not in the trace,
-- or when nothing says which of several processes launched it.
with
call as (
    select c.slice_id, c.kind, c.correlation_id, t.pid
    from cpu_slice as c
    inner join thread as t on t.trace_id = c.trace_id and t.thread_id = c.thread_id
    where c.trace_id = $trace_id
),

overlooked as (
    select g.slice_id
    from gpu_slice as g
    inner join call as c on c.correlation_id = g.correlation_id
    where
        g.trace_id = $trace_id
        and g.launch_id is null
        and g.correlation_id > 0
        and c.kind = 'runtime'
        and coalesce(g.pid = c.pid, g.pid is null)
    group by g.slice_id, g.pid
    having g.pid is not null or count(distinct coalesce(c.pid, -1)) = 1
)

select
    g.slice_id,
    case
        when g.launch_id is null then o.slice_id is not null
        else
            c.kind is distinct from 'runtime'
            or c.correlation_id is distinct from g.correlation_id
            or coalesce(g.pid <> c.pid, false)
    end as is_broken,
    'gpu_slice ' || g.slice_id as place
from gpu_slice as g
left join call as c on c.slice_id = g.launch_id
left join overlooked as o on o.slice_id = g.slice_id
where g.trace_id = $trace_id
