-- Captures made while CUDA graphs are recorded: what is launched then does not run.
-- title: Kernels are captured into graphs and do not run
-- finds: Captures in which most launch calls are part of recording a graph, as servers do once for each batch size when they
--   start.
-- matters: The GPU is idle because there is nothing to run yet. Recording happens once and does not slow down what the program
--   does later, so rules on idle time do not run.
-- measured: Calls that launch kernels, where the last call of their process that begins or ends a recording is
--   cudaStreamBeginCapture or hipStreamBeginCapture, over all calls that launch kernels.
-- try: Capture the program after start-up, while it does its work.
-- references: https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#cuda-graphs
-- remark: {% if facts -%} Of {{ plural(facts.launch_calls, 'launch call') }}, {{ '{:,.0f}'.format(facts.recorded_launches) }}
--   were recorded into graphs and did not run. This is part of start-up and does not show how fast the program is. {%- endif %}
-- fix: Capture steps that run these graphs{% if program.is_server %}, such as requests to a server after start-up{% endif %}.
-- needs: gpu, calls
-- remarks: yes
-- captures: every
-- only-with: triage: trace_id = $trace_id and reason = 'graph_capture'
select launch_calls, recorded_launches
from triage
where trace_id = $trace_id and reason = 'graph_capture'
