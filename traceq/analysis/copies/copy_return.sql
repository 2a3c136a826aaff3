-- Bytes that go to the host and come back within a step. Among copies of one size a d2h copy that ends is put into a queue, an h2d copy that
-- is asked for takes the oldest, or none when the queue is empty.
-- reads: _copy
-- makes: _copy_return

create temp table _copy_return as
with
event as (
    select
        slice_id, step, device,
        -- not every source says which process
        coalesce(pid, -1) as pid,
        bytes,
        if(direction = 'd2h', ts_end, launched) as ts,
        if(direction = 'd2h', 1, -1) as change
    from _copy
    where
        copy_kind in ('h2d', 'd2h')
        and step is not null
        and bytes > 0
        and (copy_kind = 'd2h' or launched is not null)
),

balanced as (
    select *, sum(change) over alike as balance
    from event
    -- what ends at that instant has ended
    window alike as (partition by step, device, pid, bytes order by ts, change desc, slice_id rows unbounded preceding)
),

-- Each new low of the balance is an h2d copy that found nothing.
counted as (
    select
        *,
        -least(0, min(balance) over alike) as in_vain,
        sum(if(change = 1, 1, 0)) over alike as put,
        sum(if(change = -1, 1, 0)) over alike as asked
    from balanced
    window alike as (partition by step, device, pid, bytes order by ts, change desc, slice_id rows unbounded preceding)
),

taken as (
    select *, asked - in_vain as number
    from counted
    qualify
        change = -1
        and in_vain = lag(in_vain, 1, 0) over (
            partition by step, device, pid, bytes order by ts, change desc, slice_id
        )
)

select t.slice_id, c.slice_id as returns_slice_id
from taken as t
inner join counted as c
    on c.step = t.step and c.device = t.device and c.pid = t.pid and c.bytes = t.bytes and c.put = t.number
where c.change = 1;
