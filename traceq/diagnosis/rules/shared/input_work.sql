-- What the training thread spends its fetches on: by name, the time of slices without what is nested in them.
-- threshold: worth_naming = 0.05: of the time of fetching: a cause of less wins next to nothing
with
slice as (
    -- of a damaged trace a slice can outlast its fetch
    select c.slice_id, c.kind, c.name, least(c.dur, f.ts + f.dur - c.ts) as dur, c.parent_id
    from cpu_slice as c
    inner join data_fetch as f on f.trace_id = c.trace_id and f.slice_id = c.context_id
    where c.trace_id = $trace_id and f.is_training
),

nested as (
    select parent_id, sum(dur) as dur
    from slice
    group by parent_id
)

select
    s.name,
    sum(greatest(0, s.dur - coalesce(n.dur, 0)))::double as own_ns
from slice as s
left join nested as n on n.parent_id = s.slice_id
where s.kind in ('op', 'python', 'os')
group by all
order by own_ns desc, name
limit 3
