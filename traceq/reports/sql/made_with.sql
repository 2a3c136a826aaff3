select topic, instance, name, value as text, unit, is_knob
from made_with
where trace_id = $trace_id
order by
    array_position(
        ['host', 'gpu', 'software', 'precision', 'threads', 'loader', 'optimizer', 'compile', 'parallel', 'program', 'environment'],
        topic
    ),
    instance, name
