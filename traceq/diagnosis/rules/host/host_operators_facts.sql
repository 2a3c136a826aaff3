-- The operators that the claim is on, by name, most own time first.
with total as (
    select
        sum(claimed)::double as dur,
        count(distinct i.slice_id) as times,
        sum(claimed) filter (h.phase = 'optimizer')::double as optimizer
    from rule_instances as i
    left join cpu_slice as c on c.trace_id = $trace_id and c.slice_id = i.slice_id
    left join cpu_slice as p on p.trace_id = $trace_id and p.slice_id = c.phase_id
    left join host_name as h on h.trace_id = $trace_id and h.kind = p.kind and h.name = p.name
)

select
    i.name,
    (sum(i.claimed) / t.dur)::double as idle_share,
    coalesce(t.optimizer / t.dur, 0)::double as optimizer_share,
    (t.dur / nullif(t.times, 0))::double as mean_ns
from rule_instances as i
cross join total as t
where i.name is not null
group by i.name, t.dur, t.times, t.optimizer
order by sum(i.claimed) desc, i.name
limit 5
