-- The time of the counted steps cut into the pieces that rules lay claim to; see docs/metrics.md, "What a fix wins".

--: One row per gap of a counted step and cause: idle_gap_cause with what idle_gap knows of the gap. Per device and
--: cause the pieces add up to time_ledger, but for idle_earlier_work, which nothing can win.
create or replace view idle_piece as
select
    --: Trace.
    c.trace_id,
    --: Device.
    g.device,
    --: Step it elapsed in.
    g.step,
    --: Gap; see idle_gap.
    c.gap_id,
    --: As in idle_gap_cause.
    c.cause,
    --: Where the cause begins first in the gap, ns.
    c.ts,
    --: Time of this cause in the gap, ns.
    c.dur,
    --: The host slice with the most time of this cause; NULL when none was open.
    c.cpu_slice_id,
    --: The time in that slice itself, ns; NULL where the host was not late, or in no slice.
    c.slice_dur,
    --: As in idle_gap.
    g.thread_id,
    --: gpu_slice that ends the gap; NULL for none.
    g.next_slice_id,
    --: cpu_slice of the call that launched it; NULL when unknown.
    g.launch_slice_id,
    --: cpu_slice of the synchronizing call that held the host when the device ran dry; NULL for none.
    g.drained_by,
    --: As in idle_gap: cpu_slice of the synchronizing call whose delay the host had not made up; NULL for none.
    g.late_after
from idle_gap_cause as c
inner join idle_gap as g using (trace_id, gap_id)
inner join step as s using (trace_id, step)
where
    s.excluded is null
    -- the device works, on what the trace does not hold: nothing to win
    and c.cause <> 'idle_earlier_work';

--: One row per GPU slice launched in a counted step: the time for which it alone is to account.
create or replace view busy_piece as
with
counted as (
    select trace_id, step
    from step
    where excluded is null
),

-- Memsets have no table of their own: their time in the ledger is shared out by their durations.
memset as (
    select g.trace_id, g.device, sum(g.dur) as dur
    from gpu_slice as g
    inner join counted using (trace_id, step)
    where g.kind = 'memset'
    group by g.trace_id, g.device
),

exposed_memset as (
    select l.trace_id, l.device, sum(l.dur) as dur
    from time_ledger as l
    inner join counted using (trace_id, step)
    where l.category = 'memset'
    group by l.trace_id, l.device
)

select
    --: Trace.
    g.trace_id,
--: Device.
g.device,
--: Step it was launched in.
g.step,
--: The gpu_slice.
g.slice_id,
--: Its category in time_ledger: compute, communication, copy_h2d, copy_d2h, copy_other or memset.
p.category,
--: Start, ns.
g.ts,
--: Duration, ns.
g.dur,
--: Kernels: kernel_occupancy.exclusive_dur; communication and copies: their exposed time; memsets: their share of the
--: time in which nothing else ran, ns.
p.ledger_dur,
--: Stream; NULL when the source does not say.
g.stream,
--: Name of the slice.
g.name,
--: cpu_slice of the launching call; NULL when it is not in the trace.
g.launch_id
from (
    select k.trace_id, k.slice_id, 'compute' as category, k.exclusive_dur as ledger_dur
    from kernel_occupancy as k
    inner join gpu_slice as c using (trace_id, slice_id)
    where not c.is_communication
    union all
    select trace_id, slice_id, 'compute', dur
    from gpu_slice
    where kind = 'graph'
    union all
    select trace_id, slice_id, 'communication', exposed
    from collective_slice
    union all
    select trace_id, slice_id, category, exposed
    from copy_overlap
    union all
    select m.trace_id, m.slice_id, 'memset', m.dur * e.dur / a.dur
    from gpu_slice as m
    inner join memset as a using (trace_id, device)
    inner join exposed_memset as e using (trace_id, device)
    where m.kind = 'memset' and a.dur > 0
) as p
inner join gpu_slice as g using (trace_id, slice_id)
inner join counted using (trace_id, step);

