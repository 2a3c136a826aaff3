-- Traces of several ranks as one job: which ranks are there, which of their communication belongs together, and what each rank
-- makes the others wait. Filled for the whole database whenever a trace is added. Definitions: docs/metrics.md.

--: One row per job and time window: traces of the same run (else of the same size of the world; of one folder where
--: ranks repeat) that were recorded at the same time. Single traces of programs with one rank have none.
create table if not exists job (
    --: Number of the job, from 0.
    job integer not null,
    --: Number of the window within the job, from 0: the ranks of a job may have been recorded several times.
    time_window integer not null,
    --: Run of its traces, else their folder.
    name varchar,
    --: Ranks that the program has; NULL when no trace says.
    world_size integer,
    --: Ranks whose traces are here.
    ranks integer not null,
    --: Hosts among them; NULL when no trace names its host.
    hosts integer,
    --: world_size - ranks; NULL when world_size is.
    absent integer,
    --: Ranks that were recorded for less than 95 % of the time of the longest.
    short_ranks integer not null,
    --: Steps from the first counted one to the last, of the rank that has the most: its time holds excluded ones
    --: between them; 0 where none is counted.
    steps integer not null,
    --: Time of all communication between ranks on GPUs, of all ranks, ns.
    communication bigint not null,
    --: Share of that in collectives that were found on all their ranks that are here; NULL without communication or
    --: with one rank.
    matched_share double,
    --: Collectives that seemed to belong together and did not: two of one rank, more than the group has, other sizes.
    mismatched integer not null,
    --: 95th percentile of how far the ends of a collective are apart after the clocks were aligned, ns; NULL when no
    --: collective tells.
    clock_residual bigint,
    --: What is shorter is not called late, ns: three times clock_residual, at least 20 us; NULL when nothing is
    --: matched.
    claim_limit bigint,
    --: Matched collectives that end on one rank before another one begins, by the aligned clocks: a wrong match or a
    --: wrong clock. They are not used.
    violations integer not null,
    --: From the first arrival of a rank at a matched collective to the end of the last one, ns; NULL when the job
    --: cannot be judged.
    dur bigint,
    --: |replayed - dur| / dur of the job as it was.
    replay_error double,
    --: Of dur, time on its critical path in which collectives transfer, ns.
    transfer bigint,
    --: Of dur, time before the first collective that is waited for: ranks whose recording began later, ns. No fix is
    --: promised for it.
    late_start bigint,
    --: What dur would be if every rank were like the usual one at the same place, ns.
    ideal bigint,
    --: dur / ideal.
    slowdown double,
    --: Who holds it up: fixed (one rank), transient (at most 10 % of the steps hold half of it), alternating (several
    --: ranks), host, stage, wandering (a slowdown above 1.05 in at least 8 steps, and nobody holds the critical path up
    --: for more than a fifth of it, or than chance would give to one of them) or none (nobody is named); NULL when the
    --: job cannot be judged.
    pattern varchar,
    --: Why the job cannot be judged; NULL when it is.
    cannot_tell varchar,
    --: What a rank is compared with: place (the median of the ranks of its stage at the same place) or operation (in
    --: tables of operations the mean of each type of operation over all ranks); NULL when the job cannot be judged.
    usual_source varchar,
    --: The stage (job_rank.stage) of a pipeline that holds up the others: in tables of operations the one that would
    --: save most if its ranks were usual, else the one with most own time, where stage_win is at least 1 % of dur; NULL
    --: without one.
    slow_stage integer,
    --: In tables of operations what that stage would save / (dur - ideal), above 1 where other stages are quicker than
    --: the mean; NULL of other jobs.
    stage_share double,
    --: What would be saved if all stages of the pipeline had as much own time, ns: own times scaled to the mean of the
    --: stages; NULL where no order of stages is known.
    stage_win bigint,
    --: Sum of job_rank.wait_absent: also known of one rank alone.
    wait_absent bigint,
    --: What would be saved if the slowest 3 % of the ranks (at least one: those that alone would still hold up a job of
    --: usual ranks most) were usual, as a share of what the replay of the recorded job takes beyond ideal; below 0 or
    --: above 1 where the usual is longer than what other ranks need. NULL where less than 1 % can be saved, or of more
    --: than 64 ranks.
    worker_share double
);

