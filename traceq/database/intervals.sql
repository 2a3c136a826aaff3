-- Macros for intervals: union, gaps, intersection and overlap of what a table, view or common table expression holds.
-- Every column beside ts and ts_end is a key: only intervals with the same keys meet. So that there is one even where
-- the user has none, each row gets the key _all, which no result shows.

create or replace macro _interval(intervals) as table
select ts, ts_end, struct_pack(*columns(* exclude (ts, ts_end))) as _key
from (select 0 as _all, * from query_table(intervals))
where ts < ts_end;

-- Per key, from each moment at which an interval of either side starts or ends to the next one: how many run, and how many
-- started at that moment. Intervals that end are gone before others start.
create or replace macro _interval_pair(intervals, others) as table
with
_same_keys as (
    select if(a.names <> b.names, error('the two sets of intervals need the same columns beside ts and ts_end'), true) as ok
    from (select list_sort(struct_keys(any_value(_key))) as names from _interval(intervals)) as a
    cross join (select list_sort(struct_keys(any_value(_key))) as names from _interval(others)) as b
),

_edge as (
    select _key, unnest([ts, ts_end]) as ts, unnest([1, 0]) as started, unnest([0, 1]) as ended, 0 as others_started, 0 as others_ended
    from _interval(intervals)
    union all
    select _key, unnest([ts, ts_end]), 0, 0, unnest([1, 0]), unnest([0, 1])
    from _interval(others)
),

_moment as (
    select
        _key,
        ts,
        sum(started) as started,
        sum(ended) as ended,
        sum(others_started) as others_started,
        sum(others_ended) as others_ended
    from _edge
    where (select ok from _same_keys)
    group by _key, ts
)

select
    _key,
    ts,
    lead(ts) over in_order as ts_end,
    started,
    others_started,
    sum(started - ended) over in_order as running,
    sum(others_started - others_ended) over in_order as others_running
from _moment
window in_order as (partition by _key order by ts);

create or replace macro interval_union(intervals) as table
with
-- A piece of the union begins where an interval starts after the end of all before it.
_begun as (
    select *, coalesce(ts > max(ts_end) over (partition by _key order by ts rows between unbounded preceding and 1 preceding), true) as begins
    from _interval(intervals)
),

_numbered as (
    select *, count_if(begins) over (partition by _key order by ts rows unbounded preceding) as piece
    from _begun
),

_joined as (
    select _key, min(ts) as ts, max(ts_end) as ts_end
    from _numbered
    group by _key, piece
)

select * exclude (_all)
from (select unnest(_key), ts, ts_end from _joined);
comment on macro table interval_union is 'One row per key and uninterrupted stretch in which at least one of the intervals runs. Columns: the keys, ts, ts_end.';

create or replace macro interval_gaps(intervals) as table
with
_ahead as (
    select
        _key,
        max(ts_end) over (partition by _key order by ts rows between unbounded preceding and 1 preceding) as ts,
        ts as ts_end
    from _interval(intervals)
)

select * exclude (_all)
from (select unnest(_key), ts, ts_end from _ahead where ts < ts_end);
comment on macro table interval_gaps is 'One row per key and stretch between the first start and the last end in which none of the intervals runs. Columns: the keys, ts, ts_end.';

create or replace macro interval_intersection(intervals, others) as table
with
_both as (
    select * exclude (_all)
    from (
        select unnest(_key), ts, ts_end
        from _interval_pair(intervals, others)
        where running > 0 and others_running > 0
    )
)

from interval_union('_both');
comment on macro table interval_intersection is 'One row per key and uninterrupted stretch in which intervals of both sides run. Columns: the keys, ts, ts_end.';

create or replace macro interval_overlap(intervals, others) as table
with
_total as (
    select
        _key,
        coalesce(sum(ts_end - ts) filter (running > 0 and others_running > 0), 0)::bigint as dur,
        sum(started * others_running + others_started * running - started * others_started)::bigint as pairs,
        coalesce(sum((ts_end - ts) * running * others_running), 0)::bigint as pair_dur
    from _interval_pair(intervals, others)
    group by _key
)

select * exclude (_all)
from (select unnest(_key), dur, pairs, pair_dur from _total);
comment on macro table interval_overlap is 'One row per key that either side has. Columns: the keys; dur, time in which intervals of both sides run, each nanosecond once; pairs, an interval of one side and one of the other that share time; pair_dur, the time they share, added up over the pairs.';
