-- How much of idle time without a cause is worth a look: of a window in which no step recurs, little.
select if(any_value(source) = 'window', 0.25, 1.0)::double as likely
from step
where trace_id = $trace_id
