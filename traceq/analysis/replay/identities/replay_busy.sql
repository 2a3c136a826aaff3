-- Without work of the GPU no more is saved than it has on the critical path. The path is that of the recording and the saving
-- that of a replay: they may differ by what the replay is off, and by what it cannot explain.
with
replayed as (select sum(dur) as dur from replay_step where trace_id = $trace_id)

select
    scenario,
    coalesce(r.saved > r.on_path + (r.error + r.unexplained) * s.dur, false) as is_broken,
    'scenario ' || scenario as place
from replay as r
cross join replayed as s
where r.trace_id = $trace_id and r.scenario not like 'idle%' and r.on_path is not null
