-- What the loader's workers were sampled in: their number, all samples, the share of them in a fetch, and by function of the fetches the share of
-- all samples; a row without a function where nothing was named. No row without samples enough.
-- threshold: worth_naming = 0.05: of the samples: a function of less wins next to nothing
-- threshold: least_samples = 20: fewer tell no share
with
whole as (
    select count(distinct pid) as workers, sum(samples) as samples, coalesce(sum(samples) filter (state = 'fetch'), 0) / sum(samples) as fetching
    from worker_sample
    where trace_id = $trace_id
    having sum(samples) >= $least_samples
),

named as (
    select function, sum(samples) as samples
    from worker_sample
    where trace_id = $trace_id and state = 'fetch' and function is not null
    group by function
)

select w.workers, w.samples, w.fetching, n.function, coalesce(n.samples / w.samples, 0) as share
from whole as w
left join named as n on n.samples >= $worth_naming * w.samples
order by share desc, n.function
limit 3
