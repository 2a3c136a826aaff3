-- All steps of a trace in the order of time, with the ledger of each on a device: a row per category, one without for steps
-- in which the ledger holds nothing. Steps of a server are of a kind: prompts or next tokens, of a bucket of requests.
select s.step, s.name, s.dur as step_dur, s.source, s.excluded, k.kind, l.category, l.dur
from step as s
left join serving_kind as k on k.trace_id = s.trace_id and k.step = s.step
left join time_ledger as l on l.trace_id = s.trace_id and l.step = s.step and l.device = $device
where s.trace_id = $trace_id
order by s.step, l.category
