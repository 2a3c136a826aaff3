-- host_stall: long stretches of launching threads in which nothing can have taken so long. The definition is in docs/metrics.md.
-- reads: _gap, _gap_part, _host_running, _host_timeline, _long_stretch, _training_thread, host_ledger, launch_state
-- makes: host_stall, stall_cost

-- Calls of asynchronous copies that do not wait: within a device, or to and from pinned memory.
create temp table _prompt_copy as
select distinct g.launch_id as slice_id
from gpu_slice as g
inner join cpu_slice as c on c.slice_id = g.launch_id
where
    g.kind = 'memcpy'
    -- asked of every slice, and several times as fast as the expression
    and contains(c.name, 'Memcpy')
    and regexp_matches(c.name, '^(cuda|cu|hip)Memcpy\w*Async')
    and (g.copy_kind = 'd2d' or 'pinned' in (g.src_memory, g.dst_memory))
    and not 'pageable' in (g.src_memory, g.dst_memory);

-- Slices are few here: joined to all of them, their names would fill the memory.
create temp table _stretch_slice as
select slice_id, kind, name, operator_id
from cpu_slice
where
    slice_id in (
        select slice_id from _long_stretch
        union all
        select before_id from _long_stretch
        union all
        select after_id from _long_stretch
    );

create temp table _stretch as
select
    s.place, s.thread_id, s.ts, s.ts_end, s.slice_id, s.activity,
    coalesce(c.kind, '') as kind,
    coalesce(c.name, '') as name,
    -- ranges of steps are numbered
    regexp_replace(coalesce(c.name, ''), '\d+', '#', 'g') as unnumbered,
    s.before_id,
    s.after_id,
    -- between any two nodes of autograd its engine does the same
    regexp_replace(coalesce(bc.name, ''), '^(autograd::engine::evaluate_function: ).*', '\1') as before_name,
    regexp_replace(coalesce(ac.name, ''), '^(autograd::engine::evaluate_function: ).*', '\1') as after_name,
    c.operator_id,
    r.ts is not null as is_off_core
from _long_stretch as s
left join _stretch_slice as c on c.slice_id = s.slice_id
left join _stretch_slice as bc on bc.slice_id = s.before_id
left join _stretch_slice as ac on ac.slice_id = s.after_id
-- off the CPU in no call of the operating system, where those are recorded: nothing that the thread asked for
left join (
    from _host_running
    where state = 'off' and thread_id in (select thread_id from cpu_slice where kind = 'os')
) as r on r.thread_id = s.thread_id and r.ts = s.ts
where
    -- what waits, works or loads by its nature may take any time, and so may what Python calls that is not written in it
    (s.activity in ('none', 'launch', 'operator', 'annotation', 'python') or r.ts is not null and s.activity = 'off')
    and (
        coalesce(c.kind, '') in ('op', 'runtime', 'annotation', '')
        or c.kind = 'python' and not starts_with(c.name, '<')
    )
    -- a copy holds the host where its memory on the host is pageable
    and (not regexp_matches(coalesce(c.name, ''), '^(cuda|cu|hip)Memcpy') or c.slice_id in (from _prompt_copy))
    and not regexp_matches(coalesce(c.name, ''), '^(cuda|cu|hip)(Graph|Stream(Create|Destroy|BeginCapture|EndCapture)|Event(Create|Destroy)|Init|Ctx|DevicePrimaryCtx|SetDevice|HostRegister|IpcOpen|Mem(Alloc|Free|Host|Prefetch|Advise|Map|Pool|Create|Get|Set))')
    -- the profiler's own work and the loading of code are told beside a call
    and 'overhead' not in (coalesce(bc.kind, ''), coalesce(ac.kind, ''));

-- A thread with nothing open, or in Python only, has no work where another thread that launches, of its process, begins some
-- meanwhile: autograd's between two backward passes, the training thread during one, a loader's between two batches.
create temp table _idle_stretch as
with
launching as (
    select t.thread_id, dense_rank() over (order by t.pid) as process
    from thread as t
    where t.thread_id in (select c.thread_id from gpu_slice as g inner join cpu_slice as c on c.slice_id = g.launch_id union from _training_thread)
),

