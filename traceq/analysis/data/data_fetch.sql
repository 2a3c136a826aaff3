-- data_fetch: each fetch with what was done in it, what it cost and what it fetched from.
-- reads: _data_fetch, _data_training, _fetch_piece, _work_in, step
-- makes: data_fetch

insert into data_fetch by name
with
part as (
    select
        interval_id as slice_id,
        sum(dur) filter (part = 'waiting') as waiting,
        sum(dur) filter (part = 'reading') as reading,
        sum(dur) filter (part = 'transform') as transform,
        sum(dur) filter (part = 'python') as python,
        sum(dur) filter (part = 'calls') as calls,
        sum(dur) filter (part in ('range', 'none')) as unexplained
    from _work_in('_fetch_piece')
    group by interval_id
),

stall as (
    select slice_id, max(dur) as stalled
    from (select slice_id, device, sum(dur) as dur from _data_idle group by slice_id, device)
    group by slice_id
),

inside as (
    select
        coalesce(context_id, slice_id) as slice_id,
        min(substr(name, 14)) filter (starts_with(name, 'traceq.fetch#')) as label,
        min(nullif(regexp_extract(name, '^enumerate\((.+?)\)#', 1), '')) as enumerated,
        bool_or(regexp_matches(name, '_MultiProcessing\w*Iter|utils/data/dataloader\.py.*: (_try_get_data|_get_data|_process_data)$')) as has_workers,
        bool_or(regexp_matches(name, '_SingleProcess\w*Iter|utils/data/_utils/fetch\.py.*: fetch$')) as is_single,
        bool_or(contains(name, 'torch/utils/data/dataloader.py')) as has_frames
    from cpu_slice
    where coalesce(context_id, slice_id) in (select slice_id from _data_fetch)
    group by all
),

-- The frame that makes an iterator, or starts one anew, is before its first fetch or, in the iterators of others, inside.
started as (
    select f.slice_id, max(c.dur) as iterator_dur
    from (
        select thread_id, ts_end, dur
        from cpu_slice
        where
            kind = 'python'
            and contains(name, 'torch/utils/data/dataloader.py')
            -- __iter__ would not do: an iterator has one, too
            and (ends_with(name, ': _get_iterator') or ends_with(name, ': _reset'))
    ) as c
    asof join _data_fetch as f on f.thread_id = c.thread_id and c.ts_end <= f.ts_end
    group by f.slice_id
),

fetched as (
    select
        f.*,
        coalesce(i.label, i.enumerated, f.name) as loader,
        case when i.has_workers then 'multi_process' when i.is_single then 'in_process' end as loader_kind,
        i.has_frames
    from _data_fetch as f
    inner join inside as i using (slice_id)
)

select
    $trace_id as trace_id,
    f.slice_id,
    f.thread_id,
    f.thread_id in (from _data_training) as is_training,
    case when f.ts < s.ts_end then s.step end as step,
    f.loader,
    f.loader_kind,
    row_number() over one_loader - 1 as number,
    f.ts,
    f.ts_end - f.ts as dur,
    -- slices that do not nest can outlast the fetch they start in
    case when exists (from gpu_slice) then least(coalesce(d.stalled, 0), f.ts_end - f.ts) end as stalled,
    coalesce(columns(p.* exclude (slice_id)), 0),
    case when n.slice_id is not null then true when f.has_frames and row_number() over one_loader > 1 then false end as is_first,
    n.iterator_dur
from fetched as f
left join part as p using (slice_id)
left join stall as d using (slice_id)
left join started as n using (slice_id)
asof left join step as s on f.ts >= s.ts
window one_loader as (partition by f.thread_id, f.loader order by f.ts, f.slice_id)
order by f.ts, f.thread_id, f.slice_id;
