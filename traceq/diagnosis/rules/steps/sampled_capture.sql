-- Captures that hold a sample of what was recorded: idle time in them is only what was left out.
-- title: The file holds only a sample of the records
-- finds: Files in which most calls of CUDA or HIP are missing: profilers number them, and most numbers do not occur.
-- matters: Time without a record is not idle time then: rules on idle time do not run.
-- measured: The median distance of the numbers (correlation ids) of one recorded call and the next. Each call has one number, and
--   those that profilers leave out (queries, calls of the driver within others) make that 1 to 12; a jump here and there is no sample.
-- try: Judge the whole file, not an excerpt that leaves out events.
-- references: https://docs.nvidia.com/cupti/
-- remark: {% if facts -%}
--     Between one call in the file and the next, about {{ '{:,.0f}'.format(facts.number_gap - 1) }} are missing: what looks idle is what was
--     left out. Findings are about what is there, and sizes are not to be trusted.
--   {%- endif %}
-- fix: Judge the whole capture; an excerpt of it should be a stretch of time, not a sample of events.
-- needs: gpu, calls
-- remarks: yes
-- captures: every
-- only-with: triage: trace_id = $trace_id and reason = 'sampled'
select number_gap
from triage
where trace_id = $trace_id and reason = 'sampled'
