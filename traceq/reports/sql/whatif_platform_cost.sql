-- What a counted step does, where that is known: tokens that requests got from an inference server, or what the program marked.
select 'output token' as what, avg(output_tokens)::double as per_step
from serving_step
where trace_id = $trace_id and excluded is null and output_tokens > 0
having count(*) > 0
union all
select
    case p.key when 'samples' then 'sample' when 'tokens' then 'token' end,
    avg(p.value)
from step_payload as p
inner join step as s using (trace_id, step)
where p.trace_id = $trace_id and s.excluded is null and p.key in ('samples', 'tokens') and p.value > 0
group by p.key
order by what;
