-- Groups of a job whose collectives have numbers that are the same on all ranks, and no sends and receives, which ranks number on their own.
select group_id, max(group_size) as group_size
from collective_match
where job = $job and time_window = $time_window and match_source in ('comms_id', 'sequence') and group_size is not null
group by group_id
having not bool_or(op = 'send_recv')
order by group_id
