-- The training thread's time beside the model by the range that it is in: one that is named for measuring or preparing (work), else, outside
-- of a marked forward pass, the innermost range, or function of the program's own files that began in the step. By piece of host_time. Digits
-- are left out of names of ranges.
-- uses: host_time, side_work
with
spent as (
    select
        p.piece_id, p.slice_id, p.dur,
        p.category in ('annotation', 'python') as is_own,
        if(p.ts < w.ts_end, w.work, null) as work,
        case
            when p.ts < w.ts_end then w.name
            when p.phase = 'forward' then null
            -- marks of steps, and what libraries mark, are nobody's work beside the model
            when
                not regexp_matches(
                    a.name,
                    '^(ProfilerStep|traceq\.|nn\.Module|Optimizer\.|DistributedDataParallel|enumerate\(|autograd|torch|## |Torch-Compiled|Compiled)'
                )
                then a.name
            when l.ts >= s.ts then l.name
        end as name
    from host_time as p
    inner join step as s on s.trace_id = $trace_id and s.step = p.step
    asof left join (from side_work where work in ('measuring', 'preparing')) as w on p.ts >= w.ts
    left join cpu_slice as c on c.trace_id = $trace_id and c.slice_id = p.slice_id
    left join cpu_slice as a on a.trace_id = $trace_id and a.slice_id = if(c.kind = 'annotation', c.slice_id, c.annotation_id)
    left join cpu_slice as f on f.trace_id = $trace_id and f.slice_id = if(_is_line(c.kind, c.name), c.slice_id, c.line_id)
    -- what has no name of its own belongs to the function around it
    left join cpu_slice as l
        on l.trace_id = $trace_id
        and l.slice_id = if(regexp_matches(f.name, ': <(genexpr|listcomp|dictcomp|setcomp|lambda)>$'), f.line_id, f.slice_id)
    where p.category <> 'data' and p.elsewhere is null and p.phase not in ('backward', 'optimizer')
)

-- what is named for a part of the model is one
select *, if(regexp_matches(name, '\.py\(\d+\): '), name, regexp_replace(name, '\d+', '#', 'g')) as range
from spent
where
    work is not null
    or not regexp_matches(
        lower(name),
        '(^|[^a-z])(model|module|net|network|backbone|encoder|decoder|head|attention|attn|embeddings?|layers?|blocks?|mlp|loss(es)?|criterion|forward|predict|generate|inference)([^a-z]|$)'
    )
