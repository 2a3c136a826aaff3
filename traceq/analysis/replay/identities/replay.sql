-- What a scenario saves lies within its bounds, is there only where the replay is close enough, and a part of it saves its share.
with
scenario as (
    select
        *,
        error > 0.03 or unexplained > 0.05 or scenario = 'idle_unattributed' as is_bound,
        -- nothing ties the GPU's work to the host's: then anything may go
        saved_low = 0 and saved_high = removable as is_open
    from replay
    -- of databases of traceq 0.1 less is known
    where trace_id = $trace_id and unexplained is not null
)

select
    scenario,
    removable < 0
    or saved_low < 0
    or saved_high < saved_low
    or saved not between saved_low and saved_high
    or saved_quarter not between saved // 4 - 1 and saved
    or share not between 0 and 1
    or share_low not between 0 and 1
    or share_high not between 0 and 1
    or (scenario = 'idle_unattributed' and saved_low <> 0)
    or (saved is not null and is_bound)
    or (saved is null and not is_bound and not is_open)
    or saved is null <> (share is null) as is_broken,
    'scenario ' || scenario as place
from scenario
