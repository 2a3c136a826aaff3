-- Of each change by its number: time of the training thread that it is about, and time in which slices of its name run on other threads of
-- the process in the counted steps, ns; and by category what is left of the training thread's time under all changes (number NULL).
with
elsewhere as (
    select
        c.number,
        greatest(s.ts, w.ts) as ts,
        least(s.ts_end, w.ts_end) as ts_end,
        max(least(s.ts_end, w.ts_end)) over (partition by c.number order by s.ts, s.ts_end rows between unbounded preceding and 1 preceding) as until
    from (select unnest(from_json($changes, '[{"number":"INTEGER","glob":"VARCHAR"}]'), max_depth := 2)) as c
    inner join cpu_slice as s on s.name glob c.glob
    asof inner join (select ts, ts_end from step where trace_id = $trace_id and excluded is null) as w on s.ts >= w.ts
    where
        s.trace_id = $trace_id
        and s.ts < w.ts_end
        and s.thread_id <> (select min(thread_id) from host_ledger where trace_id = $trace_id)
)

select c.number, null as category, coalesce(h.held, 0) as held, coalesce(e.dur, 0) as elsewhere
from (select unnest(from_json($changes, '[{"number":"INTEGER"}]'), max_depth := 2)) as c
left join (select number, sum(held)::double as held from host_changed group by number) as h using (number)
-- what several threads do at once counts once
left join (
    select number, sum(greatest(ts_end - greatest(ts, coalesce(until, ts)), 0))::double as dur
    from elsewhere
    group by number
) as e using (number)
union all
select null, h.category, sum(h.dur * coalesce(c.kept, 1))::double, null
from host_time as h
left join (select piece_id, product(1 - goes) as kept from host_changed group by piece_id) as c using (piece_id)
group by h.category
order by all
