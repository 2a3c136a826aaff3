-- How often what a claim is on happened: the slices that it is on, and gaps and pieces that have none. Several pieces may be of one slice.
select
    count(distinct slice_id)
    + count(distinct {'gap_id': gap_id, 'busy_id': busy_id}) filter (slice_id is null) as occurrences
from rule_instances
where claimed > 0
