-- Where the steps of a run changed: their time, throughput and memory. docs/run-changes.md.

--: One row per change of a quantity of a run's steps that is beyond chance and beyond 2 %. Steps are numbers of run_step; times are
--: those of run_step.at_ns. Start-up of each attempt is left out.
create table if not exists run_change (
    --: Trace; 0 where logs were read without one.
    trace_id integer not null,
    --: Log in which it begins; see run_log.
    log_id integer not null,
    --: step_time, throughput or memory.
    quantity varchar not null,
    --: level (it stays so), window (it goes back at until_step) or slope (it grows or falls steadily).
    kind varchar not null,
    --: Attempt in which it begins; see run_step.
    attempt bigint not null,
    --: First step at the new level; of a slope the first step.
    step bigint not null,
    --: Least step at which the new level may begin, with 95 % confidence; NULL for a slope.
    step_low bigint,
    --: Last step at which the new level may begin, with 95 % confidence; NULL for a slope.
    step_high bigint,
    --: When that step was logged, ns; NULL without times.
    at_ns bigint,
    --: Attempt in which it ends; NULL for a level.
    until_attempt bigint,
    --: Last step at the new level, of a slope the last step; NULL for a level.
    until_step bigint,
    --: Least step at which the window may end, with 95 % confidence; NULL unless it is a window.
    until_low bigint,
    --: Last step at which the window may end, with 95 % confidence; NULL unless it is a window.
    until_high bigint,
    --: When that step was logged, ns; NULL without times, and for a level.
    until_at_ns bigint,
    --: Median before, in unit; of a slope where it begins.
    before double not null,
    --: Median at the new level, in unit; of a slope where it ends.
    after double not null,
    --: Unit of before and after: ns, bytes, or that of the throughput; NULL where the log does not say it.
    unit varchar,
    --: after / before.
    ratio double not null,
    --: Least ratio, with 95 % confidence.
    ratio_low double not null,
    --: Largest ratio, with 95 % confidence.
    ratio_high double not null
);
