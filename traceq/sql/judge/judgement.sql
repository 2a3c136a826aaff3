-- What was judged of the traces, if by these rules and beside these traces.
select trace_id, content
from judgement
where goal = $goal and stamp = $stamp
