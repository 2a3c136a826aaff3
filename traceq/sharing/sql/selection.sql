-- What of a trace belongs to the time from $ts to $ts_end: what runs, waits in a queue or is launched then, and of what lies
-- around it as much as the ledger of that time is worked out from. Slices are kept whole. _kept holds their ids.

create temp table _gpu as
select g.slice_id, g.pid, g.device, g.context, g.stream, g.ts, g.ts_end, g.launch_id, g.correlation_id, c.ts as launched, c.ts_end as launch_end
from gpu_slice as g
left join cpu_slice as c on c.trace_id = g.trace_id and c.slice_id = g.launch_id
where g.trace_id = $trace_id;

create temp table _kept_gpu as
-- runs in it, was launched in it, or waits in a queue then
select slice_id
from _gpu
where (least(ts, launched) < $ts_end and (ts_end > $ts or ts = $ts)) or (launched >= $ts and launched < $ts_end)
union
-- what ends the last gap of each device, and what of it was launched, for what nobody launched waits for that
select slice_id
from (
    select slice_id
    from _gpu
    where ts >= $ts_end
    qualify rank() over (partition by device order by ts) = 1
)
union
select slice_id
from (
    select slice_id
    from _gpu
    where ts >= $ts_end and launch_id is not null
    qualify rank() over (partition by device order by ts) = 1
)
union
-- the last of each stream before it: what comes next is not the first work of the stream
select slice_id
from (
    select slice_id
    from _gpu
    where ts < $ts
    qualify row_number() over (partition by pid, device, context, stream order by ts desc, slice_id desc) = 1
)
union
-- what was launched last before it on each stream: a wait for an event of the stream waits for that
select slice_id
from (
    select slice_id
    from _gpu
    where launched < $ts
    qualify row_number() over (partition by device, stream order by launched desc, ts_end desc, slice_id desc) = 1
)
union
select slice_id
from (
    select slice_id
    from _gpu
    where launched < $ts
    qualify row_number() over (partition by device order by launched desc, slice_id desc) = 1
);

-- Waits for events that what is kept was told to wait, and what they waited for.
create temp table _kept_wait as
select w.slice_id, w.waited_for_id
from stream_wait as w
where
    w.trace_id = $trace_id
    and (w.next_slice_id in (from _kept_gpu) or w.ts >= $ts and w.ts < $ts_end);

insert into _kept_gpu
select waited_for_id
from _kept_wait
where waited_for_id is not null and waited_for_id not in (from _kept_gpu);

-- Work that seems to wait for what was launched before the capture: what shows that it does not.
insert into _kept_gpu
select arg_max(before.slice_id, before.ts_end)
from (
    select *
    from _gpu
    qualify row_number() over (partition by pid, device, context, stream order by ts, slice_id) = 1
) as first_work
inner join _gpu as before on before.launched < first_work.launched and before.ts_end > first_work.launch_end
where
    first_work.ts - first_work.launch_end > 1000000
    and first_work.ts < $ts_end
    and first_work.launched < $ts
group by first_work.slice_id;

-- A launch with all that it launched: a graph is many slices.
insert into _kept_gpu
select slice_id
from _gpu
where
    launch_id in (select launch_id from _gpu where slice_id in (from _kept_gpu) and launch_id is not null)
    and slice_id not in (from _kept_gpu);

create temp table _kept_synchronization as
select slice_id, wait_on_correlation_id
from synchronization
where
    trace_id = $trace_id
    and ((ts < $ts_end and (ts + dur > $ts or ts = $ts)) or slice_id in (select slice_id from _kept_wait));

create temp table _kept_host as
select slice_id
from cpu_slice
where trace_id = $trace_id and ts < $ts_end and (ts_end > $ts or ts = $ts)
union
-- A correlation id that several processes use belongs to none: so all calls of it are kept.
select slice_id
from cpu_slice
where
    trace_id = $trace_id
    and kind = 'runtime'
    and correlation_id in (
        select correlation_id from _gpu where slice_id in (from _kept_gpu)
        union all
        select wait_on_correlation_id from _kept_synchronization
    )
