-- All steps of a trace in the order of time, with the ledger of each on a device, or of the training thread where no GPU works ($device
-- -2; its categories begin with host_): a row per category, one without for steps in which the ledger holds nothing. Steps of a server
-- are of a kind: prompts or next tokens, of a bucket of requests.
select s.step, s.name, s.dur as step_dur, s.source, s.excluded, k.kind, l.category, l.dur
from step as s
left join serving_kind as k on k.trace_id = s.trace_id and k.step = s.step
left join (
    select trace_id, step, category, dur
    from time_ledger
    where device = $device
    union all
    select trace_id, step, 'host_' || category as category, sum(dur)::bigint as dur
    from host_ledger
    where $device = -2
    group by all
) as l on l.trace_id = s.trace_id and l.step = s.step
where s.trace_id = $trace_id
order by s.step, l.category
