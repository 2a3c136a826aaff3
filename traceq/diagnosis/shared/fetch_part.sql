-- The training thread's time inside named ranges, or functions of the program's own files, in fetches that make their batch themselves: the
-- innermost of them, by piece of host_time. Ranges of the loader say nothing that the fetch does not. Digits are left out of names of ranges.
-- uses: host_time
select p.piece_id, r.name, if(regexp_matches(r.name, '\.py\(\d+\): '), r.name, regexp_replace(r.name, '\d+', '#', 'g')) as range, p.dur
from host_time as p
inner join cpu_slice as c on c.trace_id = $trace_id and c.slice_id = p.slice_id
inner join cpu_slice as f on f.trace_id = $trace_id and f.slice_id = p.context_slice_id
left join data_fetch as d on d.trace_id = $trace_id and d.slice_id = f.slice_id
left join cpu_slice as a on a.trace_id = $trace_id and a.slice_id = if(c.kind = 'annotation', c.slice_id, c.annotation_id) and a.ts >= f.ts
left join host_name as h on h.trace_id = $trace_id and h.kind = a.kind and h.name = a.name
left join cpu_slice as l on l.trace_id = $trace_id and l.slice_id = if(_is_line(c.kind, c.name), c.slice_id, c.line_id) and l.ts >= f.ts
cross join lateral (
    select name, slice_id
    from (
        select a.name as name, a.slice_id as slice_id, a.depth as depth where h.context is distinct from 'data'
        union all
        select l.name, l.slice_id, l.depth
    )
    where slice_id <> f.slice_id
    order by depth desc
    limit 1
) as r
where p.category = 'data' and d.loader_kind is distinct from 'multi_process'
