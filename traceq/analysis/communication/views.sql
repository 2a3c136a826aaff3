-- What communication cost, by kind; sums of slices, not of the time in which any of them ran.

--: One row per operation, process group and size class: what its GPU slices moved and took.
create or replace view collective_cost as
select
    --: Trace.
    trace_id,
    --: As in collective_slice.
    op,
    --: Process group; NULL when unknown.
    group_name,
    --: Ranks in the process group; NULL when unknown.
    group_size,
    --: Least message size of the class, bytes; NULL when the sizes are unknown.
    size_class,
    --: GPU slices.
    count(*) as count,
    --: Message sizes together; NULL when unknown.
    sum(bytes)::bigint as bytes,
    --: Durations together, ns; slices that overlap count twice.
    sum(dur)::bigint as dur,
    --: Of that, with compute running, ns.
    sum(overlapped)::bigint as overlapped,
    --: The rest, ns.
    sum(exposed)::bigint as exposed,
    --: Time in which issued compute waited, ns; NULL when it is unknown for one of them.
    if(count(blocking) = count(*), sum(blocking)::bigint, null) as blocking,
    --: bytes / dur, GB/s.
    sum(bytes) / nullif(sum(dur), 0) as algorithm_bandwidth,
    --: Mean of collective_slice.bus_bandwidth, weighted by duration, GB/s: waiting for other ranks is in it.
    sum(bus_bandwidth * dur) / nullif(sum(dur), 0) as bus_bandwidth
from collective_slice
group by trace_id, op, group_name, group_size, size_class;

--: One row per operation of a library that communicates on the host: Gloo, MPI, UCX.
create or replace view host_collective as
select
    --: Trace.
    s.trace_id,
    --: The cpu_slice.
    s.slice_id,
    --: Thread it ran on.
    s.thread_id,
    --: As in communication_name.
    n.library,
    --: As in communication_name.
    n.op,
    --: Process group; NULL when unknown.
    c.group_name,
    --: Ranks in the process group; NULL when unknown.
    c.group_size,
    --: Message size as in collective.bytes; NULL when unknown.
    c.bytes,
    --: Start of the call, ns.
    s.ts,
    --: Duration of the call, ns; of one that only starts the operation (MPI_Isend) not that of the transfer.
    s.dur
from cpu_slice as s
inner join communication_name as n on n.trace_id = s.trace_id and n.kind = 'range' and n.name = s.name
left join collective as c on c.trace_id = s.trace_id and c.slice_id = s.slice_id
where s.kind in ('op', 'annotation') and n.library in ('Gloo', 'MPI', 'UCX') and n.op <> 'unknown';

-- How long collectives take without waiting for other ranks, where that is known. By their class: the 5th percentile of the durations of
-- operation, group and size with 8 members or more; what takes more than half as much again, and 25 us, waited. All-to-alls send
-- different amounts under one size. By the slowest link that ranks are joined with: 10 Gbit/s Ethernet, 1.25 bytes a ns, over which a ring
-- moves twice the message, and all-to-alls once for each rank (8 where that is not known); 1 ms is ten times the latency of such a network.
--: One row per collective whose time without waiting for other ranks is known: by the fastest of its class, or by a
--: bound that no network of GPUs is slower than.
create or replace view collective_transfer as
with
class as (
    select trace_id, op, group_name, bytes, quantile_disc(dur, 0.05) as transfer
    from collective_slice
    where bytes is not null and op not like 'all_to_all%'
    group by trace_id, op, group_name, bytes
    having count(*) >= 8
),

link as (
    select
        s.trace_id,
        s.slice_id,
        (1000000 + 2 * s.bytes * if(s.op like 'all_to_all%', coalesce(s.group_size, t.world_size, 8), 1) / 1.25)::bigint as transfer
    from collective_slice as s
    inner join trace as t using (trace_id)
    where s.bytes is not null and s.op is not null and s.op not in ('send', 'recv', 'send_recv')
)

select
    --: Trace.
    s.trace_id,
    --: Slice of the collective.
    s.slice_id,
    --: What it would take at most if no rank came late, ns.
    case
        when s.dur > 1.5 * c.transfer and s.dur > c.transfer + 25000 then least(c.transfer, l.transfer)
        else least(s.dur, l.transfer)
    end as transfer,
    --: Whether its class has members enough to say how long a transfer takes; else only the bound is known.
    c.transfer is not null as is_by_class
from collective_slice as s
left join class as c
    on c.trace_id = s.trace_id and c.op is not distinct from s.op and c.group_name is not distinct from s.group_name and c.bytes = s.bytes
left join link as l on l.trace_id = s.trace_id and l.slice_id = s.slice_id
where c.transfer is not null or s.dur > l.transfer;

