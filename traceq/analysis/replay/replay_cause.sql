-- The name of the idle time that an activity of the host would cause, by the number of the activity.
-- reads: _idle_cause
select enum_code(activity::host_activity) as activity, cause
from _idle_cause
