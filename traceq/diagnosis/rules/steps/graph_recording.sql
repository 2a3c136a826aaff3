-- Captures made while CUDA graphs are recorded: what is launched then does not run.
-- title: Kernels are captured into graphs and do not run
-- finds: Captures in which most launching calls lie between the begin and the end of the recording of a graph, as servers
--   do it once for each batch size when they start.
-- matters: The GPU is idle because nothing is to run yet. Recording happens once, so none of it slows what the program does later:
--   rules on idle time do not run.
-- measured: Calls that launch kernels, the last call of their process that begins or ends a recording being cudaStreamBeginCapture or
--   hipStreamBeginCapture, over all that do.
-- try: Capture the program once it does its work.
-- references: https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#cuda-graphs
-- remark: {% if facts -%}
--     Of {{ plural(facts.launch_calls, 'launching call') }}, {{ '{:,.0f}'.format(facts.recorded_launches) }} were recorded into graphs and did not run. This is a part of start-up; how fast the program is cannot be derived from it.
--   {%- endif %}
-- fix: Capture steps that run these graphs{% if program.is_server %}, such as requests to a server that has started{% endif %}.
-- needs: gpu, calls
-- remarks: yes
-- captures: every
-- only-with: triage: trace_id = $trace_id and reason = 'graph_capture'
select launch_calls, recorded_launches
from triage
where trace_id = $trace_id and reason = 'graph_capture'
