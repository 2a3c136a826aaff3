-- What the trace recurs in: the steps, what holds several of them, what recurs inside them; the longest first.
select
    level, source, name, count, period, launches, coverage, share, is_step, is_possible,
    evidence
from unit
where trace_id = $trace_id
order by unit
