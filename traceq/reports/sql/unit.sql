-- What the trace recurs in: the steps, what holds several of them, what recurs inside them; the longest first. In a database
-- that somebody changed shares can be any number.
select
    level, source, name, count, period, launches, if(coverage between 0 and 1, coverage, null) as coverage,
    if(share between 0 and 1, share, null) as share, is_step, is_possible, evidence
from unit
where trace_id = $trace_id
order by unit
