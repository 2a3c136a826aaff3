-- CUDA and HIP graphs: what a capture of the program without graphs, or of the capture of its graphs, tells of replayed kernels.
-- Definitions: docs/metrics.md.

--: One row per launch of a graph whose kernels were traced one by one, where a capture was given beside the trace
--: (--capture), or is in it: which captured graph it replays, and how sure that is.
create table if not exists graph_launch (
    --: Trace.
    trace_id integer not null,
    --: The launching call in cpu_slice.
    launch_id bigint not null,
    --: gpu_slice.step of its kernels.
    step integer,
    --: Kernels that it ran.
    kernels integer not null,
    --: Sum of their durations, ns.
    dur bigint not null,
    --: Of them those that have their place in the captured graph; 0 where none is taken for it.
    matched_kernels integer not null,
    --: Sum of their durations, ns.
    matched_dur bigint not null,
    --: Kernels that agree with the captured graph nearest to it, by count, of the longer of both; 0 to 1. Below 0.9
    --: that graph is not taken for it.
    share double not null,
    --: node id: by the ids of the graph's nodes; order: by the names of its kernels in their order; count: by their
    --: number alone, as the capture does not name kernels (CUDA). NULL where no captured graph is taken for it.
    matched_by varchar,
    --: Number of the captured graph, from 0 in the order of the capture, the first one of those that agree equally;
    --: NULL for none, and where kernels that ran without a graph were taken.
    captured_graph integer,
    --: Name of the annotation around its capture; NULL for none.
    capture varchar,
    --: Captured graphs, or sequences of kernels without a graph, that agree equally with it. What they do not agree on
    --: is NULL in graph_kernel.
    candidates integer not null,
    --: Why no captured graph is taken for it; NULL where one is.
    reason varchar
);

--: One row per kernel of a launch in graph_launch: the operator that launched it when its graph was captured, or when
--: the program ran without graphs.
create table if not exists graph_kernel (
    --: Trace.
    trace_id integer not null,
    --: The kernel in gpu_slice.
    slice_id bigint not null,
    --: The launch of the graph, as in graph_launch.
    launch_id bigint not null,
    --: Its place among the kernels of the captured graph, from 0; NULL where it has none.
    place integer,
    --: node id, order or count as in graph_launch; name: of kernels that run in another order than they were captured
    --: in, by their names, of which both have equally many. NULL where it has no place.
    matched_by varchar,
    --: The operator in graph_operator; NULL for none, and where captured graphs that agree equally have others there.
    operator_id bigint,
    --: Its name.
    operator varchar,
    --: Shapes of its inputs, JSON; NULL where they were not recorded.
    shapes varchar,
    --: Types of its inputs, JSON.
    types varchar,
    --: Module that launched it and those around that, with / between, as in the table module; NULL for none, and where
    --: captured graphs that agree equally have others.
    module varchar,
    --: Python frame that launched it, of a file that is neither PyTorch's nor of the standard library: FILE(LINE):
    --: FUNCTION; NULL as for module.
    line varchar
);

--: One row per launch of a graph and operator that launched kernels of it when it was captured. It did not run then: it
--: has a place, no duration.
create table if not exists graph_operator (
    --: Trace.
    trace_id integer not null,
    --: Key within its trace, shared with cpu_slice and gpu_slice; operator_cost.slice_id can be one.
    slice_id bigint not null,
    --: The launch of the graph.
    launch_id bigint not null,
    --: Name.
    name varchar not null,
    --: Start of the launch of the graph, ns.
    ts bigint not null,
    --: graph_operator around it; NULL for none.
    operator_id bigint,
    --: JSON, as in cpu_slice: shapes, types and settings of its inputs.
    args varchar using compression zstd
);

--: One row per GPU slice of a CUDA graph that the program named while it captured the graph (torch.cuda.graph_annotations of
--: PyTorch 2.12 and later, which writes the names into the trace).
create table if not exists graph_region (
    --: Trace.
    trace_id integer not null,
    --: The GPU slice.
    slice_id bigint not null,
    --: What the innermost mark_kernels around it was called; NULL where it has a module only.
    region varchar,
    --: Module that launched it and those around that, with / between, as in the table module; NULL where neither module_fqn
    --: nor the name of the region tells one.
    module varchar,
    --: forward, backward or optimizer; NULL where nothing tells.
    phase varchar,
    --: annotation (autograd_phase, or words of the region) or order: the modules of a graph ran once forward and then in
    --: reverse. NULL where phase is.
    phase_source varchar
);
