-- The dumps as a whole.
with
dated as (
    select rank, count(*) as dumps, max(last_created) as last_created
    from recorded_dump
    where rank is not null and last_created is not null
    group by rank
),

-- Ranks with a single dump that is older than the latest ones of ranks with several.
outdated as (
    select rank
    from dated
    where dumps = 1 and last_created < (select min(last_created) from dated where dumps > 1)
)

select
    coalesce(list(rank order by rank) filter (where entries is not null), []) as ranks,
    coalesce(sum(entries), 0)::bigint as entries,
    coalesce(list(rank order by rank) filter (where first_record > 0), []) as rolled,
    coalesce(list([path, fault] order by path) filter (where fault is not null), []) as faults,
    (select coalesce(list_sort(list(distinct backend)), []) from recorded_fact) as backends,
    (select coalesce(list_sort(list(distinct rank)), []) from hang_member where not has_dump) as missing,
    (select coalesce(list(rank order by rank), []) from outdated) as outdated
from recorded_dump
