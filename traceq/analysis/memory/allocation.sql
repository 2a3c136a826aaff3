-- allocation: what each is, by the stack that asked for it and by how it ended, and whether it is there at the peak.
-- reads: _life, allocation_stack, memory_peak, step
-- makes: allocation

insert into allocation by name
with
-- how often something else than the forward was done before an event: what outlives that is no scratch memory of a layer
away as (
    select e.device, e.number, (sum((s.phase is distinct from 'forward')::integer) over (partition by e.device order by e.number rows unbounded preceding))::bigint as times
    from allocator_event as e
    inner join allocation_stack as s using (stack_id)
),

told as (
    select
        l.*, a.phase, a.says,
        f.phase as free_phase,
        f.says as free_says,
        w.times is distinct from v.times as is_kept_beyond
    from _life as l
    left join allocation_stack as a on a.stack_id = l.stack_id
    left join allocation_stack as f on f.stack_id = l.free_stack_id
    left join away as w on w.device = l.device and w.number = l.event
    left join away as v on v.device = l.device and v.number = coalesce(l.event_free, l.event_end)
),

-- a round begins with the first forward after a backward or an optimizer
round as (
    select device, number, (sum((phase = 'forward' and coalesce(before in ('backward', 'optimizer'), false))::integer) over (partition by device order by number rows unbounded preceding))::bigint as round
    from (
        select e.device, e.number, s.phase, lag(s.phase) over (partition by e.device order by e.number) as before
        from allocator_event as e
        inner join allocation_stack as s using (stack_id)
        where s.phase in ('forward', 'backward', 'optimizer')
    )
),

rounds as (select device, max(round) as rounds from round group by device),

last_event as (
    select e.device, arg_max(s.phase, e.number) as phase
    from allocator_event as e
    inner join allocation_stack as s using (stack_id)
    group by e.device
)

select
    $trace_id as trace_id,
    row_number() over (order by t.device, t.event nulls first, t.address) - 1 as allocation_id,
    t.device, t.address, t.segment_id, t.bytes, t.requested_bytes, t.stream, t.event, t.ts, t.event_free, t.ts_free,
    t.event_end, t.ts_end, t.stack_id, t.free_stack_id, t.compile_context, t.phase,
    case
        when t.says is not null and not (t.says = 'activations' and coalesce(t.free_says, '') = 'activations') then t.says
        when t.says is not null then 'temporary'
        when t.phase = 'forward' then if(t.free_phase = 'forward' and not t.is_kept_beyond, 'temporary', 'activations')
        when t.phase = 'optimizer' then if(t.free_phase = 'optimizer', 'temporary', 'optimizer')
        when t.phase = 'data' then 'inputs'
        when t.phase = 'init' then if(t.free_phase = 'init', 'temporary', 'parameters')
        when t.phase = 'backward' and t.free_phase = 'backward' then 'temporary'
        -- a snapshot taken inside the backward shows scratch memory that is not freed yet
        when t.phase = 'backward' and (t.free_phase is not null or (t.event_end is null and e.phase is distinct from 'backward')) then 'gradients'
    end as category,
    case when t.ts < s.ts_end then s.step end as step,
    case when n.rounds > 0 and t.event is not null then coalesce(r.round, 0) end as round,
    coalesce(t.event, -1) <= coalesce(p.number, -1) and coalesce(t.event_end > coalesce(p.number, -1), true) as at_peak,
    t.is_lost
from told as t
left join memory_peak as p on p.device = t.device
left join last_event as e on e.device = t.device
left join rounds as n on n.device = t.device
asof left join round as r on r.device = t.device and t.event >= r.number
asof left join step as s on t.ts >= s.ts
order by t.device, t.event nulls first, t.address;
