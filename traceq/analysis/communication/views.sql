-- What communication cost, by kind; sums of slices, not of the time in which any of them ran.

create or replace view collective_cost as
select
    trace_id, op, group_name, group_size, size_class,
    count(*) as count,
    sum(bytes)::bigint as bytes,
    sum(dur)::bigint as dur,
    sum(overlapped)::bigint as overlapped,
    sum(exposed)::bigint as exposed,
    if(count(blocking) = count(*), sum(blocking)::bigint, null) as blocking,
    sum(bytes) / nullif(sum(dur), 0) as algorithm_bandwidth,
    sum(bus_bandwidth * dur) / nullif(sum(dur), 0) as bus_bandwidth
from collective_slice
group by trace_id, op, group_name, group_size, size_class;
comment on view collective_cost is 'One row per operation, process group and size class: what its GPU slices moved and took.';
comment on column collective_cost.op is 'As in collective_slice.';
comment on column collective_cost.group_name is 'Process group; NULL when unknown.';
comment on column collective_cost.group_size is 'Ranks in the process group; NULL when unknown.';
comment on column collective_cost.size_class is 'Least message size of the class, bytes; NULL when the sizes are unknown.';
comment on column collective_cost.count is 'GPU slices.';
comment on column collective_cost.bytes is 'Message sizes together; NULL when unknown.';
comment on column collective_cost.dur is 'Durations together, ns; slices that overlap count twice.';
comment on column collective_cost.overlapped is 'Of that, with compute running, ns.';
comment on column collective_cost.exposed is 'The rest, ns.';
comment on column collective_cost.blocking is 'Time in which issued compute waited, ns; NULL when it is unknown for one of them.';
comment on column collective_cost.algorithm_bandwidth is 'bytes / dur, GB/s.';
comment on column collective_cost.bus_bandwidth is 'Mean of the bus bandwidths, weighted by duration, GB/s.';

create or replace view host_collective as
select
    s.trace_id, s.slice_id, s.thread_id, n.library, n.op, c.group_name, c.group_size, c.bytes, s.ts, s.dur
from cpu_slice as s
inner join communication_name as n on n.trace_id = s.trace_id and n.kind = 'range' and n.name = s.name
left join collective as c on c.trace_id = s.trace_id and c.slice_id = s.slice_id
where s.kind in ('op', 'annotation') and n.library in ('Gloo', 'MPI', 'UCX') and n.op <> 'unknown';
comment on view host_collective is 'One row per operation of a library that communicates on the host: Gloo, MPI, UCX.';
comment on column host_collective.slice_id is 'The cpu_slice.';
comment on column host_collective.thread_id is 'Thread it ran on.';
comment on column host_collective.library is 'As in communication_name.';
comment on column host_collective.op is 'As in communication_name.';
comment on column host_collective.group_name is 'Process group; NULL when unknown.';
comment on column host_collective.group_size is 'Ranks in the process group; NULL when unknown.';
comment on column host_collective.bytes is 'Message size as in collective.bytes; NULL when unknown.';
comment on column host_collective.ts is 'Start of the call, ns.';
comment on column host_collective.dur is 'Duration of the call, ns; of one that only starts the operation (MPI_Isend) not that of the transfer.';

-- How long collectives take without waiting for other ranks, where that is known. By their class: the 5th percentile of the durations of
-- operation, group and size with 8 members or more; what takes more than half as much again, and 25 us, waited. All-to-alls send
-- different amounts under one size. By the slowest link that ranks are joined with: 10 Gbit/s Ethernet, 1.25 bytes a ns, over which a ring
-- moves twice the message, and all-to-alls once for each rank (8 where that is not known); 1 ms is ten times the latency of such a network.
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
    s.trace_id,
    s.slice_id,
    case
        when s.dur > 1.5 * c.transfer and s.dur > c.transfer + 25000 then least(c.transfer, l.transfer)
        else least(s.dur, l.transfer)
    end as transfer,
    c.transfer is not null as is_by_class
from collective_slice as s
left join class as c
    on c.trace_id = s.trace_id and c.op is not distinct from s.op and c.group_name is not distinct from s.group_name and c.bytes = s.bytes
left join link as l on l.trace_id = s.trace_id and l.slice_id = s.slice_id
where c.transfer is not null or s.dur > l.transfer;
comment on view collective_transfer is 'One row per collective whose time without waiting for other ranks is known: by the fastest of its class, or by a bound that no network of GPUs is slower than.';
comment on column collective_transfer.slice_id is 'Slice of the collective.';
comment on column collective_transfer.transfer is 'What it would take at most if no rank came late, ns.';
comment on column collective_transfer.is_by_class is 'Whether its class has members enough to say how long a transfer takes; else only the bound is known.';
