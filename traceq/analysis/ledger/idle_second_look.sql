-- Where the launching thread has nothing open, as autograd's worker before its first launch, the thread that hands it work says
-- more: the training thread, else the one that launched last on this device.
-- reads: _gap, _idle_piece
-- makes: _idle_hole

create temp table _idle_hole as
with
launching as (
    select g.device, c.thread_id, c.ts
    from gpu_slice as g
    inner join cpu_slice as c on c.slice_id = g.launch_id
)

select
    row_number() over (order by p.interval_id, p.ts) as interval_id,
    g.device as lane,
    p.interval_id as gap_id,
    p.ts,
    p.ts_end,
    coalesce(nullif(g.training_thread_id, p.thread_id), nullif(l.thread_id, p.thread_id)) as thread_id
from _idle_piece as p
inner join _gap as g on g.gap_id = p.interval_id
asof left join launching as l on l.device = g.device and g.ts >= l.ts
where p.slice_id is null and p.activity in ('none', 'off');
