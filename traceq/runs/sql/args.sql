-- What stands at the top of the source's description of the capture and is one word or number, as JSON. Numbers of hundreds of
-- digits say nothing.
select e.key, e.atom
from trace as t, json_each(t.args) as e
where
    t.trace_id = $trace_id
    and json_type(t.args) = 'OBJECT'
    and (e.type = 'VARCHAR' or (e.type in ('BOOLEAN', 'BIGINT', 'UBIGINT', 'DOUBLE') and length(e.atom) < 400))
order by e.id
