-- Time in which nothing that comes first in the ledger runs on a device but copies of input to it. Copies may overlap one another and
-- leave their step, so their own sums would not do: every start and end of a copy is a cut of device_activity.
-- reads: copy_overlap, device_activity
-- makes: _data_copy

create temp table _data_copy as
with
change as (
    select device, ts, sum(change) as change
    from (
        select device, unnest([ts, ts_end]) as ts, unnest([1, -1]) as change
        from gpu_slice
        where slice_id in (select slice_id from copy_overlap where copy_kind = 'h2d' and position = 'data')
    )
    group by device, ts
),

activity as (
    select
        a.device, a.step, a.dur, a.category,
        sum(coalesce(c.change, 0)) over (partition by a.device order by a.ts rows unbounded preceding) as copies
    from device_activity as a
    left join change as c on c.device = a.device and c.ts = a.ts
)

select device, step, sum(dur)::bigint as dur
from activity
where step is not null and category = 'copy_h2d' and copies > 0
group by device, step;
