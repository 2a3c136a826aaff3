-- Traces of several ranks as one job: which ranks are there, which of their communication belongs together, and what each rank
-- makes the others wait. Filled for the whole database whenever a trace is added. Definitions: docs/metrics.md.

create table if not exists job (
    job integer not null,
    time_window integer not null,
    name varchar,
    world_size integer,
    ranks integer not null,
    hosts integer,
    absent integer,
    short_ranks integer not null,
    steps integer not null,
    communication bigint not null,
    matched_share double,
    mismatched integer not null,
    clock_residual bigint,
    claim_limit bigint,
    violations integer not null,
    dur bigint,
    replay_error double,
    transfer bigint,
    late_start bigint,
    ideal bigint,
    slowdown double,
    pattern varchar,
    cannot_tell varchar,
    usual_source varchar,
    slow_stage integer,
    stage_share double,
    stage_win bigint,
    wait_absent bigint,
    worker_share double
);
comment on table job is 'One row per job and time window: traces of the same run (else of the same size of the world; of one folder where ranks repeat) that were recorded at the same time. Single traces of programs with one rank have none.';
comment on column job.job is 'Number of the job, from 0.';
comment on column job.time_window is 'Number of the window within the job, from 0: the ranks of a job may have been recorded several times.';
comment on column job.name is 'Run of its traces, else their folder.';
comment on column job.world_size is 'Ranks that the program has; NULL when no trace says.';
comment on column job.ranks is 'Ranks whose traces are here.';
comment on column job.hosts is 'Hosts among them; NULL when no trace names its host.';
comment on column job.absent is 'world_size - ranks; NULL when world_size is.';
comment on column job.short_ranks is 'Ranks that were recorded for less than 95 % of the time of the longest.';
comment on column job.steps is 'Steps from the first counted one to the last, of the rank that has the most: its time holds excluded ones between them; 0 where none is counted.';
comment on column job.communication is 'Time of all communication between ranks on GPUs, of all ranks, ns.';
comment on column job.matched_share is 'Share of that in collectives that were found on all their ranks that are here; NULL without communication or with one rank.';
comment on column job.mismatched is 'Collectives that seemed to belong together and did not: two of one rank, more than the group has, other sizes.';
comment on column job.clock_residual is '95th percentile of how far the ends of a collective are apart after the clocks were aligned, ns; NULL when no collective tells.';
comment on column job.claim_limit is 'What is shorter is not called late, ns: three times clock_residual, at least 20 us; NULL when nothing is matched.';
comment on column job.violations is 'Matched collectives that end on one rank before another one begins, by the aligned clocks: a wrong match or a wrong clock. They are not used.';
comment on column job.dur is 'From the first arrival of a rank at a matched collective to the end of the last one, ns; NULL when the job cannot be judged.';
comment on column job.replay_error is '|replayed - dur| / dur of the job as it was.';
comment on column job.transfer is 'Of dur, time on its critical path in which collectives transfer, ns.';
comment on column job.late_start is 'Of dur, time before the first collective that is waited for: ranks whose recording began later, ns. No fix is promised for it.';
comment on column job.ideal is 'What dur would be if every rank were like the usual one at the same place, ns.';
comment on column job.slowdown is 'dur / ideal.';
comment on column job.pattern is 'Who holds it up: fixed (one rank), transient (at most 10 % of the steps hold half of it), alternating (several ranks), host, stage, wandering (a slowdown above 1.05 in at least 8 steps, and nobody holds the critical path up for more than a fifth of it, or than chance would give to one of them) or none (nobody is named); NULL when the job cannot be judged.';
comment on column job.cannot_tell is 'Why the job cannot be judged; NULL when it is.';
comment on column job.usual_source is 'What a rank is compared with: place (the median of the ranks of its stage at the same place) or operation (in tables of operations the mean of each type of operation over all ranks); NULL when the job cannot be judged.';
comment on column job.slow_stage is 'The stage (job_rank.stage) of a pipeline that holds up the others: in tables of operations the one that would save most if its ranks were usual, else the one with most own time, where stage_win is at least 1 % of dur; NULL without one.';
comment on column job.stage_share is 'In tables of operations what that stage would save / (dur - ideal), above 1 where other stages are quicker than the mean; NULL of other jobs.';
comment on column job.stage_win is 'What would be saved if all stages of the pipeline had as much own time, ns: own times scaled to the mean of the stages; NULL where no order of stages is known.';
comment on column job.wait_absent is 'Sum of job_rank.wait_absent: also known of one rank alone.';
comment on column job.worker_share is 'What would be saved if the slowest 3 % of the ranks (at least one: those that alone would still hold up a job of usual ranks most) were usual, as a share of what the replay of the recorded job takes beyond ideal; below 0 or above 1 where the usual is longer than what other ranks need. NULL where less than 1 % can be saved, or of more than 64 ranks.';

