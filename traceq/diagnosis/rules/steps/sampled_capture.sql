-- Captures that hold a sample of what was recorded: idle time in them is only what was left out.
-- title: The file holds only a sample of the records
-- finds: Files in which most calls of CUDA or HIP are missing: profilers number them, and most numbers do not occur.
-- matters: Time without a record is not idle time then: rules on idle time do not run.
-- measured: The distance between the first and last correlation number of GPU work over the calls recorded. Each call has one
--   number, and those that profilers leave out (queries, calls of the driver within others) make that 3 to 6.
-- try: Judge the whole file, not an excerpt that leaves out events.
-- references: https://docs.nvidia.com/cupti/
-- remark: {% if facts.numbers > most * facts.calls -%}
--     Of about {{ '{:,.0f}'.format(facts.numbers) }} calls, {{ '{:,.0f}'.format(facts.calls) }} are in the file: what looks idle is what was
--     left out. Findings are about what is there, and sizes are not to be trusted.
--   {%- endif %}
-- fix: Judge the whole capture; an excerpt of it should be a stretch of time, not a sample of events.
-- needs: gpu, calls
-- threshold: most = 20: several times what the calls that profilers leave out explain (3 to 6 numbers a recorded call)
-- remarks: yes
-- captures: every
select
    -- of a damaged trace they can lie further apart than 64 bits hold
    least(coalesce(max(correlation_id)::hugeint - min(correlation_id), 0), 9223372036854775807)::bigint as numbers,
    (select count(*) from cpu_slice where trace_id = $trace_id and kind = 'runtime') as calls
from gpu_slice
where trace_id = $trace_id