--: One row per sample of the bytes that a network card or switch sent or received, of the trace itself (nsys --nic-metrics): a
--: mean rate over an interval.
create or replace view network_sample as
with
sample as (
    select
        trace_id, instance, name, unit, ts, value,
        ts - lag(ts) over (partition by trace_id, instance, name order by ts) as gap
    from counter
    where
        device is null
        and log_id is null
        and instance is not null
        -- what IPoIB sends is in InfiniBand's bytes as well
        and regexp_matches(name, '(?i)bytes (sent|received)')
        and not regexp_matches(name, '(?i)^ipoib')
),

usual as (
    select trace_id, instance, name, median(gap) as gap
    from sample
    group by trace_id, instance, name
)

select
    --: Trace.
    s.trace_id,
    --: Network card or switch, as in counter.
    s.instance,
    --: Whether it is of a switch.
    s.instance ^@ 'switch ' as is_switch,
    --: send or receive.
    if(regexp_matches(s.name, '(?i)sent'), 'send', 'receive') as direction,
    --: Series, as in counter.
    s.name,
    --: Start of the interval, ns: the end of the one before, or as long before as they mostly are apart.
    s.ts - if(s.gap <= 3 * u.gap, s.gap, coalesce(u.gap, 0))::bigint as ts,
    --: End of the interval, ns.
    s.ts as ts_end,
    --: Bytes per ns, which is GB/s; NULL in a unit that is none of bytes per time.
    s.value * case
        when s.unit in ('bytes/ns', 'B/ns') then 1
        when s.unit in ('bytes/us', 'B/us') then 1e-3
        when s.unit in ('bytes/ms', 'B/ms') then 1e-6
        when s.unit in ('bytes/s', 'B/s', 'bytes/sec') then 1e-9
    end as rate
from sample as s
inner join usual as u on u.trace_id = s.trace_id and u.instance = s.instance and u.name = s.name;

--: One row per GPU slice of communication and network card of the machine: what the card moved meanwhile, whoever asked
--: for it. Samples count by the part of their interval that overlaps; where that is longer than the slice it is an estimate.
create or replace view collective_network as
select
    --: Trace.
    c.trace_id,
    --: The gpu_slice.
    c.slice_id,
    --: As in collective_slice.
    c.op,
    --: Message size as in collective.bytes; NULL when unknown.
    c.bytes,
    --: Duration of the slice, ns.
    c.dur,
    --: Network card, as in counter.instance.
    n.instance,
    --: Bytes sent meanwhile.
    sum(n.rate * (least(n.ts_end, g.ts_end) - greatest(n.ts, g.ts))) filter (n.direction = 'send') as sent,
    --: Bytes received meanwhile.
    sum(n.rate * (least(n.ts_end, g.ts_end) - greatest(n.ts, g.ts))) filter (n.direction = 'receive') as received,
    --: Samples of either that overlap it.
    count(*) as samples,
    --: Time of the slice that samples of what was sent cover, ns.
    (sum(least(n.ts_end, g.ts_end) - greatest(n.ts, g.ts)) filter (n.direction = 'send'))::bigint as covered
from collective_slice as c
inner join gpu_slice as g on g.trace_id = c.trace_id and g.slice_id = c.slice_id
inner join network_sample as n on n.trace_id = c.trace_id and not n.is_switch and n.ts < g.ts_end and n.ts_end > g.ts
group by c.trace_id, c.slice_id, c.op, c.bytes, c.dur, n.instance;

-- Collectives that name no group are in the only one, where a trace lists one of several ranks; copies between GPUs need not be in any.
--: One row per GPU slice of communication: the axis of parallelism of its process group.
create or replace view collective_axis as
with
single as (
    select trace_id, group_name
    from process_group
    where is_only
)

select
    --: Trace.
    s.trace_id,
    --: The gpu_slice.
    s.slice_id,
    --: Device.
    s.device,
    --: Step it was launched in; NULL outside all steps.
    s.step,
    --: As in collective_slice.
    s.op,
    --: Process group: its own, else the only one of the trace; NULL when unknown.
    p.group_name,
    --: As in process_group; NULL when nothing tells.
    p.axis,
    --: As in process_group.
    p.axis_source
from collective_slice as s
left join single as o on o.trace_id = s.trace_id
left join process_group as p
    on p.trace_id = s.trace_id
    and p.group_name = coalesce(s.group_name, if(s.algorithm is distinct from 'copy_engine', o.group_name, null));

--: One row per trace, device, step and axis of parallelism: the collectives along it, their time, and what of it is
--: waiting for other ranks.
create or replace view axis_time as
select
    --: Trace.
    s.trace_id,
    --: Device.
    s.device,
    --: Step; NULL outside all steps.
    s.step,
    --: As in process_group; NULL for collectives whose axis cannot be told.
    a.axis,
    --: What told it, as in process_group.
    a.axis_source,
    --: Process groups along it that this rank is in.
    count(distinct a.group_name) as groups,
    --: GPU slices.
    count(*) as collectives,
    --: Message sizes together; NULL when unknown.
    sum(s.bytes)::bigint as bytes,
    --: Durations together, ns; slices that overlap count twice.
    sum(s.dur)::bigint as dur,
    --: Of that, without compute beside it, ns.
    sum(s.exposed)::bigint as exposed,
    --: Collectives of which it is known how much is waiting: those matched with other ranks (collective_member), else
    --: those with enough of their class (collective_transfer).
    count(coalesce(m.wait, if(t.is_by_class, t.transfer, null))) as told,
    --: Of dur, the rest of these after waiting, ns; NULL when none tells.
    sum(s.dur - coalesce(m.wait, if(t.is_by_class, s.dur - t.transfer, null)))::bigint as transfer,
    --: Of dur, waiting for other ranks in these, ns; NULL when none tells.
    sum(coalesce(m.wait, if(t.is_by_class, s.dur - t.transfer, null)))::bigint as wait
