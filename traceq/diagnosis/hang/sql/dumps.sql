-- The dumps as a whole.
select
    coalesce(list(rank order by rank) filter (where entries is not null), []) as ranks,
    coalesce(sum(entries), 0)::bigint as entries,
    coalesce(list(rank order by rank) filter (where first_record > 0), []) as rolled,
    coalesce(list([path, fault] order by path) filter (where fault is not null), []) as faults,
    (select coalesce(list_sort(list(distinct backend)), []) from recorded_fact) as backends,
    (select coalesce(list_sort(list(distinct rank)), []) from hang_member where not has_dump) as missing
from recorded_dump
