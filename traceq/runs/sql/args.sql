-- What the source says of the capture, as JSON.
select args from trace where trace_id = $trace_id
