-- How fast collectives of one kind are when nobody is late: by transfer, never by duration, which is mostly waiting.
--: One row per job, time window, operation, size and process group: what its collectives take when all ranks are there.
create or replace view job_collective as
with
placed as (
    select
        m.job, m.time_window, m.match_id,
        sum(m.wait) as wait,
        case
            when count(r.host) < count(*) then null
            when count(distinct r.host) = 1 then 'one host'
            else 'several hosts'
        end as place
    from collective_member as m
    inner join job_rank as r using (job, time_window, unit)
    where m.match_id is not null
    group by m.job, m.time_window, m.match_id
),

class as (
    select
        c.job, c.time_window, c.op, c.bytes,
        coalesce(c.group_size, c.members) as group_size,
        p.place,
        c.group_id,
        count(*) as collectives,
        if(count(*) >= 8, quantile_disc(c.transfer, 0.05), min(c.transfer)) as transfer_best,
        median(c.transfer)::bigint as transfer_median,
        sum(p.wait)::bigint as wait
    from collective_match as c
    inner join placed as p using (job, time_window, match_id)
    group by all
)

select
    c.*,
    --: bytes / transfer_best times the factor of nccl-tests for op and group_size, GB/s; NULL where bytes or the factor
    --: is unknown.
    c.bytes * _bus_factor(c.op, c.group_size) / nullif(c.transfer_best, 0) as bandwidth_best,
    --: The same by transfer_median, GB/s.
    c.bytes * _bus_factor(c.op, c.group_size) / nullif(c.transfer_median, 0) as bandwidth_median
from class as c;
comment on column job_collective.job is 'Job.';
comment on column job_collective.time_window is 'Window of the job.';
comment on column job_collective.op is 'As in collective_match.';
comment on column job_collective.bytes is 'Message size; NULL when unknown or different from rank to rank.';
comment on column job_collective.group_size is 'Ranks of the group; of an unknown group those it was found on.';
comment on column job_collective.place is 'one host or several hosts, by the ranks that are here; NULL where a host is unknown.';
comment on column job_collective.group_id is 'As in collective_match.';
comment on column job_collective.collectives is 'How many there are.';
comment on column job_collective.transfer_best is '5th percentile of their transfer, ns; the least of fewer than 8.';
comment on column job_collective.transfer_median is 'Median of their transfer, ns.';
comment on column job_collective.wait is 'What all ranks together waited in them for others, ns.';

-- The ranks of a job that are asked all rules: as many as a reader looks at, one of each straggler before the second of any, and the
-- rank that stands for all that nobody waits for.
--: One row per rank of a judged job that stands for the others: at most four late ones, and one with the usual time.
create or replace view job_suspect as
with
late as (
    select
        r.job, r.time_window, r.unit,
        min(s.place) as place,
        row_number() over (partition by r.job, r.time_window, min(s.place) order by r.unit) as nth
    from job_rank as r
    inner join straggler as s on s.job = r.job and s.time_window = r.time_window and list_contains(s.units, r.unit)
    group by r.job, r.time_window, r.unit
),

shown as (
    select job, time_window, unit
    from late
    qualify row_number() over (partition by job, time_window order by nth, place) <= 4
),

punctual as (
    select r.job, r.time_window, r.unit, r.rank, coalesce(r.own, 0) as own, l.unit is not null as is_late
    from job_rank as r
    left join late as l using (job, time_window, unit)
),

usual as (
    select job, time_window, unit
    from punctual
    -- Of a job whose ranks are all late, one of these.
    qualify rank() over (partition by job, time_window order by is_late) = 1
        and row_number() over (partition by job, time_window, is_late order by own, rank)
        = count(*) over (partition by job, time_window, is_late) // 2 + 1
)

select
    --: Job.
    r.job,
--: Window of the job.
r.time_window,
--: As in job_rank.
r.unit,
--: Trace.
r.trace_id,
--: Whether it has the median own time of the ranks that nobody waits for, and stands for these; of several stages for
--: those of its own.
u.unit is not null as is_usual
from job_rank as r
inner join job as j using (job, time_window)
left join shown as s using (job, time_window, unit)
left join usual as u using (job, time_window, unit)
where j.dur is not null and (s.unit is not null or u.unit is not null);

-- The bubble of a pipeline: (stages - 1) / (micro-batches + stages - 1) of a step where all stages take equally long and nothing
-- is interleaved. The first and the last stage send and receive twice for each micro-batch, once forward and once back.
--: One row per rank of a judged job that sends and receives along a pipeline: how long it waits for other stages.
create or replace view job_bubble as
with
message as (
    select a.job, a.time_window, a.unit, a.group_id, a.collectives, a.wait, a.wait_exposed
    from job_axis_rank as a
    where a.axis = 'pp' and a.wait is not null
),

