-- The flight recorders of a job's ranks, and what they say together. These tables are no part of trace databases: `traceq hang`
-- makes them in memory. Times are ns since 1970 by the clock of each rank's host.

--: One row per file that was given or found as the dump of a rank.
create table recorded_dump (
    --: The file.
    path varchar not null,
    --: Its rank; NULL where neither content nor name tells.
    rank bigint,
    --: What told it: content or file (its name).
    rank_source varchar,
    --: pickle or json; NULL where it could not be read.
    format varchar,
    --: Version of the format.
    version varchar,
    --: Entries in it; NULL where it could not be read.
    entries bigint,
    --: Number of its first entry: above 0 where the recorder had overwritten earlier ones.
    first_record bigint,
    --: When its last entry was made.
    last_created bigint,
    --: Whether several entries share a number: parts of coalesced collectives.
    has_parts boolean,
    --: Why it is not used, or not whole; NULL where it is.
    fault varchar
);

--: One row per member of a group that a rank's dump lists. NCCL lists the groups that are in use, gloo none.
create table recorded_group (
    --: The rank whose dump it is.
    rank bigint,
    --: Name of the group, unique among those of one rank.
    name varchar not null,
    --: What the program calls it: tp, dp; default_pg is the world.
    description varchar not null,
    --: A rank that belongs to it.
    member bigint not null
);

--: One row per frame of the distinct Python stacks of a rank's dump; dumps in JSON have none.
create table recorded_stack (
    --: The rank whose dump it is.
    rank bigint,
    --: Number of the stack within the dump.
    stack_id bigint not null,
    --: From 0, the innermost.
    depth bigint not null,
    --: Function.
    name varchar not null,
    --: File.
    file varchar not null,
    --: Line.
    line bigint not null
);

--: One row per entry of a rank's flight recorder: a collective, send or receive that it called, or a part of a coalesced one.
--: The view recorded_collective has it with its facts.
create table recorded_call (
    --: The rank whose dump it is.
    rank bigint not null,
    --: Number of the entry on this rank, from 0.
    record bigint not null,
    --: Number of the collective within its group.
    sequence bigint not null,
    --: The same of sends and receives, which each rank numbers on its own.
    p2p_sequence bigint not null,
    --: Number of the operation within its group; parts of a coalesced one have their own.
    op_number bigint,
    --: When the rank called it.
    created bigint,
    --: When it was seen to have started.
    started bigint,
    --: When it was seen to be finished.
    completed bigint,
    --: What it has in common with others of the rank: a row of recorded_fact.
    fact_id bigint not null
);

--: One row per set of facts that entries of a rank's dump have in common.
create table recorded_fact (
    --: The rank whose dump it is.
    rank bigint not null,
    --: Number of the set on this rank, from 0.
    fact_id bigint not null,
    --: Name of the group.
    group_name varchar not null,
    --: What the program calls the group.
    group_description varchar not null,
    --: Number of the group on this rank.
    group_number bigint,
    --: Library: nccl, gloo.
    backend varchar not null,
    --: Operation: all_reduce, send.
    op varchar not null,
    --: Of a send or receive the member of the group (not the rank) that sends.
    from_member bigint,
    --: Of a send or receive the member of the group that receives.
    to_member bigint,
    --: Whether it is a send or receive, or several coalesced ones.
    is_p2p boolean not null,
    --: Sizes of the input tensors: "1024x64, 8"; at most 8 of them.
    input_sizes varchar not null,
    --: Sizes of the output tensors.
    output_sizes varchar not null,
    --: Types of the elements of the input tensors.
    input_types varchar not null,
    --: Types of the elements of the output tensors.
    output_types varchar not null,
    --: Elements of the input tensors together; NULL without one.
    input_elements bigint,
    --: Elements of the output tensors together; NULL without one.
    output_elements bigint,
    --: scheduled, started or completed; with gloo always scheduled.
    state varchar not null,
    --: Whether nothing waits for it any longer: it is finished, failed or timed out.
    is_retired boolean not null,
    --: After what time it counts as hung, ns.
    timeout bigint,
    --: Where the program called it.
    stack_id bigint
);