create table if not exists job_rank (
    job integer not null,
    time_window integer not null,
    unit integer not null,
    trace_id integer not null,
    device integer,
    rank integer,
    rank_source varchar not null,
    host varchar,
    stage integer,
    peers integer,
    clock_offset bigint,
    clock_drift double,
    clock_samples integer not null,
    own bigint,
    transfer bigint,
    wait bigint,
    late_count integer,
    late_by bigint,
    win bigint,
    tp integer,
    dp integer,
    pp integer,
    ep integer,
    wait_absent bigint,
    group_win bigint,
    late bigint
);
comment on table job_rank is 'One row per rank of a job and time window: one GPU of one process. From own on NULL when the job cannot be judged.';
comment on column job_rank.unit is 'Number within the window, from 0, in the order of ranks.';
comment on column job_rank.trace_id is 'Its trace.';
comment on column job_rank.device is 'Its GPU; NULL without GPU work.';
comment on column job_rank.rank is 'Its rank.';
comment on column job_rank.rank_source is 'What told it: trace (also tables of operations), process (NCCL''s own record), file (the name of the file) or order (of the GPUs of a trace).';
comment on column job_rank.host is 'Its host; NULL when unknown.';
comment on column job_rank.stage is 'Ranks with the same list of collectives (and the same pp) have the same number, from 0 in the order of ranks: copies of a stage; NULL when nothing is matched.';
comment on column job_rank.peers is 'How many ranks are in that stage.';
comment on column job_rank.clock_offset is 'What is taken off its times to be on the common clock, ns; NULL when no collective joins it to the others.';
comment on column job_rank.clock_drift is 'What is taken off in addition, ns per ns from the middle of its collectives on.';
comment on column job_rank.clock_samples is 'Collectives that tell these.';
comment on column job_rank.own is 'Time before its matched collectives in which it waited for none, from its first one on, ns. Each moment counts once in own, transfer or wait, however many streams are busy.';
comment on column job_rank.transfer is 'Of the rest, time in matched collectives that the fastest rank of each needed as well, ns.';
comment on column job_rank.wait is 'Of the rest, time in matched collectives: waiting for other ranks, ns.';
comment on column job_rank.late_count is 'Collectives at which it clearly came last.';
comment on column job_rank.late_by is 'By how much in all, against the second last, ns.';
comment on column job_rank.win is 'What the job would save if only this rank were like the usual one, ns; NULL when the job cannot be judged, or has more than 64 ranks (straggler.win tells of those that are named).';
comment on column job_rank.tp is 'Its place among tensor-parallel ranks; NULL when unknown.';
comment on column job_rank.dp is 'Its copy of the model; NULL when unknown.';
comment on column job_rank.pp is 'Its stage of the pipeline; NULL when unknown.';
comment on column job_rank.ep is 'Its place among expert-parallel ranks; NULL when unknown.';
comment on column job_rank.wait_absent is 'Time in collectives in which it waits for ranks that are not here, ns: collective_match.wait_absent, and the same of collectives that were found on it alone; NULL where none tells.';
comment on column job_rank.group_win is 'What the ranks that groups join to it, directly or by others, would save if only this rank were like the usual one, ns: win, where they are all ranks of the job. NULL where win is, and of ranks without matched collectives.';
comment on column job_rank.late is 'Of own, time beyond the usual (collective_member.usual), ns; each moment once.';

