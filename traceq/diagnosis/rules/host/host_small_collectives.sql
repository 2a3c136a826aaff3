-- The training thread's wait for many small collectives of gloo, in a trace without GPU work.
-- title: Many small collectives on the CPU
-- finds: Steps that reduce many small tensors one by one over gloo, in traces without GPU activity, where a few flat buffers would hold
--   them all.
-- matters: A small collective takes as long as a round trip, whatever its size: one collective for all tensors pays that once.
-- measured: As in host-communication, while small collectives run (less than half of 25 MB, by the shapes of gloo's operators),
--   if a step has more than 4 times as many of them as there would be 25 MB buffers with the same bytes. Shares from their
--   number n, the number b of such buffers and their lengths: low (n - b) times the shortest of them, likely all but the b
--   longest, which stand for the buffers; high 1: a buffer may take next to nothing compared with the time that ranks waited.
-- try: DistributedDataParallel, which uses such buffers; one flat tensor; no_sync between updates.
-- references: https://docs.pytorch.org/docs/stable/notes/ddp.html
--   https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
-- heading: Reduce all tensors in one flat buffer: {{ percent(claimed_share) }} of {% if subject.is_window %}the window{% else
--   %}a step{% endif %} is spent waiting for small collectives
-- fix: Put the tensors into one buffer: `flat = torch.cat([p.grad.view(-1) for p in model.parameters()]);
--   dist.all_reduce(flat)`, or wrap the model: `DistributedDataParallel(model)`, whose buckets do that. A step has {{
--   plural(worst.collectives, 'small collective') }} with {{ short_size(worst.step_bytes) }} in all; {{ plural(worst.buffers,
--   'buffer') }} of 25 MB {{ 'holds' if worst.buffers == 1 else 'hold' }} them.
-- confidence: medium
-- reason: The number, sizes and durations of the collectives are in the trace; how long a large one takes on this network is
--   not.
-- wrong-if: The ranks wait for a late rank: then a single collective waits just as long.
-- for: pytorch
-- needs: steps, host_alone
-- unseen: {% set known = ask('host_collective_sizes')[0] -%} {% if known.collectives and not known.sized %}{{ lacks('the sizes of collectives are
--   not known', 'message_sizes') }}{% endif %}
-- threshold: bucket = 25000000: DistributedDataParallel fuses gradients into buckets of 25 MB
-- threshold: times_more = 4: below that the first small bucket, the last one and other groups account for it
-- low: 1
-- uses: host_time
with
sized as (
    select
        s.step, c.ts, c.ts_end, c.dur,
        list_sum(list_transform(
            cast(json_extract(c.args, '$."Input Dims"') as json[]),
            -- a list of tensors is a list of lists
            lambda dims: coalesce(list_product(list_transform(
                cast(json_extract(dims, '$[*]') as json[]),
                lambda each: if(json_type(each) = 'ARRAY', coalesce(list_product(cast(each as double[])), 1), cast(each as double))
            )), 1)
        )) * case when contains(c.args, '"double"') or contains(c.args, '"long') then 8 when regexp_matches(c.args, '(?i)half|bfloat16') then 2 else 4 end as bytes
    from cpu_slice as c
    asof inner join (select step, ts, ts_end from step where trace_id = $trace_id and excluded is null) as s on c.ts >= s.ts
    where c.trace_id = $trace_id and starts_with(c.name, 'gloo:') and c.ts < s.ts_end and json_extract(c.args, '$."Input Dims"') is not null
),

-- with the time until which those before it run: they may overlap
sent as (
    select
        *,
        max(ts_end) over (order by ts, ts_end rows between unbounded preceding and 1 preceding) as until,
        row_number() over (partition by step order by dur desc, ts) as place
    from sized
    where bytes < $bucket / 2
),

of_step as (
    select
        step,
        count(*) as collectives,
        _above(count(*), $times_more * ceil(sum(bytes) / $bucket)) as sure,
        sum(bytes) as step_bytes,
        ceil(sum(bytes) / $bucket) as buffers,
        (count(*) - buffers) * min(dur) / sum(dur) as surely,
        sum(dur) filter (place > buffers_of_step) / sum(dur) as likely
    from (select *, ceil(sum(bytes) over (partition by step) / $bucket) as buffers_of_step from sent)
    group by step
    having count(*) > $times_more * ceil(sum(bytes) / $bucket)
),

stretch as (
    select step, min(ts) as ts, max(ts_end) as ts_end
    from (select *, count(if(until is null or ts > until, 1, null)) over (order by ts, ts_end rows unbounded preceding) as island from sent)
    group by step, island
)

select
    p.step, p.ts, p.dur, p.name, p.slice_id,
    p.dur * s.sure as claimed,
    p.category as cause, p.piece_id as gap_id, s.surely as goes_low, s.likely as goes, s.collectives,
    s.step_bytes, s.buffers
from host_time as p
inner join of_step as s on s.step = p.step
asof inner join stretch as h on p.ts >= h.ts
where
    p.ts < h.ts_end
    and (
        p.category = 'communication'
        or (
            p.elsewhere = 'communication'
            and (p.category in ('annotation', 'python', 'none', 'os', 'synchronization') or starts_with(p.name, 'c10d::'))
        )
    )
