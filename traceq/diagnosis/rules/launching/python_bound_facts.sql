-- In which frames and ranges the host was, the longest first.
-- uses: idle
select
    c.kind = 'python' as is_frame,
    any_value(case when c.kind = 'annotation' then regexp_replace(c.name, '[0-9]+$', '') else c.name end) as name,
    sum(p.dur) / sum(sum(p.dur)) over () as idle_share
from idle as p
inner join cpu_slice as c on c.trace_id = p.trace_id and c.slice_id = p.cpu_slice_id
where p.cause = 'idle_python'
group by is_frame, regexp_replace(c.name, '[0-9]+$', '')
order by idle_share desc, name
limit 3
