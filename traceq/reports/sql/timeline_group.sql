-- timeline_slice with slices below $pixel ns, in detailed steps below $fine ns, as one where they are neighbours on a track and depth. What
-- is at least so long is alone; `cell` is its start, else a multiple of those ns. `longest` orders slices by duration, then by number.
create or replace temp table timeline_group as
with
placed as (
    select
        *,
        if(is_fine, $fine, $pixel) as least,
        ts_end - ts >= least or is_culprit as is_alone,
        ((ts_end - ts)::hugeint << 64) + number as longest
    from timeline_slice
)

select track, depth, is_fine, is_culprit, number as alone, ts as cell, longest, ts, ts_end, ts_end - ts as busy, 1::bigint as slices
from placed
where is_alone
union all
select
    track, depth, is_fine, false, null, ts // least * least as cell, max(longest), min(ts), max(ts_end), sum(ts_end - ts)::bigint, count(*)
from placed
where not is_alone
group by track, depth, is_fine, ts // least * least
