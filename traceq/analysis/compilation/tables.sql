-- What torch.compile did, as its structured logs (TORCH_TRACE) say it, beside a trace or without one. docs/compile.md.
-- Times named ts are on the trace's clock, NULL where the log could not be placed on it; those named _at are ns since 1970 UTC.

--: One row per structured log of torch.compile: each process of a job writes its own.
create table if not exists compile_log (
    --: Trace; 0 where logs were read without one.
    trace_id integer not null,
    --: Number of the log within its trace.
    log_id integer not null,
    --: Name of the file.
    file varchar not null,
    --: Version of PyTorch; NULL where the log does not say it.
    version varchar,
    --: Process that wrote it.
    pid bigint,
    --: Rank of the process in its job; NULL where the log does not say it.
    rank integer,
    --: First time of a compilation, ns since 1970 UTC; NULL without one.
    first_at bigint,
    --: End of the last compilation, ns since 1970 UTC.
    last_at bigint,
    --: Whether its times are on the trace's clock. NULL without a trace.
    is_placed boolean,
    --: How it was placed, or why not.
    placement varchar,
    --: Lines of the file.
    lines bigint not null,
    --: Records that were read.
    records bigint not null,
    --: Lines that could not be read: damaged or cut records, and lines of other programs.
    lines_left_out bigint not null
);

--: One row per compilation of a frame, that is of a function, or of the rest of one after a graph break; attempts that
--: began anew belong to one row.
create table if not exists compilation (
    --: Trace; 0 where logs were read without one.
    trace_id integer not null,
    --: Log; see compile_log.
    log_id integer not null,
    --: Id as PyTorch writes it: FRAME/VERSION, with that of compiled autograd in front where it compiles; #2 and so on
    --: where the id came before, as after torch._dynamo.reset().
    compile_id varchar not null,
    --: Number of the frame.
    frame_id bigint not null,
    --: Version of the frame, from 0: a later one is a recompilation.
    frame_compile_id bigint not null,
    --: Function; torch_dynamo_resume_in_NAME_at_LINE is the rest of NAME after a graph break.
    function varchar,
    --: Its file.
    file varchar,
    --: Line where the function begins; of the rest of one, the line of the break.
    line bigint,
    --: Stack of the call, a frame a line, outermost first, as FILE(LINE): FUNCTION.
    stack varchar,
    --: Begin, ns since 1970 UTC.
    begin_at bigint,
    --: Begin on the trace's clock, ns.
    ts bigint,
    --: Duration, ns; NULL where the log ends before it, and where PyTorch refused to compile.
    dur bigint,
    --: Of that in the backend: AOTAutograd and Inductor, ns.
    backend_ns bigint,
    --: Of that in Inductor, ns.
    inductor_ns bigint,
    --: Of that in generating and compiling code, ns.
    code_gen_ns bigint,
    --: Of the duration in attempts that began anew, as after a graph break, ns.
    restart_ns bigint,
    --: Of the duration in writing this log, ns.
    overhead_ns bigint,
    --: Attempts: 1, and one more each time that it began anew.
    attempts bigint not null,
    --: Guards that are checked before the code runs.
    guards bigint,
    --: Operators of the graph.
    operators bigint,
    --: Nodes of the graph.
    nodes bigint,
    --: Inputs of the graph.
    inputs bigint,
    --: Versions of the frame that there were before it.
    cache_entries bigint,
    --: Whether compiled code came of it. NULL: the log does not say it.
    has_code boolean,
    --: Class of the error with which it failed; NULL: it did not.
    fail_type varchar,
    --: What the error says.
    fail_reason varchar,
    --: Whether PyTorch refused to compile one more version of the frame (recompile_limit): its calls run eagerly.
    is_refused boolean not null,
    --: Why it began anew, one reason a line; NULL: it did not.
    restart_reasons varchar
);

