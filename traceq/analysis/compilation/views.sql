-- Compilations by function, in steps and in idle time, and what graph breaks cost.

--: One row per function that was compiled, with all its versions: what torch.compile took for it.
create or replace view compiled_function as
with
cache as (
    select trace_id, log_id, compile_id, count(*) filter (outcome = 'hit') as hits, count(*) filter (outcome <> 'hit') as misses
    from compile_cache
    where cache = 'fx_graph'
    group by all
),

breaks as (
    select trace_id, log_id, compile_id, count(*) as breaks, bool_or(skips_function) as is_skipped
    from graph_break
    group by all
)

select
    --: Trace; 0 where logs were read without one.
    c.trace_id,
    --: Log; see compile_log.
    c.log_id,
    --: Function.
    c.function,
    --: Its file.
    c.file,
    --: Its line; of the rest of a function, the line of the graph break.
    c.line,
    --: Compilations, those that PyTorch refused left aside.
    count(*) filter (not c.is_refused) as compilations,
    --: Those of later versions of a frame.
    count(*) filter (c.frame_compile_id > 0 and not c.is_refused) as recompilations,
    --: Time in all, ns; NULL where no log says it.
    sum(c.dur)::bigint as dur,
    --: Time of those of later versions, ns.
    coalesce(sum(c.dur) filter (c.frame_compile_id > 0), 0)::bigint as recompile_ns,
    --: Longest of them, ns.
    max(c.dur) as longest,
    --: Graphs that Inductor's cache on disk had.
    coalesce(sum(k.hits), 0)::bigint as cache_hits,
    --: Graphs that it had not, or was not asked for.
    coalesce(sum(k.misses), 0)::bigint as cache_misses,
    --: Graph breaks in them.
    coalesce(sum(b.breaks), 0)::bigint as graph_breaks,
    --: Whether PyTorch refused another version (recompile_limit).
    bool_or(c.is_refused) as is_refused,
    --: Whether all of it runs eagerly because of a graph break.
    coalesce(bool_or(b.is_skipped), false) as is_skipped
from compilation as c
left join cache as k using (trace_id, log_id, compile_id)
left join breaks as b using (trace_id, log_id, compile_id)
group by all;

--: One row per compilation and step in which it ran.
create or replace view step_compilation as
select
    --: Trace.
    c.trace_id,
    --: Step.
    s.step,
    --: Whether the step counts.
    s.excluded is null as is_counted,
    --: Log; see compile_log.
    c.log_id,
    --: Compilation.
    c.compile_id,
    --: Function.
    c.function,
    --: Its file.
    c.file,
    --: Its line.
    c.line,
    --: Time of the compilation within the step, ns.
    least(c.ts + c.dur, s.ts_end) - greatest(c.ts, s.ts) as dur,
    --: Its share of the step, 0 to 1.
    (least(c.ts + c.dur, s.ts_end) - greatest(c.ts, s.ts)) / s.dur::double as share
from compilation as c
inner join step as s on s.trace_id = c.trace_id and c.ts < s.ts_end and c.ts + c.dur > s.ts
where c.ts is not null and c.dur > 0;

--: One row per compilation and device that had nothing to do meanwhile, in the steps of the trace.
create or replace view idle_compilation as
select
    --: Trace.
    c.trace_id,
    --: Device.
    g.device,
    --: Log; see compile_log.
    c.log_id,
    --: Compilation.
    c.compile_id,
    --: Function.
    c.function,
    --: Its file.
    c.file,
    --: Its line.
    c.line,
    --: Time in which the device idled while it compiled, ns.
    sum(least(c.ts + c.dur, g.ts_end) - greatest(c.ts, g.ts))::bigint as dur,
    --: Gaps that it lies in.
    count(*) as gaps
from compilation as c
inner join idle_gap as g on g.trace_id = c.trace_id and c.ts < g.ts_end and c.ts + c.dur > g.ts
where c.ts is not null and c.dur > 0
group by all;

