-- Fetches that start in the counted steps, by loader; of all processes that train.
select
    loader,
    any_value(loader_kind) as loader_kind,
    count(*) as fetches,
    sum(f.dur)::bigint as dur_ns,
    median(f.dur) as median_ns,
    max(f.dur) as longest_ns,
    sum(stalled)::bigint as stalled_ns
from data_fetch as f
inner join step as s using (trace_id, step)
where trace_id = $trace_id and s.excluded is null and is_training
group by loader
order by dur_ns desc, loader
limit $top
