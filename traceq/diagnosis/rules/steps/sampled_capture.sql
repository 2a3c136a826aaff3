-- Captures that hold a sample of what was recorded: idle time in them is only what was left out.
-- title: The file has only a sample of the records
-- finds: Files in which most CUDA or HIP calls are missing: profilers number the calls, and most numbers do not occur.
-- matters: Time without a record is then not idle time, so rules on idle time do not run.
-- measured: The median distance of the numbers (correlation ids) between one recorded call and the next. Each call has one
--   number, and calls that profilers leave out (queries, driver calls within others) make that 1 to 12; an occasional jump does
--   not indicate a sample.
-- try: Analyse the whole file, not an excerpt that leaves out events.
-- references: https://docs.nvidia.com/cupti/
-- remark: {% if facts -%} Between one call in the file and the next, about {{ '{:,.0f}'.format(facts.number_gap - 1) }} are
--   missing: what looks idle was left out. Findings cover only what is there, and their sizes cannot be trusted. {%- endif %}
-- fix: Analyse the whole capture; an excerpt should be a stretch of time, not a sample of events.
-- needs: gpu, calls
-- remarks: yes
-- captures: every
-- only-with: triage: trace_id = $trace_id and reason = 'sampled'
select number_gap
from triage
where trace_id = $trace_id and reason = 'sampled'
