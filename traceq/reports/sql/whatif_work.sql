-- GPU work of the counted steps by category of the ledger, ns per step; slices at the same time count each. Of a trace that was
-- recorded without steps that count there are no rows.
select
    case
        when g.is_communication then 'communication'
        when g.kind = 'memcpy' then if(g.copy_kind in ('h2d', 'd2h'), 'copy_' || g.copy_kind, 'copy_other')
        when g.kind = 'memset' then 'memset'
        else 'compute'
    end as category,
    sum(g.dur) / (select count(*) from step where trace_id = $trace_id and excluded is null) as dur_ns
from gpu_slice as g
inner join step as s using (trace_id, step)
where g.trace_id = $trace_id and s.excluded is null and g.copy_kind is distinct from 'um'
group by category
order by dur_ns desc, category