--: One row per rank of a job and time window: one GPU of one process. From own on NULL when the job cannot be judged.
create table if not exists job_rank (
    --: Job.
    job integer not null,
    --: Window of the job.
    time_window integer not null,
    --: Number within the window, from 0, in the order of ranks.
    unit integer not null,
    --: Its trace.
    trace_id integer not null,
    --: Its GPU; NULL without GPU work.
    device integer,
    --: Its rank.
    rank integer,
    --: What told it: trace (also tables of operations), process (NCCL's own record), file (the name of the file) or
    --: order (of the GPUs of a trace).
    rank_source varchar not null,
    --: Its host; NULL when unknown.
    host varchar,
    --: Ranks with the same list of collectives (and the same pp) have the same number, from 0 in the order of ranks:
    --: copies of a stage; NULL when nothing is matched.
    stage integer,
    --: How many ranks are in that stage.
    peers integer,
    --: What is taken off its times to be on the common clock, ns; NULL when no collective joins it to the others.
    clock_offset bigint,
    --: What is taken off in addition, ns per ns from the middle of its collectives on.
    clock_drift double,
    --: Collectives that tell these.
    clock_samples integer not null,
    --: Time before its matched collectives in which it waited for none, from its first one on, ns. Each moment counts
    --: once in own, transfer or wait, however many streams are busy.
    own bigint,
    --: Of the rest, time in matched collectives that the fastest rank of each needed as well, ns.
    transfer bigint,
    --: Of the rest, time in matched collectives: waiting for other ranks, ns.
    wait bigint,
    --: Collectives at which it clearly came last.
    late_count integer,
    --: By how much in all, against the second last, ns.
    late_by bigint,
    --: What the job would save if only this rank were like the usual one, ns; NULL when the job cannot be judged, or
    --: has more than 64 ranks (straggler.win tells of those that are named).
    win bigint,
    --: Its place among tensor-parallel ranks; NULL when unknown.
    tp integer,
    --: Its copy of the model; NULL when unknown.
    dp integer,
    --: Its stage of the pipeline; NULL when unknown.
    pp integer,
    --: Its place among expert-parallel ranks; NULL when unknown.
    ep integer,
    --: Time in collectives in which it waits for ranks that are not here, ns: collective_match.wait_absent, and the
    --: same of collectives that were found on it alone; NULL where none tells.
    wait_absent bigint,
    --: What the ranks that groups join to it, directly or by others, would save if only this rank were like the usual
    --: one, ns: win, where they are all ranks of the job. NULL where win is, and of ranks without matched collectives.
    group_win bigint,
    --: Of own, time beyond the usual (collective_member.usual), ns; each moment once.
    late bigint,
    --: Lowest unit of the ranks that it is one with in job_pair: itself in jobs of up to 64 ranks, else those of its
    --: host, where all hosts are known and no more than 64, else the ranks next to it.
    block integer,
    --: Part of the job that it is in: ranks that process groups join, directly or by others; from 0, the largest first.
    --: NULL when the job cannot be judged, and of ranks without matched collectives.
    part integer
);

--: One row per collective that was found on several ranks.
create table if not exists collective_match (
    --: Job.
    job integer not null,
    --: Window of the job.
    time_window integer not null,
    --: Number within the window, from 0.
    match_id integer not null,
    --: As in communication_name; send_recv for a send with its receive.
    op varchar not null,
    --: Message size; NULL when unknown, or when it differs between ranks that may differ.
    bytes bigint,
    --: Its process group: the group's name with its ranks, or what was inferred.
    group_id varchar,
    --: Ranks of the group; NULL when unknown.
    group_size integer,
    --: Ranks it was found on.
    members integer not null,
    --: What told that they belong together: comms_id, sequence, pair (of sends and receives the same ordinal between two
    --: ranks that name each other), counted (the same ordinal in the same step) or co_end (they end together).
    match_source varchar not null,
    --: Step of the rank with the lowest unit; NULL outside all steps.
    step integer,
    --: Median end on the common clock, ns.
    ts_end bigint,
    --: Duration of the rank that needed least, ns: that one waited for nobody. Where wait_source is arrival, or a root
    --: is known, what is left of the shortest duration without waiting.
    transfer bigint not null,
    --: The rank that came last, job_rank.unit; of broadcasts and scatters the root, where others waited for it. NULL when
    --: the two last came within job.claim_limit, a rank of the group is absent, or nothing tells who waited.
    late_unit integer,
    --: By how much it came later than the usual rank, ns; NULL when nothing tells.
    late_by bigint,
    --: By how much it came later than the second last, ns: what is won here by that rank alone; NULL when nothing tells.
    late_alone bigint,
    --: Of transfer, waiting for ranks of the group that are not here, ns: what it is above the 5th percentile of
    --: operation, group and size (of at least 8), if that is more than half of it and than job.claim_limit; 0 where all
    --: ranks are here, NULL where its class does not tell.
    wait_absent bigint,
    --: Of broadcasts, scatters, reduces and gathers the root, job_rank.unit; NULL when no trace tells, they differ, or it
    --: is not here. NULL of all others.
    root_unit integer,
    --: What tells who waited and how long: duration (what a rank took beyond the fastest) or arrival (of broadcasts,
    --: scatters, reduces, gathers and all-to-alls when each rank came, on aligned clocks). NULL when nothing does: the
    --: root is not known.
    wait_source varchar
);

--: One row per GPU slice of communication between ranks: which collective it is part of, and what its rank did before.
create table if not exists collective_member (
    --: Job.
    job integer not null,
    --: Window of the job.
    time_window integer not null,
    --: Trace.
    trace_id integer not null,
    --: The gpu_slice.
    slice_id bigint not null,
    --: Its rank, job_rank.unit.
    unit integer not null,
    --: The collective; NULL when the slice could not be matched.
    match_id integer,
    --: Of its duration, waiting for other ranks, ns: duration - transfer of the collective. In an all-to-all until the last
    --: came, if clocks are aligned; in a broadcast or scatter until the root did, in a reduce or gather of the root alone.
    --: NULL when not matched, or when the root is not known.
    wait bigint,
    --: When its rank had got what it waited for before: end of the collectives that this one follows, ns on the trace's
    --: clock; NULL for the first.
    own_begins bigint,
    --: From there to its start, ns; for the first, how much later than the first rank it came. NULL when not matched.
    own bigint,
    --: Median of own over ranks of the same stage at the same place, ns (of fewer than three over the steps as well);
    --: in tables of operations the mean of each type of operation over all ranks instead. NULL where only one is there.
    usual bigint,
    --: Whether its own time is on the critical path of the job: all waited for it.
    on_path boolean not null
);

--: One row per rank, host or stage that makes the others wait for at least 1 % of job.dur, the one that costs most
--: first. Their wins add up in this order only.
create table if not exists straggler (
    --: Job.
    job integer not null,
    --: Window of the job.
    time_window integer not null,
    --: From 1: the order in which they are to be fixed.
    place integer not null,
    --: rank, host or stage.
    kind varchar not null,
    --: The ranks that belong to it, job_rank.unit.
    units integer[] not null,
    --: Rank 0, host n17, stage 3.
    name varchar not null,
    --: What it saves when those before it are fixed already, ns.
    adds bigint not null,
    --: What it saves alone, ns.
    win bigint not null,
    --: Share of the steps in which it holds the job up; NULL for jobs of one step.
    late_steps double,
    --: Category of the ledger whose time before its late arrivals exceeds that of the usual rank at the same places
    --: most; NULL when the ledger does not tell.
    cause varchar,
    --: By how much, ns.
    cause_ns bigint,
    --: The rank that was the usual one most often, job_rank.unit; NULL when its time was as usual.
    usual_unit integer,
    --: The operator (cpu_slice) before a late arrival that took longest beyond the same call on usual_unit; NULL where
    --: operators do not correspond one to one.
    operator_id bigint,
    --: Its name; in tables of operations the type of operation that exceeds the mean most (operator_id is NULL).
    operator varchar,
    --: How long it took, ns; of a type of operation the mean on its ranks.
    operator_dur bigint,
    --: How long the same call took on usual_unit, ns; of a type of operation the mean on all ranks.
    usual_operator_dur bigint
);

--: One row per late rank of a part of a job (job_rank.part) that falls into several: ranks that each save at least 1 % of
--: the part's time beside the others. Sums of adds are what several save together, as they are in this order only.
create table if not exists group_straggler (
    --: Job.
    job integer not null,
    --: Window of the job.
    time_window integer not null,
    --: The part, job_rank.part.
    part integer not null,
    --: From 1: the order in which the ranks of a part are to be fixed.
    place integer not null,
    --: The rank, job_rank.unit.
    unit integer not null,
    --: What its part saves when those before it are fixed already, ns.
    adds bigint not null,
    --: What its part saves when it alone is fixed, ns.
    win bigint not null
);

--: One row per process group whose collectives were matched: its ranks, and the axis of parallelism it runs along.
create table if not exists job_group (
    --: Job.
    job integer not null,
    --: Window of the job.
    time_window integer not null,
    --: As in collective_match.
    group_id varchar not null,
    --: Name of the group on its lowest rank; NULL when it has none.
    group_name varchar,
    --: What the program calls it; NULL when it says nothing.
    description varchar,
    --: Ranks of the group; NULL when unknown.
    group_size integer,
    --: Those that are here, job_rank.unit.
    units integer[] not null,
    --: Difference between one rank and the next; NULL when it varies or some are not here.
    stride integer,
    --: As in process_group; NULL when nothing tells, or its ranks tell different ones.
    axis varchar,
    --: As in process_group; also coordinates (only their place on this axis differs, as job_rank says).
    axis_source varchar,
    --: Its collectives.
    collectives bigint not null,
    --: Their message sizes, each collective once; NULL when unknown.
    bytes bigint,
    --: Bytes times the factor of nccl-tests, of those whose size and factor are known: what a rank moves over the bus.
    moved double,
    --: Time of the fastest rank in those, ns: moved / moved_in is their bus bandwidth without waiting, GB/s. NULL when
    --: the job cannot be judged.
    moved_in bigint
);

--: One row per rank and process group that it communicates in, and per axis of what could not be matched: the time of
--: its collectives between counted steps, and what of it is waiting.
create table if not exists job_axis_rank (
    --: Job.
    job integer not null,
    --: Window of the job.
    time_window integer not null,
    --: The rank, job_rank.unit.
    unit integer not null,
    --: As in job_group; NULL for collectives that were not matched.
    group_id varchar,
    --: As in job_group; of those not matched as in process_group.
    axis varchar,
    --: As in job_group.
    axis_source varchar,
    --: Its GPU slices.
    collectives bigint not null,
    --: Message sizes together; NULL when unknown.
    bytes bigint,
    --: Durations together, ns.
    dur bigint not null,
    --: Of that, without compute beside it, ns.
    exposed bigint not null,
    --: Of dur, what the fastest rank of each collective needed as well, ns; NULL when not matched, or the job cannot be
    --: judged.
    transfer bigint,
    --: Of dur, the rest: waiting for other ranks, ns; NULL as transfer is.
    wait bigint,
    --: Of wait, the least that is exposed, ns: what exposes more than the transfer. NULL as transfer is.
    wait_exposed bigint,
    --: Collectives at which it clearly came last; NULL as transfer is.
    late_count bigint,
    --: By how much in all, against the second last, ns; NULL as transfer is.
    late_by bigint
);

--: One row per pair of ranks that communicate with each other in a judged job, in both orders; of more than 64 ranks per
--: pair of blocks (job_rank.block), of which one may be the same as the other.
create table if not exists job_pair (
    --: Job.
    job integer not null,
    --: Window of the job.
    time_window integer not null,
    --: The rank, or the lowest of its block, job_rank.unit.
    unit integer not null,
    --: The other one.
    other integer not null,
    --: Message sizes of the collectives that both take part in, each once; NULL when unknown.
    bytes bigint,
    --: Time of the fastest rank in each of these, ns.
    transfer bigint,
    --: What the ranks of unit waited in collectives at which the other clearly came last, ns.
    wait bigint not null
);

--: One row per piece of the critical path of a judged job: what all its ranks waited for, from job's begin to its end.
--: The pieces follow each other without a gap and add up to job.dur. Whose own time it is is told by the replay; where
--: clocks make a rank come before what it waited for has ended, its piece is empty.
create table if not exists job_path (
    --: Job.
    job integer not null,
    --: Window of the job.
    time_window integer not null,
    --: Place on the path, from 0.
    place integer not null,
    --: own (what the rank did by itself before it came to the collective), transfer (the rest of the collective, to which
    --: it came last) or late_start (before the first collective that is waited for, as job.late_start).
    kind varchar not null,
    --: The rank that came last, job_rank.unit.
    unit integer not null,
    --: Its trace.
    trace_id integer not null,
    --: Its gpu_slice in that collective.
    slice_id bigint not null,
    --: The collective, collective_match.match_id.
    match_id integer not null,
    --: Step of the collective, as in collective_match; NULL outside all steps.
    step integer,
    --: Begin on the common clock, ns.
    ts_begin bigint not null,
    --: Duration, ns.
    dur bigint not null,
    --: Of own pieces, what is beyond the usual (collective_member.usual), ns; NULL of others, and where no usual is
    --: known.
    excess bigint
);
