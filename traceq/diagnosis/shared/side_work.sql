-- Slices of the training thread that a name tells to be work beside the model, outermost only: logging, checkpoint, measuring (metrics) or
-- preparing (of input); annotations, frames of the program's own files, and of libraries that are made for logging.
-- uses: host_slice_name, logging_name
-- threshold: least_of_writer = 0.1: writing is fast, and what is written takes longer to make; a function that writes a line now and then
--   does something else
with
named as (
    select
        kind,
        name,
        case
            when is_logging then 'logging'
            -- checkpointing of activations is a way to compute
            when
                regexp_matches(word, '(^|[^a-z])(checkpoint|ckpt|save|saving|dump)([^a-z]|$)')
                and not regexp_matches(word, '(activations?|gradients?|grads?|recompute|forward|function|sequential|blocks?|layers?)_?checkpoint|checkpoint_?(activations?|forward|function|sequential|blocks?|layers?|fn|wrapper)')
                then 'checkpoint'
            -- log_prob and its like are arithmetic
            when
                regexp_matches(
                    word,
                    '^(log|logs|logging|logger|print)$|^(log|print|write|report)_(metrics?|scalars?|step|stats|loss(es)?|images?|histograms?|summar(y|ies)|results?|progress)|(^|[^a-z])(histograms?|plot|visuali[sz]e)([^a-z]|$)'
                )
                then 'logging'
            when regexp_matches(word, '(^|[^a-z])(metrics?|accuracy|evaluate|validate|validation)([^a-z]|$)') then 'measuring'
            when regexp_matches(word, '(^|[^a-z])(tokeni[sz](e|er|ing|ation)|augment|augmentations?|preprocess|preprocessing|collate)([^a-z]|$)')
                then 'preparing'
        end as work
    from (
        select
            n.kind,
            n.name,
            lower(if(n.kind = 'python', regexp_extract(n.name, '\): (.*)$', 1), n.name)) as word,
            g.name is not null as is_logging
        from host_slice_name as n
        left join logging_name as g on g.kind = n.kind and g.name = n.name
        where n.kind = 'annotation' or g.name is not null or _is_line(n.kind, n.name)
    )
),

-- functions of the program that spend a tenth of their time in writing: what else they do prepares it
writing as (
    select
        n.kind, n.name,
        case
            when regexp_matches(n.name, '(^|/)torch/(serialization\.py\(\d+\): _?(save|legacy_save)$|distributed/checkpoint/)|(^|/)safetensors/')
                then 'checkpoint'
            when
                g.name is not null
                or regexp_matches(
                    n.name,
                    '^<built-in (function|method) (print|(.*\.)?(fsync|fdatasync|flush|write|writelines|dumps?))( of .*)?>$|(^|/)(json|csv|pickle)(/\w+)?\.py\(\d+\): _?(dumps?|write\w*)$'
                )
                then 'logging'
        end as work
    from host_slice_name as n
    left join logging_name as g on g.kind = n.kind and g.name = n.name
    where n.kind = 'python'
),

writer as (
    select name, max_by(work, dur) as work
    from (
        select l.name, w.work, sum(c.dur) as dur
        from cpu_slice as c
        inner join writing as w on w.kind = c.kind and w.name = c.name
        inner join cpu_slice as l on l.trace_id = c.trace_id and l.slice_id = c.line_id
        left join cpu_slice as p on p.trace_id = c.trace_id and p.slice_id = c.parent_id
        left join writing as o on o.kind = p.kind and o.name = p.name and o.work is not null
        where c.trace_id = $trace_id and w.work is not null and o.name is null
        group by all
    ) as spent
    inner join (
        select name, sum(dur) as total from cpu_slice where trace_id = $trace_id and _is_line(kind, name) group by name
    ) as line using (name)
    group by name
    having sum(dur) >= $least_of_writer * max(total)
),

marked as (
    select c.slice_id, c.kind, c.name, c.ts, c.ts_end, coalesce(r.work, n.work) as work
    from cpu_slice as c
    inner join named as n on n.kind = c.kind and n.name = c.name
    left join writer as r on r.name = c.name and c.kind = 'python' and c.context_id is null
    left join cpu_slice as p on p.trace_id = c.trace_id and p.slice_id = c.phase_id
    left join host_name as h on h.trace_id = p.trace_id and h.kind = p.kind and h.name = p.name
    where
        c.trace_id = $trace_id
        and coalesce(r.work, n.work) is not null
        -- in the forward pass only logging is none of the model's
        and (coalesce(r.work, n.work) = 'logging' or h.phase is distinct from 'forward')
        and c.dur > 0
        and c.thread_id = (select min(thread_id) from host_ledger where trace_id = $trace_id)
)

select slice_id, kind, name, ts, ts_end, work
from (
    select *, max(ts_end) over (order by ts, ts_end desc, slice_id rows between unbounded preceding and 1 preceding) as until
    from marked
)
where until is null or ts >= until