beside as (
    select s.place, s.ts, s.ts_end, s.thread_id, h.process
    from _stretch as s
    inner join launching as h on h.thread_id = s.thread_id
    where
        s.kind in ('annotation', 'python', '') and not s.is_off_core
        and h.process in (select process from launching group by process having count(*) > 1)
),

begun as (
    select h.process, c.thread_id, c.ts
    from cpu_slice as c
    inner join launching as h on h.thread_id = c.thread_id
    where c.kind in ('op', 'runtime', 'annotation', 'python') and h.process in (select process from beside)
),

-- what the process begins next, on whichever thread: with each of thousands of threads, they would be pairs without number
next_begun as (
    select b.*, w.thread_id as next_thread_id
    from beside as b
    asof inner join begun as w on w.process = b.process and b.ts < w.ts
    where w.ts < b.ts_end
),

-- a slice without a length may begin on the thread itself
other as (
    select b.place, b.ts, b.ts_end, o.thread_id
    from next_begun as b
    inner join launching as o on o.process = b.process and o.thread_id <> b.thread_id
    where b.next_thread_id = b.thread_id
)

select place
from next_begun
where next_thread_id <> thread_id
union
select o.place
from other as o
asof inner join begun as w on w.thread_id = o.thread_id and o.ts < w.ts
where w.ts < o.ts_end;

delete from _stretch
where place in (from _idle_stretch) and kind in ('annotation', 'python', '') and not is_off_core;

-- A call that waits while the GPU has next to nothing to do works itself: off its core, in no call of the operating system, it stands
-- still.
insert into _stretch by name
with
off_core as (
    select thread_id, ts, lead(ts) over (partition by thread_id order by ts) as ts_end, state
    from _host_running
    where thread_id in (select thread_id from cpu_slice where kind = 'os')
),

held as (
    select s.place, s.thread_id, o.ts, o.ts_end, s.slice_id, s.activity, c.kind, c.name, c.operator_id
    from _long_stretch as s
    inner join cpu_slice as c on c.slice_id = s.slice_id
    inner join off_core as o on o.thread_id = s.thread_id and o.ts >= s.ts and o.ts_end <= s.ts_end
    where o.state = 'off' and o.ts_end - o.ts >= 1000000 and c.kind = 'runtime' and s.activity = 'synchronization'
),

busy as (
    select h.thread_id, h.ts, sum(least(g.ts_end, h.ts_end) - greatest(g.ts, h.ts)) as dur
    from held as h
    inner join gpu_slice as g on g.ts < h.ts_end and g.ts_end > h.ts
    group by h.thread_id, h.ts
)

select h.*, true as is_off_core
from held as h
left join busy as b using (thread_id, ts)
where coalesce(b.dur, 0) <= 0.05 * (h.ts_end - h.ts);

-- A call or operator is new where its name, or that of the kernel launched next on the thread, is: then it sets up, loads or compiles.
create temp table _new_stretch as
with
first_of_name as (
    select c.kind, c.name, min(c.ts) as ts
    from cpu_slice as c
    where (c.kind, c.name) in (select (kind, name) from _stretch)
    group by c.kind, c.name
),

launched as (
    select c.thread_id, c.ts_end, g.device, g.name, g.slice_id, g.ts
    from gpu_slice as g
    inner join cpu_slice as c on c.slice_id = g.launch_id
    where g.kind = 'kernel' and c.thread_id in (select thread_id from _stretch)
),

next_launch as (
    select s.place, l.device, l.name, l.ts
    from _stretch as s
    asof inner join launched as l on l.thread_id = s.thread_id and s.ts <= l.ts_end
    left join cpu_slice as o on o.slice_id = s.operator_id
    -- of the same operator, or the call itself
    where l.ts_end <= coalesce(o.ts_end, s.ts_end + 100000)
),

first_kernel as (
    select device, name, min(ts) as ts
    from gpu_slice
    where (device, name) in (select (device, name) from next_launch)
    group by device, name
)

