-- Where in the program each copy was asked for. The context around its call decides (host_name), then a name from the list below, then
-- the phase; a batch is copied before the forward pass begins.
-- reads: _copy, _host_slice, _host_timeline, _launch, _training_thread, launch_state, step
-- makes: _copy_position

create temp table _copy_place as
select row_number() over () as number, *
from (values
    ('^aten::(item|_local_scalar_dense)(,|$)', 'item'),
    ('(?i)(^|[^a-z])(send_?recv|i?send|i?recv|p2p)([^a-z]|$)', 'pipeline'),
    ('(?i)pin_?memory|copy_?batch|(batch|inputs?|data)_?to_?(gpu|device|cuda)', 'data')
) as t (pattern, position);

create temp table _copy_position as
with
call as (
    select c.slice_id, s.operator_id, s.annotation_id, s.outer_annotation_id
    from _copy as c
    inner join cpu_slice as s on s.slice_id = c.launch_id
),

around as (
    select slice_id, name
    from cpu_slice
    where slice_id in (
        select operator_id from call union select annotation_id from call union select outer_annotation_id from call
    )
),

meaning as (
    select n.name, min(p.number) as number
    from (select distinct name from around) as n
    inner join _copy_place as p on regexp_matches(n.name, p.pattern)
    group by n.name
),

place as (
    select a.slice_id, m.number
    from around as a
    inner join meaning as m using (name)
),

named as (
    select c.slice_id, p.position
    from call as c
    left join place as o on o.slice_id = c.operator_id
    left join place as a on a.slice_id = c.annotation_id
    left join place as oa on oa.slice_id = c.outer_annotation_id
    inner join _copy_place as p on p.number = least(o.number, a.number, oa.number)
),

forward as (
    select s.step, min(t.ts) as ts
    from (select ts from _host_timeline where thread_id = (from _training_thread) and phase = 'forward') as t
    asof inner join step as s on t.ts >= s.ts
    where t.ts < s.ts_end
    group by s.step
),

-- the first work a step computes with, where nothing marks the forward pass
computing as (
    select g.step, min(l.launched) as ts
    from _launch as l
    inner join gpu_slice as g using (slice_id)
    inner join step as s on s.step = g.step
    where
        g.kind in ('kernel', 'graph')
        and not g.is_communication
        and l.thread_id = (from _training_thread)
        -- a program has a beginning, a step takes a batch
        and s.source <> 'window'
    group by g.step
)

select
    c.slice_id,
    case
        when h.activity in ('data', 'checkpoint') then h.activity
        when n.position is not null then n.position
        when l.phase <> 'other' then l.phase
        when c.direction = 'h2d' and c.thread_id = (from _training_thread) and c.launched < coalesce(f.ts, k.ts) then 'data'
        else 'other'
    end as position
from _copy as c
inner join _host_slice as h on h.slice_id = c.launch_id
inner join launch_state as l on l.slice_id = c.slice_id
left join named as n on n.slice_id = c.slice_id
left join forward as f on f.step = c.step
left join computing as k on k.step = c.step;
