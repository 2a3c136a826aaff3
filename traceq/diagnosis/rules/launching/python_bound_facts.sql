-- In which frames and ranges the host was, the longest first.
-- uses: idle
with
place as (
    select
        any_value(case when c.kind = 'annotation' then regexp_replace(c.name, '[0-9]+$', '') else c.name end) as name,
        sum(p.dur) / sum(sum(p.dur)) over () as idle_share
    from idle as p
    inner join cpu_slice as c on c.trace_id = p.trace_id and c.slice_id = p.cpu_slice_id
    where p.cause = 'idle_python'
    group by c.kind = 'python', regexp_replace(c.name, '[0-9]+$', '')
)

-- the range of a step says nothing of where in it
select if(regexp_matches(name, '^(ProfilerStep|traceq\.step)#?$'), 'the step outside of other ranges', name) as name, idle_share
from place
order by idle_share desc, place.name
limit 3
