-- The annotations of one thread whose name is $pattern up to digits.
select name, thread_id, ts, ts_end as own_end
from cpu_slice
where
    (kind = 'annotation' or kind = 'op')
    and thread_id = $thread_id
    and dur > 0
    and regexp_replace(regexp_replace(name, ', (op_id|seq) = .*$', ''), '[0-9]+', '#', 'g') = $pattern
order by ts;
