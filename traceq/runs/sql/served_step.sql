-- The steps of a server in order of time: what they compute, how long they take, and when their own work is done.
with
-- sums over the prompts of a step, which serving_mark does not have: tokens squared, and times those that they attend to
squared as (
    select
        slice_id,
        regexp_extract(name, '(context_\d+\([^)]*| c_)sqsk=?(\d+)', 2) as with_context,
        regexp_extract(name, '(context_\d+\([^)]*| c_)sqsq=?(\d+)', 2) as with_themselves
    from cpu_slice
    where trace_id = $trace_id and kind = 'annotation' and contains(name, 'sqsk')
)

select
    s.ts as begin_ts,
    s.dur,
    greatest(m.ts + m.dur, coalesce(t.gpu_ts + t.gpu_dur, 0)) as done_ts,
    s.dialect,
    s.prefill_requests,
    s.decode_requests,
    s.prefill_tokens,
    s.kv_tokens,
    -- a token attends to none of its own step that comes after it
    if(
        s.prefill_tokens = 0,
        0.0,
        try_cast(nullif(q.with_context, '') as double) - try_cast(nullif(q.with_themselves, '') as double) / 2
    ) as attention,
    s.excluded is null as is_counted
from serving_step as s
inner join step as t on t.trace_id = s.trace_id and t.step = s.step
inner join serving_mark as m on m.trace_id = s.trace_id and m.slice_id = s.slice_id and m.ts = s.ts
left join squared as q on q.slice_id = m.slice_id and m.thread_id is not null
where s.trace_id = $trace_id
order by s.ts
