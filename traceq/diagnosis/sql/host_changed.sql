-- By piece of the training thread's time (host_time) and change, which share of it goes: at least, likely and at most; negative of work that
-- takes longer. A change is about slices by name, or about categories of host_ledger. It leaves the share `left` of them, or lets so many
-- `workers` do them beside the rest of the step, which then lasts as long as the longest of that rest, their share of the work, and all of it on
-- all cores (host_cores; without them likely is as if there were enough). What other threads do counts for as long as the training thread
-- does nothing else.
create or replace temp table host_changed as
with
change as (
    select
        c.number, c.glob, c.categories, c.left, c.workers
    from (
        select unnest(from_json($changes, '[{"number":"INTEGER","glob":"VARCHAR","categories":["VARCHAR"],"left":"DOUBLE","workers":"DOUBLE"}]')) as c
    )
),

matched as (
    select
        c.number, s.ts, s.ts_end,
        s.thread_id = (select min(thread_id) from host_ledger where trace_id = $trace_id) as is_own
    from change as c
    inner join cpu_slice as s on s.name glob c.glob
    where s.trace_id = $trace_id and s.dur > 0
),

-- what is nested in one another, or runs on several threads at once, counts once
island as (
    select number, is_own, min(ts) as ts, max(ts_end) as ts_end
    from (
        select *, count(if(until is null or ts >= until, 1, null)) over (partition by number, is_own order by ts, ts_end rows unbounded preceding) as place
        from (
            select
                *,
                max(ts_end) over (partition by number, is_own order by ts, ts_end rows between unbounded preceding and 1 preceding) as until
            from matched
        )
    )
    group by number, is_own, place
),

part as (
    select p.piece_id, i.number, 1.0 as share
    from (select c.number, h.piece_id, h.ts from host_time as h cross join change as c) as p
    asof inner join (from island where is_own) as i on i.number = p.number and p.ts >= i.ts
    where p.ts < i.ts_end
    union all
    select p.piece_id, i.number, sum(least(p.ts + p.dur, i.ts_end) - greatest(p.ts, i.ts)) / p.dur
    from host_time as p
    inner join island as i on not i.is_own and i.ts < p.ts + p.dur and i.ts_end > p.ts
    where p.elsewhere is not null and p.category in ('annotation', 'python', 'none', 'os', 'synchronization')
    group by p.piece_id, i.number, p.dur
    union all
    select p.piece_id, c.number, 1.0
    from host_time as p
    inner join change as c
        on list_contains(
            c.categories,
            case
                when p.elsewhere is null or p.category not in ('annotation', 'python', 'none') then p.category
                else if(p.elsewhere = 'operators', 'operator', p.elsewhere)
            end
        )
),

held as (
    select h.step, h.piece_id, h.dur, t.number, t.share
    from host_time as h
    inner join (select piece_id, number, max(share) as share from part group by piece_id, number) as t using (piece_id)
),

beside as (
    select
        f.step, f.number, f.moved, f.dur,
        greatest(f.dur - f.moved, f.moved / f.workers) as free,
        greatest(f.dur - f.moved, f.moved / f.workers, coalesce(f.dur / n.cores, 0)) as likely
    from (
        select h.step, h.number, c.workers, sum(h.dur * h.share) as moved, any_value(s.dur) as dur
        from held as h
        inner join change as c using (number)
        inner join (select step, sum(dur) as dur from host_time group by step) as s using (step)
        where c.workers is not null
        group by h.step, h.number, c.workers
    ) as f
    cross join host_cores as n
)

select
    h.piece_id,
    h.number,
    h.dur * h.share as held,
    h.share * if(b.step is null, 1 - c.left, 0) as goes_low,
    h.share * if(b.step is null, 1 - c.left, (b.dur - b.likely) / b.moved) as goes,
    h.share * if(b.step is null, 1 - c.left, (b.dur - b.free) / b.moved) as goes_high
from held as h
inner join change as c using (number)
left join beside as b on b.step = h.step and b.number = h.number
