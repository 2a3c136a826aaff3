-- The training thread's time inside named ranges, or functions of the program's own files, in its fetches: by piece of host_time. Digits are
-- left out of names.
-- uses: host_time
select p.piece_id, r.name, regexp_replace(r.name, '\d+', '#', 'g') as range, p.dur, d.loader_kind
from host_time as p
inner join cpu_slice as c on c.trace_id = $trace_id and c.slice_id = p.slice_id
inner join cpu_slice as f on f.trace_id = $trace_id and f.slice_id = p.context_slice_id
left join data_fetch as d on d.trace_id = $trace_id and d.slice_id = f.slice_id
inner join cpu_slice as r
    on r.trace_id = $trace_id
    and r.slice_id = coalesce(
        nullif(if(c.kind = 'annotation', c.slice_id, c.annotation_id), f.slice_id),
        if(_is_line(c.kind, c.name), c.slice_id, c.line_id)
    )
where p.category = 'data' and r.ts >= f.ts and r.slice_id <> f.slice_id