--: Entries of flight recorders with all that is known of them.
create view recorded_collective as
select c.* exclude (fact_id), f.* exclude (rank, fact_id)
from recorded_call as c
inner join recorded_fact as f using (rank, fact_id);

--: One row per group, and per two ranks of a group that send to each other; what tells its members.
create table hang_group (
    --: Number of the group, from 0.
    group_id integer not null,
    --: Its name.
    name varchar not null,
    --: What the program calls it.
    description varchar not null,
    --: The ranks that are known to belong to it, in order; of two ranks the sender first.
    members bigint[] not null,
    --: What tells these: config (the dumps list them), world (all ranks), seen (the ranks that called something in it) or
    --: pair (one sends, the other receives).
    source varchar not null,
    --: How many ranks it has; NULL where only those are known that called something in it.
    size bigint
);

--: One row per member of a group with what its dump says about the group.
create table hang_member (
    --: The group.
    group_id integer not null,
    --: The rank.
    rank bigint not null,
    --: Whether there is a dump of it.
    has_dump boolean not null,
    --: Number of the first collective of the group in its dump; NULL without one.
    first_sequence bigint,
    --: Number of the last one that it came to; 0 where it came to none; NULL where that is not known (no dump, or its recorder
    --: had overwritten what it called).
    last_sequence bigint
);

--: One row per set of facts of a rank, as ranks are compared by it.
create table hang_fact (
    --: The rank.
    rank bigint not null,
    --: Number of the set: recorded_fact.fact_id.
    fact_id bigint not null,
    --: The group; of sends and receives that of the two ranks.
    group_id integer not null,
    --: Operation.
    op varchar not null,
    --: Whether it is a send or receive.
    is_p2p boolean not null,
    --: Sizes of the input tensors, where there are any; else of the output tensors.
    sizes varchar not null,
    --: Elements that must be equal on all ranks; NULL where the operation does not need it.
    equal_elements bigint,
    --: Types that must be equal on all ranks.
    equal_types varchar,
    --: Equal for facts that go together: operation, elements and types.
    signature bigint not null,
    --: waiting, finished, failed (it timed out) or ended (gloo does not tell: finished or failed).
    state varchar not null,
    --: Where the program called it.
    stack_id bigint
);

--: One row per collective of a rank, and per send or receive.
create table hang_call (
    --: The group.
    group_id integer not null,
    --: Number of the collective within the group; of a send or receive its number between the two ranks.
    sequence bigint not null,
    --: The rank.
    rank bigint not null,
    --: Its entry in the rank's dump; of a coalesced one the first.
    record bigint not null,
    --: What it is: a row of hang_fact; of a coalesced one the first.
    fact_id bigint not null,
    --: Equal for calls that go together.
    signature bigint not null,
    --: waiting, queued (with NCCL: behind another one that waits), finished, failed (it timed out) or ended (gloo does not tell:
    --: finished or failed).
    state varchar not null,
    --: When the rank called it.
    created bigint
);

--: One row per place at which ranks of a group differ, the first of each group.
create table hang_parting (
    --: The group.
    group_id integer not null,
    --: Number of the collective.
    sequence bigint not null,
    --: operation, sizes or types (ranks have others), missing (ranks that wrote a dump lack it), no_dump (no dump tells of
    --: the others whether they came) or none (all ranks are there, and it does not end).
    differs varchar not null,
    --: Ranks that called it and have come to it.
    present bigint[] not null,
    --: Ranks that called it, on whose GPU it is behind another collective that waits; they are lacking as well.
    queued bigint[] not null,
    --: Ranks with a dump that did not come to it.
    lacking bigint[] not null,
    --: Ranks of the group without a dump.
    without_dump bigint[] not null,
    --: Ranks with a dump that does not tell whether they called it.
    unknown bigint[] not null,
    --: How many of those present wait there, or failed there.
    waiting bigint not null,
    --: When the first of them called it.
    first_created bigint
);