--: One row per gap of a counted step, cause and host slice that filled part of it, with what is around the slice:
--: idle_culprit by name. Sums by any of these columns add up to idle_piece, but for what has no slice.
create or replace view culprit as
select
    k.trace_id,
    --: Device.
    g.device,
    --: Step it elapsed in.
    g.step, k.gap_id, k.cause, k.slice_id, k.dur,
    --: cpu_slice.kind of the slice.
    c.kind,
    --: Name of the slice.
    c.name,
    --: Innermost operator around the slice, or the slice itself; NULL for none.
    if(c.kind = 'op', c.name, o.name) as operator,
    --: Innermost annotation around the slice, or the slice itself; NULL for none.
    if(c.kind = 'annotation', c.name, a.name) as annotation,
    --: Innermost nn.Module around the slice, or the slice itself; NULL for none.
    if(_is_module(c.kind, c.name), c.name, m.name) as module,
    --: Innermost Python frame around the slice, or the slice itself, that is of a file neither of PyTorch nor of the
    --: standard library's threads and decorators; NULL for none.
    if(_is_line(c.kind, c.name), c.name, l.name) as line,
    --: data, forward, backward, optimizer, or other where nothing around the slice names it.
    coalesce(own.phase, h.phase, 'other') as phase
from idle_culprit as k
inner join idle_gap as g using (trace_id, gap_id)
inner join step as s using (trace_id, step)
inner join cpu_slice as c on c.trace_id = k.trace_id and c.slice_id = k.slice_id
left join cpu_slice as o on o.trace_id = k.trace_id and o.slice_id = c.operator_id
left join cpu_slice as a on a.trace_id = k.trace_id and a.slice_id = c.annotation_id
left join cpu_slice as m on m.trace_id = k.trace_id and m.slice_id = c.module_id
left join cpu_slice as l on l.trace_id = k.trace_id and l.slice_id = c.line_id
left join cpu_slice as p on p.trace_id = k.trace_id and p.slice_id = c.phase_id
left join host_name as h on h.trace_id = k.trace_id and h.kind = p.kind and h.name = p.name
left join host_name as own on own.trace_id = k.trace_id and own.kind = c.kind and own.name = c.name
where s.excluded is null and k.cause <> 'idle_earlier_work';

--: One row per device, cause of idle time and place of the host, by slice, operator, annotation, module, line or phase:
--: how much of it the host spent there.
create or replace view culprit_time as
select
    --: Trace.
    trace_id,
--: Device.
device,
--: As in idle_gap_cause.
cause,
--: slice (the innermost itself), operator, annotation, module, line or phase: the innermost around it.
what,
--: Its name; NULL for the time in which there was none.
name,
--: Idle time, ns.
sum(dur)::bigint as dur,
--: Of the time of its device, cause and what that has a slice, 0 to 1.
sum(dur) / sum(sum(dur)) over (partition by trace_id, device, cause, what) as share
from (
    select
        trace_id, device, cause, dur,
        unnest(['slice', 'operator', 'annotation', 'module', 'line', 'phase']) as what,
        unnest([name, operator, annotation, module, line, phase]) as name
    from culprit
)
group by trace_id, device, cause, what, name;

-- The host slices in claims on idle time (columns gap_id, cause, claimed) with the time of each; of many small ones every so many, for all
-- of them. A row without a slice has what no slice explains.
create or replace macro _culprits(of_trace, claims) as table
with
_claim as (
    select gap_id, cause, sum(claimed::decimal(18, 3))::double as claimed
    from query_table(claims)
    where gap_id is not null and claimed > 0
    group by gap_id, cause
),

_part as (
    select k.gap_id, k.cause, k.slice_id, k.dur * p.claimed / c.dur as dur
    from idle_culprit as k
    inner join _claim as p using (gap_id, cause)
    inner join idle_gap_cause as c using (trace_id, gap_id, cause)
    where k.trace_id = of_trace and c.dur > 0
),

_ranked as (
    select *, dur * 20000 < (select sum(claimed) from _claim) as is_small
    from _part
),