--: One row per passing of a graph break in a counted step: from the end of the compiled graph before the line to the begin of
--: the compiled graph after it, on one thread. None where the trace has no such ranges (Torch-Compiled Region, Call
--: CompiledFxGraph): then what a break takes cannot be told.
create or replace view graph_break_passing as
with
named as (
    -- the rest of the function after each line that breaks
    select distinct
        b.trace_id, b.log_id, b.file, b.line, b.kind, c.frame_id as frame_before, r.frame_id as frame_after
    from graph_break as b
    inner join compilation as c using (trace_id, log_id, compile_id)
    inner join compilation as r
        on r.trace_id = b.trace_id
        and r.log_id = b.log_id
        and r.file = c.file
        and r.function like 'torch_dynamo_resume_in_%' || '_at_' || b.frame_line
    where not b.skips_function and b.line is not null
),

region as (
    select
        trace_id, slice_id, thread_id, ts, ts_end,
        try_cast(regexp_extract(name, '(\d+)/\d+$', 1) as bigint) as frame_id
    from cpu_slice
    where kind in ('op', 'annotation') and name like 'Torch-Compiled Region: %' and trace_id in (select trace_id from named)
),

graph as (
    select g.trace_id, g.slice_id, g.thread_id, g.ts, g.ts_end, r.frame_id
    from (
        select *
        from cpu_slice
        where
            kind in ('op', 'annotation')
            and name like '## Call CompiledFxGraph %'
            and trace_id in (select trace_id from named)
    ) as g
    asof inner join region as r on r.trace_id = g.trace_id and r.thread_id = g.thread_id and g.ts >= r.ts
    where g.ts_end <= r.ts_end
),

search as (
    select trace_id, thread_id, ts
    from cpu_slice
    where kind in ('op', 'annotation') and name = 'TorchDynamo Cache Lookup' and trace_id in (select trace_id from named)
),

entered as (
    select
        r.trace_id, r.thread_id, r.slice_id, r.ts, r.ts_end, r.frame_id,
        b.slice_id as before_id, b.ts as before_ts, b.ts_end as before_end, b.frame_id as before_frame
    from region as r
    asof inner join graph as b on b.trace_id = r.trace_id and b.thread_id = r.thread_id and r.ts > b.ts
),

met as (
    select
        e.*,
        a.slice_id as after_id, a.ts as after_ts, a.ts_end as after_end,
        l.ts as search_ts
    from entered as e
    asof inner join graph as a on a.trace_id = e.trace_id and a.thread_id = e.thread_id and e.ts <= a.ts
    asof left join search as l on l.trace_id = e.trace_id and l.thread_id = e.thread_id and e.ts >= l.ts
    where a.ts_end <= e.ts_end and a.frame_id = e.frame_id
)

select
    --: Trace.
    m.trace_id,
    --: Step.
    s.step,
    --: Log; see compile_log.
    n.log_id,
    --: File of the line at which the graph breaks.
    n.file,
    --: Line.
    n.line,
    --: Cause; see graph_break.
    n.kind,
    --: Thread.
    m.thread_id,
    --: Compiled graph before it, a cpu_slice.
    m.before_id as before_slice_id,
    --: Compiled graph after it, a cpu_slice.
    m.after_id as after_slice_id,
    --: End of the compiled graph before it, ns.
    m.before_end as ts,
    --: Time until the compiled graph after it begins, ns.
    m.after_ts - m.before_end as dur,
    --: Of that, what runs eagerly: until PyTorch looks for the compiled code of the rest, ns.
    if(m.search_ts between m.before_end and m.ts, m.search_ts, m.ts) - m.before_end as eager_ns,
    --: Of that, finding and entering the compiled code of the rest, ns.
    m.after_ts - if(m.search_ts between m.before_end and m.ts, m.search_ts, m.ts) as entry_ns,
    --: What the graphs before and after it take, ns: one graph may fuse over the line.
    (m.before_end - m.before_ts) + (m.after_end - m.after_ts) as graphs_ns
from met as m
inner join named as n on n.trace_id = m.trace_id and n.frame_before = m.before_frame and n.frame_after = m.frame_id
inner join step as s on s.trace_id = m.trace_id and s.ts <= m.before_ts and m.after_end <= s.ts_end and s.excluded is null
where m.ts >= m.before_end;
