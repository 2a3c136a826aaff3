-- CUDA and HIP graphs: what a capture of the program without graphs, or of the capture of its graphs, tells of replayed kernels.
-- Definitions: docs/metrics.md.

create table if not exists graph_launch (
    trace_id integer not null,
    launch_id bigint not null,
    step integer,
    kernels integer not null,
    dur bigint not null,
    matched_kernels integer not null,
    matched_dur bigint not null,
    share double not null,
    matched_by varchar,
    captured_graph integer,
    capture varchar,
    candidates integer not null,
    reason varchar
);
comment on table graph_launch is 'One row per launch of a graph whose kernels were traced one by one, where a capture was given beside the trace (--capture), or is in it: which captured graph it replays, and how sure that is.';
comment on column graph_launch.launch_id is 'The launching call in cpu_slice.';
comment on column graph_launch.step is 'gpu_slice.step of its kernels.';
comment on column graph_launch.kernels is 'Kernels that it ran.';
comment on column graph_launch.dur is 'Sum of their durations, ns.';
comment on column graph_launch.matched_kernels is 'Of them those that have their place in the captured graph; 0 where none is taken for it.';
comment on column graph_launch.matched_dur is 'Sum of their durations, ns.';
comment on column graph_launch.share is 'Kernels that agree with the captured graph nearest to it, by count, of the longer of both; 0 to 1. Below 0.9 that graph is not taken for it.';
comment on column graph_launch.matched_by is 'node id: by the ids of the graph''s nodes; order: by the names of its kernels in their order; count: by their number alone, as the capture does not name kernels (CUDA). NULL where no captured graph is taken for it.';
comment on column graph_launch.captured_graph is 'Number of the captured graph, from 0 in the order of the capture, the first one of those that agree equally; NULL for none, and where kernels that ran without a graph were taken.';
comment on column graph_launch.capture is 'Name of the annotation around its capture; NULL for none.';
comment on column graph_launch.candidates is 'Captured graphs, or sequences of kernels without a graph, that agree equally with it. What they do not agree on is NULL in graph_kernel.';
comment on column graph_launch.reason is 'Why no captured graph is taken for it; NULL where one is.';

create table if not exists graph_kernel (
    trace_id integer not null,
    slice_id bigint not null,
    launch_id bigint not null,
    place integer,
    matched_by varchar,
    operator_id bigint,
    operator varchar,
    shapes varchar,
    types varchar,
    module varchar,
    line varchar
);
comment on table graph_kernel is 'One row per kernel of a launch in graph_launch: the operator that launched it when its graph was captured, or when the program ran without graphs.';
comment on column graph_kernel.slice_id is 'The kernel in gpu_slice.';
comment on column graph_kernel.launch_id is 'The launch of the graph, as in graph_launch.';
comment on column graph_kernel.place is 'Its place among the kernels of the captured graph, from 0; NULL where it has none.';
comment on column graph_kernel.matched_by is 'node id, order or count as in graph_launch; name: of kernels that run in another order than they were captured in, by their names, of which both have equally many. NULL where it has no place.';
comment on column graph_kernel.operator_id is 'The operator in graph_operator; NULL for none, and where captured graphs that agree equally have others there.';
comment on column graph_kernel.operator is 'Its name.';
comment on column graph_kernel.shapes is 'Shapes of its inputs, JSON; NULL where they were not recorded.';
comment on column graph_kernel.types is 'Types of its inputs, JSON.';
comment on column graph_kernel.module is 'Module that launched it and those around that, with / between, as in the table module; NULL for none, and where captured graphs that agree equally have others.';
comment on column graph_kernel.line is 'Python frame that launched it, of a file that is neither PyTorch''s nor of the standard library: FILE(LINE): FUNCTION; NULL as for module.';

create table if not exists graph_operator (
    trace_id integer not null,
    slice_id bigint not null,
    launch_id bigint not null,
    name varchar not null,
    ts bigint not null,
    operator_id bigint,
    args varchar using compression zstd
);
comment on table graph_operator is 'One row per launch of a graph and operator that launched kernels of it when it was captured. It did not run then: it has a place, no duration.';
comment on column graph_operator.slice_id is 'Key within its trace, shared with cpu_slice and gpu_slice; operator_cost.slice_id can be one.';
comment on column graph_operator.launch_id is 'The launch of the graph.';
comment on column graph_operator.name is 'Name.';
comment on column graph_operator.ts is 'Start of the launch of the graph, ns.';
comment on column graph_operator.operator_id is 'graph_operator around it; NULL for none.';
comment on column graph_operator.args is 'JSON, as in cpu_slice: shapes, types and settings of its inputs.';