select s.place
from _stretch as s
inner join cpu_slice as c on c.slice_id = s.slice_id
inner join first_of_name as f on f.kind = c.kind and f.name = c.name and f.ts = c.ts
where s.kind in ('op', 'runtime')
union
select n.place
from next_launch as n
inner join first_kernel as f using (device, name, ts);

-- How long stretches in slices of these names are as a rule; of many so many as need be looked at. With the two neighbours where there is
-- no call that tells what the thread is at.
create temp table _usual_stretch as
with
named as (
    select distinct kind, name
    from _stretch
    where kind in ('op', 'runtime', 'python')
),

many as (
    select c.kind, c.name, greatest(1, count(*) // 50000)::ubigint as one_of
    from cpu_slice as c
    inner join named using (kind, name)
    group by c.kind, c.name
),

-- by themselves first: joined to the timeline, all slices would be the many
chosen as materialized (
    select c.slice_id, c.kind, c.name
    from cpu_slice as c
    inner join many as m using (kind, name)
    where hash(c.slice_id) % m.one_of = 0
),

stretch as (
    -- the first row of a thread begins with time itself, from which nothing can be subtracted; it is in no slice
    select c.kind, c.name, t.next_ts - greatest(t.ts, -4611686018427387904) as dur
    from (
        select slice_id, thread_id, ts, lead(ts) over () as next_ts, lead(thread_id) over () as next_thread_id
        from _host_timeline
    ) as t
    inner join chosen as c using (slice_id)
    where t.next_thread_id = t.thread_id
)

select kind, name, count(*) as stretches, median(dur) as usual
from stretch
group by kind, name;

create temp table _usual_between as
with
between as (
    select distinct unnumbered as name, before_name, after_name
    from _stretch
    where kind in ('annotation', '')
),

many as (
    select name, regexp_replace(name, '^(autograd::engine::evaluate_function: ).*', '\1') as before_name, greatest(1, slices // 50000)::ubigint as one_of
    from (select name, count(*) as slices from cpu_slice group by name)
    where before_name in (select before_name from between)
),

before as materialized (
    select c.slice_id as before_id, m.before_name
    from cpu_slice as c
    inner join many as m using (name)
    where hash(c.slice_id) % m.one_of = 0
),

stretch as (
    select p.next_ts - greatest(p.ts, -4611686018427387904) as dur, b.before_name, p.slice_id, p.after_id
    from (
        select
            slice_id as before_id,
            thread_id,
            lead(ts) over () as ts,
            lead(slice_id) over () as slice_id,
            lead(ts, 2) over () as next_ts,
            lead(slice_id, 2) over () as after_id,
            lead(thread_id, 2) over () as next_thread_id
        from _host_timeline
    ) as p
    inner join before as b using (before_id)
    where p.next_thread_id = p.thread_id
)

select
    regexp_replace(coalesce(c.name, ''), '\d+', '#', 'g') as name,
    s.before_name,
    regexp_replace(a.name, '^(autograd::engine::evaluate_function: ).*', '\1') as after_name,
    count(*) as stretches,
    median(s.dur) as usual
from stretch as s
left join cpu_slice as c on c.slice_id = s.slice_id
inner join cpu_slice as a on a.slice_id = s.after_id
where (regexp_replace(coalesce(c.name, ''), '\d+', '#', 'g'), s.before_name, regexp_replace(a.name, '^(autograd::engine::evaluate_function: ).*', '\1')) in (select (name, before_name, after_name) from between)
group by all;

insert into host_stall by name
with
queued as (
    select g.launch_id as slice_id, max(l.queue_depth) as queue_depth
    from launch_state as l
    inner join gpu_slice as g using (slice_id)
    where g.launch_id in (select slice_id from _stretch)
    group by g.launch_id
),

judged as (
    select
        s.*,
        case when s.is_off_core then 'off_core' when s.kind in ('op', 'runtime') then 'call' when s.kind = 'python' then 'python' else 'between' end as place_of,
        if(s.is_off_core, 0, coalesce(u.usual, b.usual)) as usual,
        s.is_off_core or coalesce(u.stretches >= 10, b.stretches >= 5) as is_known,
        q.queue_depth
    from _stretch as s
    left join _usual_stretch as u using (kind, name)
    left join _usual_between as b
        on s.kind in ('annotation', '') and b.name = s.unnumbered and b.before_name = s.before_name and b.after_name = s.after_name
    left join queued as q on q.slice_id = s.slice_id
),

stalled as (
    select *
    from judged
    where
        is_known
        and usual <= 50000
        and ts_end - ts >= 20 * greatest(usual, 1)
        -- a launch waits for room where the queue is full, which it is not when the device runs dry before the launch returns
        and (coalesce(queue_depth < 256, true) or slice_id in (select launch_slice_id from _gap where launched > ts))
        and place not in (from _new_stretch)
),

-- Places between calls that are there too seldom to know them, for no longer than calls stand still.
elsewhere as (
    select * replace ('elsewhere' as place_of, null as usual)
    from judged
    where
        place_of = 'between'
        and not coalesce(is_known, false)
        and thread_id in (from _training_thread)
        and ts_end - ts <= (select max(ts_end - ts) from stalled where place_of = 'call' having count(*) >= 5)
),

-- A core that is taken away is missed everywhere alike: they count where calls stand still at least half as often for their time.
rate as (
    select
        sum(dur) filter (category in ('operator', 'launch')) as in_calls,
        sum(dur) filter (category in ('annotation', 'none')) as between_calls,
        (select sum(ts_end - ts) from stalled where place_of = 'call' and thread_id in (from _training_thread)) as stalled_in_calls,
        (select sum(ts_end - ts) from stalled where place_of = 'between' and thread_id in (from _training_thread)) as stalled_between,
        (select sum(ts_end - ts) from elsewhere) as stalled_elsewhere
    from host_ledger
),

counted as (
    from stalled
    union all
    select e.*
    from elsewhere as e
    inner join rate as r on r.stalled_in_calls / r.in_calls >= 0.5 * (coalesce(r.stalled_between, 0) + r.stalled_elsewhere) / r.between_calls
)

select
    $trace_id as trace_id,
    row_number() over (order by thread_id, ts) - 1 as stall_id,
    thread_id, slice_id, ts,
    ts_end - ts as dur,
    usual::bigint as usual,
    place_of as place,
    place_of = 'call' and regexp_matches(
        name,
        '^aten::(view(_as)?|_?reshape(_alias)?|_unsafe_view|as_strided|expand(_as)?|slice|select|narrow|detach_?|t|transpose|permute|unsqueeze|squeeze|split(_with_sizes)?|chunk|unbind|unfold|alias|flatten|empty(_like|_strided)?|new_empty|result_type|lift_fresh)$'
        || '|^record_param_comms$'
        || '|^(cuda|cu|hip)(Event(Record|Query)|Stream(IsCapturing|WaitEvent|Query|GetCaptureInfo)|FuncSetAttribute|FuncGetAttributes|OccupancyMax|Get(Device|LastError)$|PeekAtLastError|DeviceGetAttribute|PointerGetAttribute)'
    ) as does_nothing
from counted;

insert into stall_cost by name
with
overlap as (
    select s.stall_id, p.gap_id, p.cause, least(p.ts_end, s.ts_end) - greatest(p.ts, s.ts) as dur
    from host_stall as s
    inner join _gap_part as p on p.slice_id = s.slice_id and p.ts < s.ts_end and p.ts_end > s.ts
    union all
    -- where nothing is open on the thread that is late, the training thread says what the program is at
    select s.stall_id, p.gap_id, p.cause, least(p.ts_end, s.ts_end) - greatest(p.ts, s.ts)
    from _gap_part as p
    inner join _gap as g using (gap_id)
    asof inner join (from host_stall where slice_id is null) as s on s.thread_id = g.thread_id and s.ts < p.ts_end
    left join cpu_slice as c on c.slice_id = p.slice_id
    where
        s.ts_end > p.ts
        and (
            p.slice_id is null and p.cause = 'idle_unattributed'
            or c.thread_id <> g.thread_id and p.cause in ('idle_python', 'idle_launch')
        )
)

select $trace_id as trace_id, stall_id, cause, gap_id, sum(dur)::bigint as dur
from overlap
group by stall_id, gap_id, cause
order by stall_id, gap_id, cause;
