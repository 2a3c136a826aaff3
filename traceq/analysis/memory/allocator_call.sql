-- allocator_call: the calls that host_name knows as allocation. The driver's inside the runtime's are how those work.
-- reads: step
-- makes: allocator_call

insert into allocator_call
with
allocating as (
    select slice_id, parent_id, thread_id, name, ts, dur
    from cpu_slice
    where kind = 'runtime' and name in (select name from host_name where kind = 'runtime' and activity = 'allocation')
),

meaning as (
    select
        name,
        case
            when regexp_matches(name, '(?i)pool|mempool') and not regexp_matches(name, '(?i)^(cuda|hip)malloc|allocfrompool') then 'pool'
            when regexp_matches(name, '(?i)host(unregister|free)|free_?host') then 'unpin'
            when regexp_matches(name, '(?i)host') then 'pin'
            when regexp_matches(name, '(?i)free') and not regexp_matches(name, '(?i)address') then 'free'
            when regexp_matches(name, '(?i)malloc|^cuMemAlloc') then 'allocate'
            else 'map'
        end as operation
    from (select distinct name from allocating)
)

select
    $trace_id as trace_id,
    case when c.ts < s.ts_end then s.step end as step,
    c.thread_id, c.name, m.operation,
    count(*) as calls,
    sum(c.dur)::bigint as dur,
    max(c.dur) as longest
from allocating as c
inner join meaning as m using (name)
asof left join step as s on c.ts >= s.ts
where c.parent_id is null or c.parent_id not in (select slice_id from allocating)
group by all
order by step, thread_id, name;
