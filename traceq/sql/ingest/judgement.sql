insert into judgement
values ($trace_id, $goal, $stamp, $content)