_chosen as (
    select *, hash(slice_id) % greatest(1, (select count_if(is_small) // 20000 from _ranked)) = 0 as is_chosen
    from _ranked
)

select slice_id, sum(dur) as dur
from (
    select slice_id, dur * if(is_small, (select sum(dur) / sum(dur) filter (is_chosen) from _chosen where is_small), 1) as dur
    from _chosen
    where is_chosen or not is_small
)
group by slice_id
union all
select null, greatest(0, (select sum(claimed) from _claim) - coalesce((select sum(dur) from _part), 0));

-- Names of functions without types of parameters and results: 'void a::b<int>(int, float)' is 'a::b'.
create or replace macro _function_name(symbol) as
regexp_extract(
    regexp_replace(
        regexp_replace(regexp_replace(regexp_replace(replace(symbol, '(anonymous namespace)', '{anonymous}'), '<[^<>]*>', '', 'g'), '<[^<>]*>', '', 'g'), '<[^<>]*>', '', 'g'),
        '(<[^<>]*>|\(.*|\[.*|@.*)', '', 'g'
    ),
    '(operator ?[^ ]+|[^ ]+)$'
);

-- What a function does, by the names that libraries give theirs: text (formatting, parsing, reading and writing), waiting (for others, by
-- asking again and again), memory (filling, copying, allocating), driver (of the GPU), python (the interpreter), or own.
create or replace macro _function_work(symbol, module) as
case
    when symbol = '' and (module = '' or regexp_matches(module, '^(lib(c|dl|rt|pthread|stdc\+\+)[-.]|ld[-.]|\[)')) then null
    when regexp_matches(symbol, 'printf|scanf|strto[dflu]|^_IO_|[io]stream|streambuf|num_(put|get)|dtoa|^__mpn_|hack_digit|itoa|f(write|read)|put[cs]|get(c|line)|PyUnicode_F|PyUnicodeWriter|PyOS_double_to|PyFile_|(to|from)_chars|^(__)?(libc_)?(write|read|fsync)$')
        then 'text'
    when regexp_matches(symbol, 'sched_yield|_progress|[Bb]arrier|spin|^P?MPI|MPI[RD]_|^(omp_|__?kmp|GOMP|gomp)|_poll$|^poll')
        then 'waiting'
    when
        regexp_matches(symbol, 'mem(cpy|set|move)|(m|c|re)alloc|^(cfree|free|__libc_free)|operator (new|delete)|_int_free|clear_page|page_fault|std::(vector|_Vector|_Construct|_Destroy|allocator|__uninit|new_allocator)')
        then 'memory'
    when regexp_matches(module, '^lib(cuda|nvidia|hip|amdhip|hsa|nvrtc)') then 'driver'
    when regexp_matches(module, '^(lib)?python\d') or regexp_matches(symbol, '^_?Py[A-Z_]') then 'python'
    else 'own'
end;

--: One row per gap of a counted step, cause and function: idle_sample with names as they are read.
create or replace view idle_function as
select
    s.trace_id,
    --: Device.
    g.device,
    --: Step it elapsed in.
    g.step, s.gap_id, s.cause, s.slice_id,
    --: The program's own function; where there is none in the call chain the innermost whose name is known, else its
    --: file. Without the types of parameters and results.
    coalesce(_function_name(s.caller), _function_name(s.symbol), s.module) as name,
    --: Innermost function whose name is known, else its file.
    coalesce(_function_name(s.symbol), s.module) as innermost,
    --: What the innermost function does, by its name: text (formatting, parsing, reading, writing), waiting (asking
    --: again and again), memory (filling, copying, allocating), driver (of the GPU), python (the interpreter), or own;
    --: NULL where only a library of the system is known.
    _function_work(coalesce(s.symbol, ''), coalesce(s.module, '')) as work,
    s.samples
from idle_sample as s
inner join idle_gap as g using (trace_id, gap_id)
inner join step as t using (trace_id, step)
where t.excluded is null;

--: One row per gap: the stack of the host slice that has most time of its cause; where no slice has, the stack of the thread
--: that explains the gap when the device ran dry.
create or replace view gap_stack as
with
explained as (
    select trace_id, gap_id, cpu_slice_id as slice_id from idle_gap where cpu_slice_id is not null
),

unexplained as (
    select trace_id, gap_id, thread_id, ts from idle_gap where cpu_slice_id is null
),

found as (
    select trace_id, gap_id, innermost_id, stack, line, backtrace from stack_of('explained')
    union all
    select trace_id, gap_id, innermost_id, stack, line, backtrace from stack_at('unexplained')
)

select
    --: Trace.
    g.trace_id,
    --: Gap; see idle_gap.
    g.gap_id,
    --: Device.
    g.device,
    --: Step it elapsed in.
    g.step,
    --: Start of the gap, ns.
    g.ts,
    --: Duration, ns.
    g.dur,
    --: The cause with the most time in it.
    g.cause,
    --: As in idle_gap.
    g.thread_id,
    --: Innermost cpu_slice: idle_gap.cpu_slice_id, else the one that was open at the start of the gap; NULL for none.
    f.innermost_id,
    --: Names of the slices around it and its own, from the outermost on, with > between; NULL for none.
    f.stack,
    --: Innermost Python frame of them that is of a file neither of PyTorch nor of the standard library; NULL for none.
    f.line,
    --: Functions that the innermost slice was called by, where nsys recorded them (table backtrace); NULL for none.
    f.backtrace
from idle_gap as g
inner join found as f using (trace_id, gap_id);