create table if not exists collective_match (
    job integer not null,
    time_window integer not null,
    match_id integer not null,
    op varchar not null,
    bytes bigint,
    group_id varchar,
    group_size integer,
    members integer not null,
    match_source varchar not null,
    step integer,
    ts_end bigint,
    transfer bigint not null,
    late_unit integer,
    late_by bigint,
    late_alone bigint,
    wait_absent bigint
);
comment on table collective_match is 'One row per collective that was found on several ranks.';
comment on column collective_match.match_id is 'Number within the window, from 0.';
comment on column collective_match.op is 'As in communication_name; send_recv for a send with its receive.';
comment on column collective_match.bytes is 'Message size; NULL when unknown, or when it differs between ranks that may differ.';
comment on column collective_match.group_id is 'Its process group: the group''s name with its ranks, or what was inferred.';
comment on column collective_match.group_size is 'Ranks of the group; NULL when unknown.';
comment on column collective_match.members is 'Ranks it was found on.';
comment on column collective_match.match_source is 'What told that they belong together: comms_id, sequence, counted (the same ordinal in the same step) or co_end (they end together).';
comment on column collective_match.step is 'Step of the rank with the lowest unit; NULL outside all steps.';
comment on column collective_match.ts_end is 'Median end on the common clock, ns.';
comment on column collective_match.transfer is 'Duration of the rank that needed least, ns: that one waited for nobody.';
comment on column collective_match.late_unit is 'The rank that came last, job_rank.unit; NULL when the two last came within job.claim_limit, or a rank of the group is absent.';
comment on column collective_match.late_by is 'By how much it came later than the usual rank, ns.';
comment on column collective_match.late_alone is 'By how much it came later than the second last, ns: what is won here by that rank alone.';
comment on column collective_match.wait_absent is 'Of transfer, waiting for ranks of the group that are not here, ns: what it is above the 5th percentile of operation, group and size (of at least 8), if that is more than half of it and than job.claim_limit; 0 where all ranks are here, NULL where its class does not tell.';

create table if not exists collective_member (
    job integer not null,
    time_window integer not null,
    trace_id integer not null,
    slice_id bigint not null,
    unit integer not null,
    match_id integer,
    wait bigint,
    own_begins bigint,
    own bigint,
    usual bigint,
    on_path boolean not null
);
comment on table collective_member is 'One row per GPU slice of communication between ranks: which collective it is part of, and what its rank did before.';
comment on column collective_member.unit is 'Its rank, job_rank.unit.';
comment on column collective_member.match_id is 'The collective; NULL when the slice could not be matched.';
comment on column collective_member.wait is 'Of its duration, waiting for other ranks, ns: duration - transfer of the collective; NULL when not matched.';
comment on column collective_member.own_begins is 'When its rank had got what it waited for before: end of the collectives that this one follows, ns on the trace''s clock; NULL for the first.';
comment on column collective_member.own is 'From there to its start, ns; for the first, how much later than the first rank it came. NULL when not matched.';
comment on column collective_member.usual is 'Median of own over ranks of the same stage at the same place, ns (of fewer than three over the steps as well); in tables of operations the mean of each type of operation over all ranks instead. NULL where only one is there.';
comment on column collective_member.on_path is 'Whether its own time is on the critical path of the job: all waited for it.';

create table if not exists straggler (
    job integer not null,
    time_window integer not null,
    place integer not null,
    kind varchar not null,
    units integer[] not null,
    name varchar not null,
    adds bigint not null,
    win bigint not null,
    late_steps double,
    cause varchar,
    cause_ns bigint,
    usual_unit integer,
    operator_id bigint,
    operator varchar,
    operator_dur bigint,
    usual_operator_dur bigint
);
comment on table straggler is 'One row per rank, host or stage that makes the others wait for at least 1 % of job.dur, the one that costs most first. Their wins add up in this order only.';
comment on column straggler.place is 'From 1: the order in which they are to be fixed.';
comment on column straggler.kind is 'rank, host or stage.';
comment on column straggler.units is 'The ranks that belong to it, job_rank.unit.';
comment on column straggler.name is 'Rank 0, host n17, stage 3.';
comment on column straggler.adds is 'What it saves when those before it are fixed already, ns.';
comment on column straggler.win is 'What it saves alone, ns.';
comment on column straggler.late_steps is 'Share of the steps in which it holds the job up; NULL for jobs of one step.';
comment on column straggler.cause is 'Category of the ledger whose time before its late arrivals exceeds that of the usual rank at the same places most; NULL when the ledger does not tell.';
comment on column straggler.cause_ns is 'By how much, ns.';
comment on column straggler.usual_unit is 'The rank that was the usual one most often, job_rank.unit; NULL when its time was as usual.';
comment on column straggler.operator_id is 'The operator (cpu_slice) before a late arrival that took longest beyond the same call on usual_unit; NULL where operators do not correspond one to one.';
comment on column straggler.operator is 'Its name; in tables of operations the type of operation that exceeds the mean most (operator_id is NULL).';
comment on column straggler.operator_dur is 'How long it took, ns; of a type of operation the mean on its ranks.';
comment on column straggler.usual_operator_dur is 'How long the same call took on usual_unit, ns; of a type of operation the mean on all ranks.';