whole as (
    select
        m.job, m.time_window, m.group_id,
        any_value(g.group_size) as stages,
        count(distinct m.unit) as here,
        min(m.collectives) as fewest
    from message as m
    inner join job_group as g using (job, time_window, group_id)
    group by m.job, m.time_window, m.group_id
)

select
    --: Job.
    m.job,
    --: Window of the job.
    m.time_window,
    --: The rank, job_rank.unit.
    m.unit,
    --: As in job_group.
    m.group_id,
    --: Ranks of its pipeline; NULL when unknown.
    w.stages,
    --: Micro-batches of a step, by the messages of the rank that has fewest; NULL when they are no whole number, or ranks
    --: of the pipeline are not here.
    if(w.here = w.stages and w.fewest % (2 * greatest(j.steps, 1)) = 0, w.fewest // (2 * greatest(j.steps, 1)), null)
        as micro_batches,
    --: Waiting for other stages, ns; in the end of a step those with fewer stages behind them wait as well.
    m.wait,
    --: Of that, the least without compute beside it, ns.
    m.wait_exposed,
    --: wait_exposed / job.dur.
    m.wait_exposed / nullif(j.dur, 0) as share,
    --: The share of a pipeline of equal stages that is not interleaved: (stages - 1) / (micro_batches + stages - 1).
    (w.stages - 1) / nullif(micro_batches + w.stages - 1, 0) as share_of_equal
from message as m
inner join whole as w using (job, time_window, group_id)
inner join job as j on j.job = m.job and j.time_window = m.time_window;

-- What ranks get in all-to-alls, against the mean of their group: tokens of experts, rows of embeddings.
--: One row per rank and matched all-to-all of known amounts whose ranks are all here: what it gets, and how much that is
--: of the mean of its group.
create or replace view job_exchange as
with
member as (
    select
        m.job, m.time_window, m.match_id, m.unit, m.trace_id, m.slice_id, m.wait, m.own,
        c.group_id, c.members,
        e.step, e.place, e.is_return, e.sent, e.received, e.is_even, e.sent_rows, e.received_rows,
        c.members >= coalesce(c.group_size, c.members) as is_whole,
        count(*) over collective as known,
        count(*) filter (e.is_return) over collective as returns,
        avg(e.received) over collective as mean,
        sum(e.sent) over collective as sent_by_all,
        sum(e.received) over collective as received_by_all
    from collective_match as c
    inner join collective_member as m using (job, time_window, match_id)
    inner join exchange as e using (trace_id, slice_id)
    where c.op = 'all_to_all'
    window collective as (partition by m.job, m.time_window, m.match_id)
)

select
    --: Job.
    m.job,
    --: Window of the job.
    m.time_window,
    --: The collective, as in collective_match.
    m.match_id,
    --: The rank, job_rank.unit.
    m.unit,
    --: Its group, as in collective_match.
    m.group_id,
    --: As in job_group; NULL when nothing tells.
    g.axis,
    --: Its trace.
    m.trace_id,
    --: The gpu_slice.
    m.slice_id,
    --: Step on this rank; NULL outside all steps.
    m.step,
    --: Which all-to-all of its group in the step it is, from 1: layer by layer, there and back.
    m.place,
    --: Whether it brings back what the one before took away, by the amounts on most ranks.
    2 * m.returns > m.known as is_return,
    --: Bytes that go out of this rank.
    m.sent,
    --: Bytes that come to this rank.
    m.received,
    --: Mean of received over the ranks of the group.
    m.mean,
    --: received / mean: 1 where all ranks get as much; NULL where nobody gets anything.
    m.received / nullif(m.mean, 0) as load,
    --: As in exchange.
    m.is_even,
    --: As in exchange.
    m.sent_rows,
    --: As in exchange.
    m.received_rows,
    --: Time of this rank before it, as in collective_member, ns.
    m.own,
    --: Of it, waiting for other ranks, ns.
    m.wait
from member as m
inner join job_group as g using (job, time_window, group_id)
-- what one rank sends another gets; amounts that do not add up belong to something else
where m.is_whole and m.known = m.members and m.sent_by_all = m.received_by_all;

--: One row per rank and group of a job that exchanges by all-to-alls: what it gets together, what comes back not counted,
--: and how much that is of the mean of its group. Of groups along ep that is the load of its experts.
create or replace view job_load as
select
    --: Job.
    job,
    --: Window of the job.
    time_window,
    --: As in job_group.
    group_id,
    --: As in job_group; NULL when nothing tells.
    axis,
    --: The rank, job_rank.unit.
    unit,
    --: All-to-alls, without those that bring back.
    count(*) as exchanges,
    --: Rows (tokens) that come to it; NULL when the source does not tell them of all.
    if(count(received_rows) = count(*), sum(list_sum(received_rows)), null)::bigint as rows,
    --: Bytes that come to it.
    sum(received)::bigint as received,
    --: Mean of that over the ranks of its group, bytes.
    avg(sum(received)) over (partition by job, time_window, group_id) as mean,
    --: received / mean: 1 where all ranks get as much; NULL where nobody gets anything.
    sum(received) / nullif(avg(sum(received)) over (partition by job, time_window, group_id), 0) as load,
    --: Most that it got of the mean in one all-to-all: what one layer of one step brought.
    max(load) as most
from job_exchange
where not is_return
group by job, time_window, group_id, axis, unit;

--: One row per pair of ranks of a job that exchange by all-to-alls, in both orders and of a rank with itself: what goes
--: from the one to the other. Only where the source tells it, or all ranks get as much.
create or replace view job_exchange_pair as
with
sent as (
    select
        e.job, e.time_window, e.group_id, e.axis, e.unit, e.is_return, e.sent_rows,
        g.units,
        unnest(range(1, len(g.units) + 1)) as peer,
        if(e.is_even, e.sent // len(g.units), e.sent::hugeint * e.sent_rows[peer] // nullif(list_sum(e.sent_rows), 0)) as bytes
    from job_exchange as e
    inner join job_group as g using (job, time_window, group_id)
)

select
    --: Job.
    job,
    --: Window of the job.
    time_window,
    --: As in job_group.
    group_id,
    --: As in job_group; NULL when nothing tells.
    axis,
    --: Whether these are all-to-alls that bring back, as in job_exchange.
    is_return,
    --: The rank that sends, job_rank.unit.
    unit,
    --: The rank that gets it.
    units[peer] as other,
    --: Rows (tokens); NULL when the source does not tell them of all.
    if(count(sent_rows) = count(*), sum(sent_rows[peer]), null)::bigint as rows,
    --: Bytes; NULL when rows is, unless all ranks get as much.
    if(count(bytes) = count(*), sum(bytes), null)::bigint as bytes
from sent
group by job, time_window, group_id, axis, is_return, unit, units[peer];

--: One row per matched communication slice of a job that follows another one: what its rank did by itself before it.
create or replace view rank_segment as
select
    --: Job.
    m.job,
    --: Window of the job.
    m.time_window,
    --: The rank, job_rank.unit.
    m.unit,
    --: Its trace.
    m.trace_id,
    --: Its GPU; NULL without GPU work.
    r.device,
    --: The gpu_slice of the collective that it came to.
    m.slice_id,
    --: The collective, collective_match.match_id.
    m.match_id,
    --: Begin, ns on the trace's clock: when the rank had got what it waited for before.
    m.own_begins as ts,
    --: From there to the begin of the slice, ns.
    m.own as dur,
    --: What it takes usually, ns, as in collective_member.
    m.usual,
    --: dur beyond usual, ns; NULL where usual is.
    greatest(m.own - m.usual, 0) as excess,
    --: Whether it is on the critical path of the job.
    m.on_path
from collective_member as m
inner join job_rank as r using (job, time_window, unit)
where m.own_begins is not null;

--: One row per segment of a rank (rank_segment) and category of the ledger in it. The categories add up to the segment
--: where the trace shows its GPU. Worked out when it is read: ask for one trace_id.
create or replace view rank_segment_ledger as
select
    --: As in rank_segment.
    s.job,
    --: As in rank_segment.
    s.time_window,
    --: As in rank_segment.
    s.unit,
    --: As in rank_segment.
    s.trace_id,
    --: As in rank_segment.
    s.slice_id,
    --: As in rank_segment.
    s.match_id,
    --: As in rank_segment.
    s.on_path,
    --: As in time_ledger.
    l.category,
    --: Time of the category in the segment, ns.
    l.dur
from rank_segment as s
inner join _segment_ledger('rank_segment') as l using (trace_id, slice_id);

--: One row per own piece of a job's critical path (job_path) and category of the ledger in it: what all ranks waited for.
--: The categories add up to the piece where the trace shows its GPU. Worked out when it is read.
create or replace view job_path_ledger as
with
_own_piece as (
    select p.job, p.time_window, p.place, p.unit, p.trace_id, p.slice_id, s.device, s.ts + s.dur - p.dur as ts, p.dur
    from job_path as p
    inner join rank_segment as s using (trace_id, slice_id)
    where p.kind = 'own'
)

select
    --: As in job_path.
    p.job,
    --: As in job_path.
    p.time_window,
    --: As in job_path.
    p.place,
    --: As in job_path.
    p.unit,
    --: As in job_path.
    p.trace_id,
    --: As in time_ledger.
    l.category,
    --: Time of the category in the piece, ns.
    l.dur
from _own_piece as p
inner join _segment_ledger('_own_piece') as l using (trace_id, slice_id);
