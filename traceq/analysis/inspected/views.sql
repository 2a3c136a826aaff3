-- What the records of collectives say by size and group, and over time.

--: One row per operation, message size, number of ranks and of machines of the records: how long it took, and its bandwidth
--: without waiting (of operations found on all their ranks), else with it.
create or replace view inspected_cost as
with
own as (
    select
        c.trace_id, c.op, c.message_bytes, c.group_size, g.nodes,
        count(*) as count,
        count(distinct c.communicator) as groups,
        sum(c.dur) as dur,
        sum(c.transfer) as transfer,
        sum(c.wait) as wait,
        count(c.transfer) as matched,
        quantile_cont(c.dur, [0.05, 0.5, 0.95]) as durs,
        quantile_cont(c.bus_bandwidth, [0.05, 0.5, 0.95]) as bandwidths,
        -- without waiting, once for each rank
        quantile_cont(m.bus_bandwidth, [0.05, 0.5, 0.95]) as transfer_bandwidths
    from inspected_collective as c
    left join inspected_communicator as g on g.trace_id = c.trace_id and g.communicator = c.communicator
    left join inspected_match as m on m.trace_id = c.trace_id and m.match_id = c.match_id and c.transfer is not null
    group by c.trace_id, c.op, c.message_bytes, c.group_size, g.nodes
)

select
    --: Trace.
    trace_id,
    --: As in inspected_collective.
    op,
    --: Message of one rank, bytes.
    message_bytes,
    --: Ranks in the communicator.
    group_size,
    --: Machines of the communicator.
    nodes,
    --: Communicators.
    groups,
    --: Records.
    count,
    --: Duration on all ranks, ns.
    dur::bigint as dur,
    --: Share of the duration of all records of the trace.
    dur / sum(dur) over (partition by trace_id) as share,
    --: Of dur, without waiting, in operations found on all their ranks, ns; NULL without any.
    transfer::bigint as transfer,
    --: Waiting in these, ns; NULL without any.
    wait::bigint as wait,
    --: Records of these.
    matched,
    --: 5th percentile of the duration on a rank, ns.
    durs[1] as dur_low,
    --: Median of the duration on a rank, ns.
    durs[2] as dur_median,
    --: 95th percentile of the duration on a rank, ns.
    durs[3] as dur_high,
    --: Whether bandwidths hold waiting: no operation was found on all its ranks.
    transfer is null as is_with_waiting,
    --: 5th percentile of the bus bandwidth, GB/s.
    coalesce(transfer_bandwidths, bandwidths)[1] as bus_low,
    --: Median of the bus bandwidth, GB/s.
    coalesce(transfer_bandwidths, bandwidths)[2] as bus_median,
    --: 95th percentile of the bus bandwidth, GB/s.
    coalesce(transfer_bandwidths, bandwidths)[3] as bus_high
from own;

--: One row per row of inspected_cost and tenth of the record: each communicator's operations in ten parts of equal numbers,
--: those of fewer than 80 operations left out.
create or replace view inspected_period as
with
placed as (
    select
        c.*, g.nodes, coalesce(m.bus_bandwidth, c.bus_bandwidth) as bandwidth,
        count(*) over own as total,
        row_number() over (own order by c.sequence) as place
    from inspected_collective as c
    left join inspected_communicator as g on g.trace_id = c.trace_id and g.communicator = c.communicator
    left join inspected_match as m on m.trace_id = c.trace_id and m.match_id = c.match_id and c.transfer is not null
    window own as (partition by c.trace_id, c.communicator, c.communicator_rank, c.op, c.message_bytes)
)

select
    --: Trace.
    trace_id,
    --: As in inspected_cost.
    op,
    --: As in inspected_cost.
    message_bytes,
    --: As in inspected_cost.
    group_size,
    --: As in inspected_cost.
    nodes,
    --: Tenth of the record, from 0.
    10 * (place - 1) // total as period,
    --: Records.
    count(*) as count,
    --: Median of the duration on a rank, ns.
    median(dur) as dur_median,
    --: Median of the bus bandwidth, GB/s, as in inspected_cost.
    median(bandwidth) as bus_median,
    --: Earliest record, ns since 1970; NULL when no record says.
    min(utc_ns) as utc_ns
from placed
where total >= 80
group by trace_id, op, message_bytes, group_size, nodes, 10 * (place - 1) // total;

--: One row per row of inspected_cost with ten periods: how its bandwidth changed over the record.
create or replace view inspected_drift as
select
    --: Trace.
    trace_id,
    --: As in inspected_cost.
    op,
    --: As in inspected_cost.
    message_bytes,
    --: As in inspected_cost.
    group_size,
    --: As in inspected_cost.
    nodes,
    --: Median bandwidth of the first three tenths, GB/s.
    median(bus_median) filter (period < 3) as first_bandwidth,
    --: The same of the last three.
    median(bus_median) filter (period > 6) as last_bandwidth,
    --: last_bandwidth / first_bandwidth - 1.
    median(bus_median) filter (period > 6) / nullif(median(bus_median) filter (period < 3), 0) - 1 as change,
    --: Least of the tenths / the median of them: a dip in between.
    min(bus_median) / nullif(median(bus_median), 0) as dip
from inspected_period
where bus_median is not null
group by trace_id, op, message_bytes, group_size, nodes
having count(*) = 10;

--: One row per class of the means that a plugin told Prometheus: over all GPUs and scrapes.
create or replace view inspected_sample_cost as
select
    --: Trace.
    trace_id,
    --: As in inspected_sample.
    op,
    --: As in inspected_sample.
    size_low,
    --: As in inspected_sample.
    size_high,
    --: As in inspected_sample.
    group_size,
    --: As in inspected_sample.
    nodes,
    --: Means.
    count(*) as count,
    --: GPUs that they are of.
    count(distinct struct_pack(host, gpu)) as gpus,
    --: Median of the mean durations, ns.
    median(mean_dur) as dur_median,
    --: 5th percentile of the mean bus bandwidths, GB/s, waiting included.
    quantile_cont(bus_bandwidth, 0.05) as bus_low,
    --: Median of the mean bus bandwidths, GB/s, waiting included.
    median(bus_bandwidth) as bus_median,
    --: 95th percentile of the mean bus bandwidths, GB/s, waiting included.
    quantile_cont(bus_bandwidth, 0.95) as bus_high
from inspected_sample
group by trace_id, op, size_low, size_high, group_size, nodes;