from collective_slice as s
inner join collective_axis as a using (trace_id, slice_id)
left join collective_member as m on m.trace_id = s.trace_id and m.slice_id = s.slice_id
left join collective_transfer as t on t.trace_id = s.trace_id and t.slice_id = s.slice_id
group by s.trace_id, s.device, s.step, a.axis, a.axis_source;

-- PyTorch records how many rows go to each rank and come from each; without these lists all ranks get as much. Bytes follow from the
-- elements: the message size is the larger of both sides. What is sent back is told by the amounts: as much as the one before
-- brought goes out, and what went out comes back; of a row of such, every second.
--: One row per GPU slice of an all-to-all whose amounts are known: what this rank sends to each rank of its group and
--: gets from each. Experts, embeddings and heads are exchanged so.
create or replace view exchange as
with
described as (
    select
        s.trace_id, s.slice_id, s.device, s.step, s.group_name, s.group_size, s.dur, g.ts,
        c.in_elements, c.out_elements,
        coalesce(s.bytes // nullif(greatest(c.in_elements, c.out_elements), 0), 0) as element_bytes,
        try_cast(if(json_valid(c.args), c.args, null) ->> 'In split size' as bigint[]) as in_rows,
        try_cast(if(json_valid(c.args), c.args, null) ->> 'Out split size' as bigint[]) as out_rows
    from collective_slice as s
    inner join collective as c using (trace_id, slice_id)
    inner join gpu_slice as g using (trace_id, slice_id)
    where s.op = 'all_to_all' and c.in_elements is not null and c.out_elements is not null and s.bytes is not null
),

-- Lists that do not fit the group, or no whole number of elements a row, are of something else.
split as (
    select
        *,
        if(len(in_rows) = group_size and in_elements % nullif(list_sum(in_rows), 0) = 0, in_rows, null) as sent_rows,
        if(len(out_rows) = group_size and out_elements % nullif(list_sum(out_rows), 0) = 0, out_rows, null) as received_rows,
        -- all that a rank gets may be nothing
        coalesce(list_sum(in_rows), 0) + coalesce(list_sum(out_rows), 0) > 0 as has_rows,
        len(in_rows) = 0 and len(out_rows) = 0 and in_elements = out_elements and in_elements % group_size = 0 as is_even
    from described
),

amount as (
    select
        *,
        if(has_rows, list_sum(in_rows)::bigint, in_elements) as amount_out,
        if(has_rows, list_sum(out_rows)::bigint, out_elements) as amount_in,
        row_number() over in_step as place
    from split
    window in_step as (partition by trace_id, device, group_name, step order by ts, slice_id)
),

turned as (
    select
        *,
        coalesce(
            has_rows = lag(has_rows) over in_time
            and amount_out = lag(amount_in) over in_time
            and amount_in = lag(amount_out) over in_time,
            false
        ) as is_turned
    from amount
    window in_time as (partition by trace_id, device, group_name, step order by ts, slice_id)
),

chained as (
    select *, sum((not is_turned)::integer) over (partition by trace_id, device, group_name, step order by ts, slice_id) as chain
    from turned
)

select
    --: Trace.
    trace_id,
    --: The gpu_slice.
    slice_id,
    --: Device.
    device,
    --: Step it was launched in; NULL outside all steps.
    step,
    --: Process group; NULL when unknown.
    group_name,
    --: Ranks in the process group; NULL when unknown.
    group_size,
    --: Which all-to-all of its group in the step it is, from 1.
    place::integer as place,
    --: Whether it brings back what the one before took away (the combine of experts), by the amounts.
    (row_number() over (partition by trace_id, device, group_name, step, chain order by ts, slice_id)) % 2 = 0 as is_return,
    --: Bytes that go out of this rank, to itself included.
    in_elements * element_bytes as sent,
    --: Bytes that come to this rank, from itself included.
    out_elements * element_bytes as received,
    --: Whether all ranks of the group get as much of this one: PyTorch lists no splits then. NULL when the source has no
    --: lists.
    is_even,
    --: Rows (tokens) for each rank of the group, in their order; NULL when the source does not say, and of PyTorch for
    --: more than 30 ranks, whose lists it cuts.
    sent_rows,
    --: The same from each rank.
    received_rows,
    --: Start, ns.
    ts,
    --: Duration, ns.
    dur
from chained;
