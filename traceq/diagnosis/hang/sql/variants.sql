-- How many ranks have what at this number in all groups that the program calls the same: copies of one group do the same.
select f.op, coalesce(f.equal_types, '') as types, f.equal_elements, count(*) as ranks
from hang_call as c
inner join hang_fact as f using (rank, fact_id)
inner join hang_group as g on g.group_id = c.group_id
where c.sequence = $sequence
    and if($description in ('', 'undefined'), c.group_id = $group_id, g.description = $description)
    and g.source <> 'pair'
group by f.op, f.equal_types, f.equal_elements