union
select launch_id from _gpu where slice_id in (from _kept_gpu) and launch_id is not null
union
-- The last calls of each process before it that say what may still be in the queue, and where unified memory was asked for.
select slice_id
from (
    select c.slice_id
    from cpu_slice as c
    inner join thread as t on t.trace_id = c.trace_id and t.thread_id = c.thread_id
    where
        c.trace_id = $trace_id
        and c.kind = 'runtime'
        and c.ts_end <= $ts
        and regexp_matches(
            c.name,
            '^(cuda|cu|hip)(DeviceSynchronize|CtxSynchronize|HostAlloc|MallocHost|MemAllocHost|HostMalloc|FreeHost|Free)(_v\d+)?$'
        )
    qualify row_number() over (partition by t.pid order by c.ts_end) = 1
)
union
select slice_id
from (
    select c.slice_id
    from cpu_slice as c
    inner join thread as t on t.trace_id = c.trace_id and t.thread_id = c.thread_id
    where
        c.trace_id = $trace_id
        and c.kind = 'runtime'
        and c.ts < $ts
        and regexp_matches(c.name, '^(cuda|cu|hip)MemPrefetch')
    qualify row_number() over (partition by t.pid order by c.ts desc, c.slice_id desc) = 1
);

-- Operators that the numbers of autograd's graph tell forward from backward by: those of the time and the next before it and after
-- it on each thread, with all that have the same numbers, whenever that was.
create temp table _numbered as
select
    c.slice_id,
    c.thread_id,
    t.pid,
    c.ts,
    c.ts_end,
    c.name like 'autograd::engine%' or c.name like '%Backward%' as is_backward,
    try_cast(try(json_extract_string(c.args, '$."Sequence number"')) as bigint) as number
from cpu_slice as c
inner join thread as t on t.trace_id = c.trace_id and t.thread_id = c.thread_id
where c.trace_id = $trace_id and c.kind = 'op' and contains(c.args, '"Sequence number"');

insert into _kept_host
with
near as (
    select pid, number, slice_id from _numbered where slice_id in (from _kept_host)
    union all
    select pid, number, slice_id
    from (
        select * from _numbered where ts_end <= $ts
        qualify row_number() over (partition by thread_id, is_backward order by ts_end desc) = 1
    )
    union all
    select pid, number, slice_id
    from (
        select * from _numbered where ts >= $ts_end
        qualify row_number() over (partition by thread_id, is_backward order by ts) = 1
    )
)

select slice_id
from _numbered
where
    (slice_id in (select slice_id from near) or (coalesce(pid, -1), number) in (select coalesce(pid, -1), number from near))
    and slice_id not in (from _kept_host);

-- What is around them.
insert into _kept_host
with recursive
around as (
    select parent_id as slice_id
    from cpu_slice
    where trace_id = $trace_id and slice_id in (from _kept_host) and parent_id is not null
    union
    select c.parent_id
    from around as a
    inner join cpu_slice as c on c.trace_id = $trace_id and c.slice_id = a.slice_id
    where c.parent_id is not null
)

select slice_id from around where slice_id not in (from _kept_host);

-- What threads and processes are is told by the kinds of their slices, and the training thread is one by having some at all: the
-- next to the time.
insert into _kept_host
select slice_id
from (
    select c.slice_id
    from cpu_slice as c
    where
        c.trace_id = $trace_id
        and c.thread_id in (
            select thread_id from cpu_slice where trace_id = $trace_id and slice_id in (from _kept_host)
            union all
            select thread_id from host_ledger where trace_id = $trace_id
        )
        and c.kind in ('op', 'python', 'runtime', 'annotation', 'os')
        and not exists (
            from cpu_slice as k
            where
                k.trace_id = $trace_id
                and k.thread_id = c.thread_id
                and k.kind <> 'overhead'
                and k.slice_id in (from _kept_host)
        )
    qualify row_number() over (partition by c.thread_id order by abs(c.ts - $ts), c.slice_id) = 1
);

create temp table _kept_annotation as
select slice_id
from gpu_annotation
where trace_id = $trace_id and ts < $ts_end and (ts + dur > $ts or ts = $ts);

create temp table _kept_event as
select slice_id
from cuda_event
where
    trace_id = $trace_id
    and (
        ts >= $ts and ts < $ts_end
        or correlation_id in (select wait_on_correlation_id from _kept_synchronization)
        or correlation_id in (select correlation_id from cpu_slice where trace_id = $trace_id and slice_id in (from _kept_host))
    );

create temp table _kept as
select slice_id from _kept_host
union select slice_id from _kept_gpu
union select slice_id from _kept_synchronization
union select slice_id from _kept_annotation
union select slice_id from _kept_event;
