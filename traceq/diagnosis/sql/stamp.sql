-- What a judgement depends on beside the rules: the traces by their content, and how steps were found in them. Not when they were ingested.
select
    t.trace_id, t.sha256, t.run, t.rank,
    count(s.step) as steps,
    bit_xor(hash(s.step, s.name, s.source, s.ts, s.dur, s.excluded))::varchar as hash_of_steps
from trace as t
left join step as s using (trace_id)
group by all
order by t.trace_id
