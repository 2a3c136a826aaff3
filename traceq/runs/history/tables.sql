-- The tables of a history of reports (docs/history.md); times are UTC.

--: One row: the version of these tables.
create table if not exists history_schema (
    --: Version, raised with every change that breaks a reader.
    version integer not null
);

--: One row per report: a run of a program, of a job the lowest rank that was captured.
create table if not exists report (
    --: First 16 digits of the SHA-256 of `sha256` and `rank`: the same trace is the same report.
    report_id varchar not null,
    --: When it was added.
    added_at timestamp not null,
    --: When the run was: the order of the history.
    ran_at timestamp not null,
    --: Where `ran_at` comes from: option (--at), trace (its own clock) or added (it is `added_at`).
    ran_at_from varchar not null,
    --: Reports of one series can be compared: a hash of program, gpu, ranks, batch, format and step_name.
    series varchar not null,
    --: The user's word for the report (--label).
    label varchar,
    --: Program (--program, else the name of the run at ingest).
    program varchar,
    --: Commit of the program (--commit, a variable of the CI system, or git).
    commit varchar,
    --: Branch of the program.
    branch varchar,
    --: GPU that the findings are about, by its name.
    gpu varchar,
    --: Ranks of the job; 1 where the trace names no others.
    ranks integer not null,
    --: Batch of a loader, or samples per step where the program marks them.
    batch double,
    --: Format of the trace (chrome, nsys, ...).
    format varchar not null,
    --: Name of the steps, with # for digits.
    step_name varchar,
    --: Counted steps; 0 where the window is judged as a whole.
    steps integer not null,
    --: Rank that the quantities are of.
    rank integer,
    --: Name of the trace's file.
    file varchar not null,
    --: SHA-256 of the trace's file.
    sha256 varchar not null,
    --: traceq that added it.
    traceq varchar not null,
    --: problem, look into, healthy or cannot tell: the outcome of the report.
    outcome varchar,
    --: The first sentence of the report.
    verdict varchar
);

--: One row per report and quantity that it has.
create table if not exists quantity (
    --: Report.
    report_id varchar not null,
    --: Name as in traceq.toml: table and key (step.typical, ledger.compute, findings.RULE).
    name varchar not null,
    --: Value, in `unit`.
    value double not null,
    --: Lower bound within the report: the first quartile of the steps, the low bound of a saving.
    low double,
    --: Upper bound within the report: the third quartile of the steps, the high bound of a saving.
    high double,
    --: ns, bytes, share (0..1), /s, x, or the unit of a monitor's series.
    unit varchar not null
);

--: One row per report and fact: versions, knobs, variables, and what the user said with --set.
create table if not exists fact (
    --: Report.
    report_id varchar not null,
    --: Name as in the table made_with, or the user's.
    key varchar not null,
    --: Value as text.
    value varchar not null
);

--: One row per change that a person accepted: what came before no longer counts for `traceq check --against history`.
create table if not exists acceptance (
    --: When it was accepted.
    accepted_at timestamp not null,
    --: Series of the reports.
    series varchar not null,
    --: Name of the quantity; NULL: all of them.
    name varchar,
    --: First report that counts.
    report_id varchar not null,
    --: Why.
    because varchar not null
);
