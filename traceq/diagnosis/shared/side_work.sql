-- Slices of the training thread that a name tells to be work beside the model, outermost only: logging, checkpoint, measuring (metrics) or
-- preparing (of input); annotations, and frames of the program's own files.
with
named as (
    select
        kind,
        name,
        case
            when regexp_matches(word, '(^|[^a-z])(checkpoint|checkpointing|ckpt|save|saving|dump)([^a-z]|$)') then 'checkpoint'
            when regexp_matches(word, '(^|[^a-z])(log|logs|logging|logger|print|tensorboard|wandb|mlflow|histograms?|plot|visuali[sz]e)([^a-z]|$)')
                then 'logging'
            when regexp_matches(word, '(^|[^a-z])(metrics?|accuracy|scores?|evaluate|validate|validation)([^a-z]|$)') then 'measuring'
            when regexp_matches(word, '(^|[^a-z])(tokeni[sz](e|er|ing|ation)|augment|augmentations?|transforms?|preprocess|preprocessing|collate|pad|padding)([^a-z]|$)')
                then 'preparing'
        end as work
    from (
        select kind, name, lower(if(kind = 'python', regexp_extract(name, '\): (.*)$', 1), name)) as word
        from (select distinct kind, name from cpu_slice where trace_id = $trace_id and kind in ('annotation', 'python'))
        where kind = 'annotation' or _is_line(kind, name)
    )
),

marked as (
    select c.slice_id, c.kind, c.name, c.ts, c.ts_end, n.work
    from cpu_slice as c
    inner join named as n on n.kind = c.kind and n.name = c.name
    where
        c.trace_id = $trace_id
        and n.work is not null
        and c.dur > 0
        and c.thread_id = (select min(thread_id) from host_ledger where trace_id = $trace_id)
)

select slice_id, kind, name, ts, ts_end, work
from (
    select *, max(ts_end) over (order by ts, ts_end desc, slice_id rows between unbounded preceding and 1 preceding) as until
    from marked
)
where until is null or ts >= until
