-- How many slices are drawn where those below $pixel ns, in detailed steps those below $fine ns, are drawn together: outside and in.
-- Both are multiples of what timeline_group was made with.
with
placed as (
    select
        *,
        if(is_fine, $fine, $pixel) as least,
        alone is not null and (ts_end - ts >= least or is_culprit) as is_alone
    from timeline_group
)

select count(*) filter (not is_fine) as coarse, count(*) filter (is_fine) as fine
from (
    select is_fine from placed where is_alone
    union all
    select is_fine from placed where not is_alone group by track, depth, is_fine, cell // least
)
