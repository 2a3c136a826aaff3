-- The requests of the log with most that can be scheduled anew (a server's rather than a client's), in order of arrival. More tokens
-- than any model's context holds are a damaged record, which would take hours to schedule.
with
told as (
    select
        *,
        status = 'ok' and arrival_ts is not null and prompt_tokens <= 16777216 and output_tokens between 1 and 1048576 as is_usable
    from request
    where trace_id = $trace_id
),

chosen as (
    select l.log_id, any_value(l.file) as file
    from request_log as l
    inner join told as r using (log_id)
    where l.trace_id = $trace_id
    group by l.log_id, l.side
    having count(*) filter (r.is_usable) > 0
    order by l.side = 'server' desc, count(*) filter (r.is_usable) desc, l.log_id
    limit 1
)

select
    c.file,
    r.is_usable,
    r.arrival_ts as arrival,
    greatest(r.prompt_tokens - coalesce(r.cached_tokens, 0), 1) as prompt,
    least(coalesce(r.cached_tokens, 0), r.prompt_tokens) as cached,
    r.output_tokens as output,
    r.ttft
from told as r
inner join chosen as c using (log_id)
order by r.arrival_ts, r.request_number
