-- What prompts cost decoding requests in the counted steps.
select
    cause,
    count(*) as stalls,
    sum(dur)::bigint as dur_ns,
    max(dur) as longest_ns,
    max_by(step, (dur, -step)) as longest_step,
    max(waiting_requests) as most_waiting_requests
from serving_stall
where trace_id = $trace_id and excluded is null
group by cause
order by dur_ns desc, cause
