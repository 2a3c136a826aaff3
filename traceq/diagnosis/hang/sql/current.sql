-- Where each rank is: the first call that it waits for, else the last one that it made.
select
    c.rank, c.group_id, c.sequence, c.record, f.op, f.sizes, coalesce(f.equal_types, '') as types, f.equal_elements, c.state,
    c.created, f.stack_id
from hang_call as c
inner join hang_fact as f using (rank, fact_id)
where list_contains($ranks, c.rank)
qualify row_number() over (
    partition by c.rank order by c.state = 'finished', c.state = 'queued', if(c.state = 'finished', -c.record, c.record)
) = 1
order by c.rank
