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
