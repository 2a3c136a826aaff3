-- unified_memory: migrations and page faults per device and step. What a trace does not record at all is unknown, not none.
-- reads: copy_overlap, step
-- makes: unified_memory

insert into unified_memory
with
fault as (
    select
        processor, device, ts, faults,
        -- groups of faults overlap: of each only what is later than all before it
        greatest(0, ts + dur - greatest(ts, max(ts + dur) over earlier)) as dur
    from page_fault
    window earlier as (partition by processor, device order by ts, dur rows between unbounded preceding and 1 preceding)
),

event as (
    select device, step, direction as what, 1 as events, bytes, dur
    from copy_overlap
    where copy_kind = 'um'
    union all
    select f.device, if(f.ts < s.ts_end, s.step, null), f.processor, f.faults, null, f.dur
    from fault as f
    asof left join step as s on f.ts >= s.ts
)

select
    $trace_id as trace_id,
    device,
    step,
    count(*) filter (what = 'h2d') as migrations_h2d,
    if(bool_and(bytes is not null or what <> 'h2d'), coalesce(sum(bytes) filter (what = 'h2d'), 0), null)::bigint as bytes_h2d,
    coalesce(sum(dur) filter (what = 'h2d'), 0)::bigint as dur_h2d,
    count(*) filter (what = 'd2h') as migrations_d2h,
    if(bool_and(bytes is not null or what <> 'd2h'), coalesce(sum(bytes) filter (what = 'd2h'), 0), null)::bigint as bytes_d2h,
    coalesce(sum(dur) filter (what = 'd2h'), 0)::bigint as dur_d2h,
    count(*) filter (what = 'd2d') as migrations_d2d,
    if(bool_and(bytes is not null or what <> 'd2d'), coalesce(sum(bytes) filter (what = 'd2d'), 0), null)::bigint as bytes_d2d,
    coalesce(sum(dur) filter (what = 'd2d'), 0)::bigint as dur_d2d,
    case
        when device is not null and exists (select 1 from page_fault where processor = 'gpu')
            then coalesce(sum(events) filter (what = 'gpu'), 0)::bigint
    end as gpu_faults,
    case
        when device is not null and exists (select 1 from page_fault where processor = 'gpu')
            then coalesce(sum(dur) filter (what = 'gpu'), 0)::bigint
    end as gpu_fault_dur,
    (sum(events) filter (what = 'cpu'))::bigint as cpu_faults
from event
group by device, step
order by device, step;
