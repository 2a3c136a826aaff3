-- How much of what logging claims is waiting for the GPU: a thread of its own would wait as long.
select coalesce(sum(claimed) filter (cause = 'idle_sync') / sum(claimed), 0) as waiting_share
from rule_instances
