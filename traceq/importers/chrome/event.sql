-- The events of _block (first: the number of the block's first event, text: a JSON list) but for arrows, with the columns of
-- cpu_slice. `way` says who goes on with an event: "empty" is counted, "host" is done, "memory" too but for its counters
-- (memory.sql), "gpu" goes to gpu_work.sql with all its arguments, "odd" is one that Python has to look at: of a rare kind, or a
-- member lacks or is of another type than usual.
with
event as (
    select first + unnest(range(len(events))) as number, unnest(events) as e
    from (
        select
            first,
            from_json(
                text,
                '[{"ph":"VARCHAR","cat":"VARCHAR","name":"VARCHAR","pid":"JSON","tid":"JSON","ts":"VARCHAR","dur":"VARCHAR","args":"JSON"}]'
            ) as events
        from _block
    )
),

member as (
    select
        number,
        e.*,
        try_cast(e.ts as double) as us,
        -- as text, as DuckDB takes true for 1
        try_cast(e.dur as double) as lasts,
        e.ph in ('i', 'I') as is_instant,
        coalesce(contains(e.args, 'xternal id":') or contains(e.args, '"correlation":'), false) as has_known,
        if(has_known, from_json(e.args, '{"External id":"VARCHAR","correlation":"VARCHAR"}'), null) as known,
        if(
            e.name = '[memory]',
            from_json(
                e.args, '{"Device Type":"VARCHAR","Device Id":"VARCHAR","Total Allocated":"VARCHAR","Total Reserved":"VARCHAR"}'
            ),
            null
        ) as totals
    from event
    where e.ph is null or e.ph not in ('s', 't', 'f')
),

sorted as (
    select
        m.*,
        case
            when is_instant then 'instant'
            when ph is distinct from 'X' then null
            when cat = 'Operator' and regexp_matches(name, '^(ProfilerStep#|Optimizer\.|enumerate\(DataLoader\))') then 'annotation'
            when cat is null then coalesce(_family_without_category(name, pid::varchar), 'other')
            else coalesce(f.family, 'other')
        end as family,
        -- DuckDB's structs know no case: the earlier spelling of "External id" is looked up apart
        coalesce(
            known."External id", if(contains(args, '"external id":'), json_extract_string(args, '$."external id"'), null)
        ) as external,
        (args is null or starts_with(args, '{'))
        and _is_text(name)
        and _is_text(cat)
        and abs(us) < 9e15
        -- doubles this large have no nanoseconds, and can look whole where their text is not
        and (abs(us) < 8796093022208 or not regexp_matches(ts, '[.eE]'))
        and (is_instant or lasts between 0 and 604800000000) as is_plain
    from member as m
    left join _family as f on f.category = lower(m.cat)
),

sent as (
    select
        *,
        case
            when ph is null and name is null and ts is null then 'empty'
            when is_plain is not true or family is null or family in ('gpu_annotation', 'synchronization', 'cuda_event') then 'odd'
            when family = 'kernel' and cat is null then 'odd'
            when family in ('kernel', 'memcpy', 'memset') then if(contains(args, '"Collective name"') or contains(args, '"In msg nelems"'), 'odd', 'gpu')
            when not (_is_integer(external) and _is_integer(known.correlation)) then 'odd'
            when family = 'op' and name = 'record_param_comms' then 'odd'
            when name <> '[memory]' or not is_instant or name is null then 'host'
            when
                _is_integer(totals."Device Type") and _is_int32(totals."Device Id")
                and _is_integer(totals."Total Allocated") and _is_integer(totals."Total Reserved")
                then 'memory'
            else 'odd'
        end as way
    from sorted
)

select
    number as slice_id,
    way,
    hash(json_keys(args)) as keys,
    coalesce(pid::varchar, 'null') || chr(10) || coalesce(tid::varchar, 'null') as track,
    case
        when starts_with(name, 'traceq.') and regexp_matches(name, '^traceq\.(step|phase|fetch|module|payload)#') then 'annotation'
        when family = 'instant' then 'other'
        else family
    end as kind,
    cat as category,
    case
        when name is null then 'unknown'
        when family = 'python' and regexp_matches(name, '(?s)[\\\x08\t\n\f\r].*\.pyw?\(\d+\): ') then _with_slashes(name)
        when family = 'runtime' and contains(name, '_') then regexp_replace(name, '(_v\d{4,}|_ptsz|_ptds)+$', '')
        else name
    end as name,
    if(way in ('host', 'memory', 'gpu'), _ns(us), null) as ts,
    if(way in ('host', 'memory', 'gpu') and not is_instant, _ns(lasts), 0) as dur,
    try_cast(known.correlation as bigint) as correlation_id,
    try_cast(external as bigint) as external_id,
    case
        when way = 'gpu' then args::varchar
        when not has_known then nullif(args::varchar, '{}')
        when way in ('host', 'memory')
            then nullif(json_merge_patch(args, '{"External id":null,"external id":null,"correlation":null}')::varchar, '{}')
    end as args
from sent
