-- request_step: which requests were there in which serving steps, what for, and which tokens a step gave them.
-- reads: serving_mark, step, device_activity
-- makes: request_step

create temp macro _common(begin, ending, other_begin, other_ending) as
greatest(0, least(ending, other_ending) - greatest(begin, other_begin));

insert into request_step by name
with
served as (
    select s.step, s.ts, s.ts + s.dur as ts_end, coalesce(t.gpu_ts + t.gpu_dur, s.ts + s.dur) as done
    from serving_step as s
    inner join step as t on t.trace_id = s.trace_id and t.step = s.step
    where s.trace_id = $trace_id
),

extent as (select min(ts) as ts, max(ts_end) as ts_end, max(done) as done from served),

captured as (
    select r.*
    from request as r
    cross join extent as e
    where r.trace_id = $trace_id and r.arrival_ts < e.ts_end and r.end_ts > e.ts
),

-- a token of steps after the last is not of the last
given as (
    select t.request_number, s.step, count(*) as tokens
    from (
        select t.request_number, c.arrival_ts + t.since_arrival as ts
        from request_token as t
        inner join captured as c using (request_number)
        cross join extent as e
        where t.trace_id = $trace_id and c.arrival_ts + t.since_arrival <= greatest(e.ts_end, e.done)
    ) as t
    asof join served as s on t.ts >= s.done
    group by t.request_number, s.step
),

told as (
    select distinct t.request_number
    from request_token as t
    where t.trace_id = $trace_id and t.request_number in (select request_number from captured)
),

overlapping as (
    select
        c.request_number,
        s.step,
        if(c.scheduled_ts is null, null, _common(c.arrival_ts, c.scheduled_ts, s.ts, s.ts_end)) as queue,
        if(c.first_token_ts is null, null, _common(c.arrival_ts, c.first_token_ts, s.ts, s.ts_end)) as before_first,
        if(c.first_token_ts is null, null, _common(c.first_token_ts, c.end_ts, s.ts, s.ts_end)) as decode
    from captured as c
    inner join served as s on c.arrival_ts < s.ts_end and c.end_ts > s.ts
)

select
    $trace_id as trace_id,
    o.request_number,
    o.step,
    o.queue,
    o.before_first,
    o.decode,
    if(o.request_number in (from told), coalesce(g.tokens, 0), null) as tokens
from overlapping as o
left join given as g using (request_number, step)
order by o.request_number, o.step;
