-- Idle time in which the host was late while memory was read back from swap, by logs of monitors.
-- title: The host swaps: memory is read back from disk
-- finds: Time in which the GPU waits for the host, while vmstat, sar or another monitor reports that memory is read back from
--   swap.
-- matters: Reading a page of memory from disk takes as long as a hundred launches. Everything on the host waits for memory that
--   was swapped out.
-- measured: Idle time of the GPU in which the host was late with work of its own (idle_piece: launching, Python, code, calls,
--   input), in samples in which at least 1 MB/s is read back from swap. Shares: low 0.2, likely 0.6, high 1.
-- try: Fewer loader workers, less prefetching, data that is mapped rather than copied, other programs moved to other nodes,
--   more memory.
-- references: https://man7.org/linux/man-pages/man8/vmstat.8.html
--   https://docs.pytorch.org/docs/stable/data.html
-- fix: Use less host memory: fewer processes that prepare input, less prefetching, memory-mapped files; or move other programs
--   away. {{ '{:,.0f}'.format(worst.swap_in / 1e6) }} MB/s are read back from swap while the GPU waits for the host.
-- confidence: medium
-- reason: The monitor logged swapping during the waits; the log does not show whose memory it was.
-- wrong-if: The process itself has no major page faults (pidstat -r: majflt/s).
-- heading: Stop the host from swapping: memory is read back from disk
-- needs: gpu, steps, swap_samples
-- low: 0.2
-- likely: 0.6
-- threshold: least_bytes = 1000000: a second: some 250 pages, each of which takes 0.1 (NVMe) to 10 ms (disk) to come back
-- uses: host_late, monitored
with
swapped as (
    select ts, ts_end, max(value) as swap_in
    from monitored
    where name = 'swap_in' and ts_end > ts and value >= $least_bytes
    group by ts, ts_end
)

select
    p.step, p.ts, p.dur, c.name, p.cpu_slice_id as slice_id, p.dur as claimed, p.cause, p.gap_id,
    s.swap_in
from host_late as p
asof inner join swapped as s on p.middle <= s.ts_end
left join cpu_slice as c on c.trace_id = $trace_id and c.slice_id = p.cpu_slice_id
where p.middle >= s.ts
