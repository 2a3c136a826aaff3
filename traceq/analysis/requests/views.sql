-- How long requests wait and for what, and what the batches of the steps are made of. Definitions: docs/requests.md.

--: One row per log of requests and quantity: percentiles over its requests of status ok, in the capture or not. By linear
--: interpolation between the two nearest values, as numpy.percentile.
create or replace view request_stats as
with
measured as (
    select trace_id, log_id, 'queue' as quantity, 1 as place, queue::double as dur from request where status = 'ok'
    union all
    select trace_id, log_id, 'ttft', 2, ttft from request where status = 'ok'
    union all
    select trace_id, log_id, 'tpot', 3, tpot from request where status = 'ok'
    union all
    select r.trace_id, r.log_id, 'inter_token', 4, t.gap
    from request_token as t
    inner join request as r using (trace_id, request_number)
    where r.status = 'ok'
    union all
    select trace_id, log_id, 'e2e', 5, e2e from request where status = 'ok'
)

select
    --: Trace.
    trace_id,
    --: Log; see request_log.
    log_id,
    --: queue; ttft (time to first token); tpot (time per output token after the first, of a request); inter_token (time
    --: between two tokens of a request); e2e. As in request and request_token.
    quantity,
    --: Place in the order of a request's life, from 1.
    place,
    --: Requests; of inter_token gaps between tokens.
    count(dur) as requests,
    --: Mean, ns.
    avg(dur) as mean,
    --: Median, ns.
    quantile_cont(dur, 0.5) as p50,
    --: 90th percentile, ns.
    quantile_cont(dur, 0.9) as p90,
    --: 95th percentile, ns.
    quantile_cont(dur, 0.95) as p95,
    --: 99th percentile, ns.
    quantile_cont(dur, 0.99) as p99,
    --: Longest, ns.
    max(dur) as longest
from measured
where dur is not null
group by trace_id, log_id, quantity, place;

--: One row per serving step and log of requests that is placed on the clock of the trace: what the step computes, and how
--: many requests are there. log_id is NULL where no request of any log is there.
create or replace view request_composition as
with
present as (
    select
        p.trace_id, p.step, r.log_id,
        count(*) filter (p.queue = s.dur or (p.queue > 0 and p.before_first = p.queue and p.decode = 0)) as queued,
        count(*) filter (p.before_first > coalesce(p.queue, 0) and p.queue is not null) as prefilling,
        count(*) filter (p.decode > 0) as decoding,
        if(count(p.tokens) = count(*), sum(p.tokens), null)::bigint as tokens
    from request_step as p
    inner join request as r using (trace_id, request_number)
    inner join step as s on s.trace_id = p.trace_id and s.step = p.step
    group by p.trace_id, p.step, r.log_id
)

select
    --: Trace.
    s.trace_id,
    --: Step.
    s.step,
    --: Log; see request_log.
    p.log_id,
    --: Kind as in serving_step.
    s.kind,
    --: Requests in the batch, as in serving_step.
    s.requests,
    --: Requests whose prompt, or a part of it, is computed, as in serving_step.
    s.prefill_requests,
    --: Requests that get their next token, as in serving_step.
    s.decode_requests,
    --: Tokens of prompts computed in it, as in serving_step.
    s.prefill_tokens,
    --: Tokens of decoding requests computed in it, as in serving_step.
    s.decode_tokens,
    --: Duration, ns, as in serving_step.
    s.dur,
    --: Requests of the log that wait in the queue for as long as they are there in the step. By its times, which a client
    --: sees later than the server.
    p.queued,
    --: Requests of the log that are scheduled, and get their first token in the step or later. 0 where it does not say when
    --: they were scheduled.
    p.prefilling,
    --: Requests of the log that have their first token, and are not at their end.
    p.decoding,
    --: Tokens that they got of it; NULL where the log does not say of all when their tokens came.
    p.tokens
from serving_step as s
left join present as p using (trace_id, step);

--: One row per serving step whose next tokens came late because prompts were computed (serving_stall): how late, and for how
--: many.
create or replace view prefill_delay as
with
delayed as (
    select p.trace_id, p.step, r.log_id, count(*) as requests
    from request_step as p
    inner join request as r using (trace_id, request_number)
    where p.decode > 0
    group by p.trace_id, p.step, r.log_id
)

select
    --: Trace.
    s.trace_id,
    --: Step.
    s.step,
    --: step.excluded of it.
    s.excluded,
    --: As in serving_stall: prefill (prompt-only steps ran before it) or mixed (the step itself computes prompts).
    s.cause,
    --: Tokens of prompts computed in that time; NULL where the annotations do not say.
    s.prefill_tokens,
    --: Time by which its tokens came later than usual, ns; as in serving_stall.
    s.dur,
    --: Tokens that came late: one of each request that waited.
    s.waiting_requests as tokens,
    --: dur for each of them, ns.
    s.dur * s.waiting_requests as request_time,
    --: Log; see request_log. NULL where no request of any log decodes in it.
    d.log_id,
    --: Requests of that log that decode in the step.
    d.requests
from serving_stall as s
left join delayed as d using (trace_id, step);

--: One row per request that overlaps serving steps: where its time in them went. Times before the first and after the last
--: captured step are in none.
create or replace view request_account as
with
late as (
    select trace_id, step, sum(dur)::bigint as dur, bool_or(cause = 'mixed') as is_mixed
    from serving_stall
    group by trace_id, step
)

select
    --: Trace.
    p.trace_id,
    --: Request; see request.
    p.request_number,
    --: Steps that it overlaps.
    count(*) as steps,
    --: Whether they cover it from its arrival to its end.
    any_value(r.arrival_ts) >= min(s.ts) and any_value(r.end_ts) <= max(s.ts + s.dur) as is_whole,
    --: Time in the queue, ns; NULL where the log does not say when it was scheduled.
    sum(p.queue)::bigint as queue,
    --: From there to its first token, ns; NULL likewise.
    sum(p.before_first - p.queue)::bigint as prefill,
    --: After its first token, in steps that compute no prompts, ns.
    coalesce(sum(p.decode) filter (s.kind is distinct from 'mixed' and s.kind is distinct from 'prefill'), 0)::bigint as decode,
    --: After its first token, in steps that compute prompts of others, ns.
    coalesce(sum(p.decode) filter (s.kind in ('mixed', 'prefill')), 0)::bigint as decode_beside_prefill,
    --: Of these times after its first token, what prompts of others cost it, ns: prompt-only steps, and of mixed steps
    --: serving_stall.dur, at most the time that it is in them.
    coalesce(sum(least(l.dur, p.decode)) filter (p.decode > 0 and l.is_mixed), 0)::bigint
    + coalesce(sum(p.decode) filter (s.kind = 'prefill'), 0)::bigint as prefill_delay,
    --: Longest time of these steps that it decodes in, ns; NULL where it decodes in none.
    max(s.dur) filter (p.decode > 0) as longest_step
from request_step as p
inner join request as r using (trace_id, request_number)
inner join serving_step as s on s.trace_id = p.trace_id and s.step = p.step
left join late as l on l.trace_id = p.trace_id and l.step = p.step
group by p.trace_id, p.request_number;
