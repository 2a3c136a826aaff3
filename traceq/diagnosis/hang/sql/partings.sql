-- What the ranks called at the place at which their group parts.
select
    c.rank, c.group_id, c.sequence, c.record, f.op, f.sizes, coalesce(f.equal_types, '') as types, f.equal_elements, c.state,
    c.created, f.stack_id
from hang_parting as p
inner join hang_call as c
    on c.group_id = p.group_id and c.sequence = p.sequence and list_contains(p.present, c.rank)
inner join hang_fact as f using (rank, fact_id)
order by c.group_id, c.rank, c.record