--: One row per part of a compilation, as PyTorch times it; parts lie within others.
create table if not exists compile_phase (
    --: Trace; 0 where logs were read without one.
    trace_id integer not null,
    --: Log; see compile_log.
    log_id integer not null,
    --: Number of the part within its log, in order of begin.
    phase_id bigint not null,
    --: The part that it lies in; NULL for the outermost.
    parent_id bigint,
    --: How deep it lies, from 0.
    depth integer not null,
    --: Compilation; NULL for one of none.
    compile_id varchar,
    --: Name as PyTorch gives it: entire_frame_compile, bytecode_tracing, backend_compile, inductor_compile, code_gen, ...
    name varchar not null,
    --: Begin, ns since 1970 UTC.
    begin_at bigint not null,
    --: Begin on the trace's clock, ns.
    ts bigint,
    --: Duration, ns; NULL where the log has no end of it.
    dur bigint
);

--: One row per graph break of a compilation: the graph ends at that line, which runs eagerly, and what comes after is
--: compiled by itself.
create table if not exists graph_break (
    --: Trace; 0 where logs were read without one.
    trace_id integer not null,
    --: Log; see compile_log.
    log_id integer not null,
    --: Number of the break within its log.
    break_id bigint not null,
    --: Compilation that broke.
    compile_id varchar not null,
    --: Attempt of it, from 0.
    attempt bigint not null,
    --: File of the line at which it broke, the innermost of the program's own code.
    file varchar,
    --: Line.
    line bigint,
    --: Function; NULL where the log does not say it.
    function varchar,
    --: Code of the line.
    code varchar,
    --: Line of the compiled function from which it is reached: what comes after is compiled as the rest from there.
    frame_line bigint,
    --: Line of a library in which it lies, as FILE(LINE): FUNCTION; NULL for the program's own.
    inside varchar,
    --: Cause by what the reason says: print, logging, item, branch (on a tensor's value), shape (that depends on values),
    --: disabled, asked (torch._dynamo.graph_break()), generator, context_manager, builtin, c_function, backward,
    --: custom_operator, other.
    kind varchar not null,
    --: Reason in PyTorch's words.
    reason varchar not null,
    --: PyTorch's first hint.
    hint varchar,
    --: What PyTorch names it by: the function, method or class.
    context varchar,
    --: Stack of the program, as Python prints it.
    stack varchar,
    --: When, ns since 1970 UTC.
    broken_at bigint,
    --: Whether PyTorch gave up on the whole function, as for breaks in a loop: all of it runs eagerly.
    skips_function boolean not null,
    --: Whether the log has a record of it. Logs before PyTorch 2.6 have none: then it follows from what was compiled after it.
    is_logged boolean not null
);

--: One row per guard of an earlier version of a frame that failed, so that the frame was compiled again.
create table if not exists recompilation (
    --: Trace; 0 where logs were read without one.
    trace_id integer not null,
    --: Log; see compile_log.
    log_id integer not null,
    --: Compilation that it led to.
    compile_id varchar not null,
    --: Earlier version whose guard failed; NULL where the log does not say it.
    failed_id varchar,
    --: Whether it is the first that the log names, of the latest version: one row a recompilation.
    is_latest boolean not null,
    --: The guard, in PyTorch's words.
    guard varchar not null,
    --: What changed: shape, stride, dtype, device, requires_grad, dispatch, int, float, text, length, bool, none, object
    --: (another function, class or module), state (grad mode, autocast and other settings), other.
    kind varchar not null,
    --: Value of the program that the guard watches; NULL where it names none.
    source varchar,
    --: What it was compiled for.
    expected varchar,
    --: What came; NULL where the guard does not say it.
    actual varchar,
    --: File of the line that needs the guard; NULL where the log does not say it.
    file varchar,
    --: Line.
    line bigint,
    --: Code of the line.
    code varchar,
    --: When, ns since 1970 UTC.
    failed_at bigint
);

--: One row per look of a compilation into a cache on disk.
create table if not exists compile_cache (
    --: Trace; 0 where logs were read without one.
    trace_id integer not null,
    --: Log; see compile_log.
    log_id integer not null,
    --: Compilation; NULL for one of none.
    compile_id varchar,
    --: Cache: fx_graph (Inductor's), aotautograd.
    cache varchar not null,
    --: hit, miss or bypass (not asked).
    outcome varchar not null,
    --: Key that was looked for.
    key varchar,
    --: Why it was not asked; NULL else.
    reason varchar,
    --: When, ns since 1970 UTC.
    looked_at bigint
);
