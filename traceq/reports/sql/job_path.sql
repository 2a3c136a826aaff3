-- Who is on the critical path of one window of a job and what they do there, longest first, of what is at least a
-- thousandth of it: own work by rank and category of the ledger (NULL where it does not tell), transfers of all collectives together,
-- and what comes before the first. `parts` is how many rows there are.
with
piece as (
    select kind, unit, dur
    from job_path
    where job = $job and time_window = $time_window
),

ledger as (
    select unit, category, sum(dur) as dur
    from job_path_ledger
    where job = $job and time_window = $time_window
    group by unit, category
),

part as (
    select 'own' as kind, unit, category, dur
    from ledger
    union all
    select 'own', p.unit, null, sum(p.dur) - coalesce((select sum(l.dur) from ledger as l where l.unit = p.unit), 0)
    from piece as p
    where p.kind = 'own'
    group by p.unit
    union all
    select kind, if(kind = 'transfer', null, unit), null, sum(dur)
    from piece
    where kind <> 'own'
    group by all
)

select
    p.kind,
    r.rank,
    p.category,
    p.dur::bigint as dur,
    count(*) over () as parts
from part as p
left join job_rank as r on r.job = $job and r.time_window = $time_window and r.unit = p.unit
where p.dur >= 0.001 * (select sum(dur) from piece)
order by p.dur desc, r.rank, p.category
limit 16
