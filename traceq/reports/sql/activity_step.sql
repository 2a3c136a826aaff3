-- The steps of a trace, in ns from the start of the capture; the window of a trace without steps is none.
select s.step, s.ts - t.ts as after_ns, s.dur as dur_ns, s.excluded is null as is_counted
from step as s
inner join trace as t using (trace_id)
where s.trace_id = $trace_id and s.source <> 'window' and t.dur > 0
order by s.ts
