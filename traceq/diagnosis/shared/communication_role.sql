-- What each collective on the critical device is for (role), by its operation, the ranges around its launch and its place in the step;
--   exchange: what an all-to-all exchanges, by its name; only_exchange: the same where all of the trace that say so agree.
-- uses: busy
with recursive
slice as (
    select b.step, b.ts, b.dur, b.name, b.slice_id, b.ledger_dur, b.launch_id, c.op, c.library, c.group_name, c.group_size,
        c.bytes, c.overlapped, c.blocking
    from busy as b
    inner join collective_slice as c on c.trace_id = b.trace_id and c.slice_id = b.slice_id
    where b.category = 'communication'
),

launched as (
    select s.slice_id, l.operator_id, l.annotation_id, l.outer_annotation_id, l.phase_id
    from slice as s
    inner join cpu_slice as l on l.trace_id = $trace_id and l.slice_id = s.launch_id
),

-- Operators that launched and those around them, by ids: `in` and not a join, of which DuckDB would hold all slices of the host.
outer_operator (slice_id, operator_id) as (
    select slice_id, operator_id
    from cpu_slice
    where trace_id = $trace_id and slice_id in (select operator_id from launched)
    union
    select slice_id, operator_id
    from cpu_slice
    where trace_id = $trace_id and slice_id in (select operator_id from outer_operator limit 3000000)
),

-- an operator around the operator that launched says what it is for: a function of autograd, of a library
operator (slice_id, range_id, level) as (
    select slice_id, operator_id, 0
    from launched
    where operator_id is not null
    union all
    select o.slice_id, c.operator_id, o.level + 1
    from operator as o
    inner join outer_operator as c on c.slice_id = o.range_id
    where c.operator_id is not null and o.level < 6
),

ranges as materialized (
    select slice_id, range_id
    from operator
    union
    select slice_id, range_id
    from (unpivot launched on annotation_id, outer_annotation_id, phase_id into name what value range_id)
),

range_name as materialized (
    select slice_id, name
    from cpu_slice
    where trace_id = $trace_id and slice_id in (select range_id from ranges limit 3000000)
),

around as (
    select r.slice_id, lower(string_agg(c.name, ' ' order by c.slice_id)) as names
    from ranges as r
    inner join range_name as c on c.slice_id = r.range_id
    group by r.slice_id
),

-- where the kernels of a step begin and end on the device: a host that runs ahead says nothing about places
extent as (
    select step, min(ts) as ts, max(ts_end) as ts_end
    from gpu_slice
    where trace_id = $trace_id and device = $device and kind = 'kernel' and not is_communication
    group by step
),

placed as (
    select
        s.*,
        coalesce(a.names, '') as names,
        p.phase,
        (s.ts - e.ts) / nullif(e.ts_end - e.ts, 0) as place,
        coalesce(s.bytes, -1) as message,
        coalesce(s.group_name, '') as members,
        min(s.ts) filter (s.op = 'reduce_scatter') over (partition by s.step) as first_scatter
    from slice as s
    left join around as a on a.slice_id = s.slice_id
    left join launch_state as p on p.trace_id = $trace_id and p.slice_id = s.slice_id
    left join extent as e on e.step = s.step
),

-- all-reduces of activations: many of one size, from the first layers on, and none of them overlapped
class as (
    select
        members,
        message,
        count(*) >= 8 * count(distinct step)
        and sum(overlapped) < 0.1 * sum(dur)
        and coalesce(avg((phase = 'forward')::integer) filter (phase in ('forward', 'backward')), avg((place < 0.33)::integer)) >= 0.15
        and not bool_or(regexp_matches(names, 'accumulategrad|distributeddataparallel|syncbatchnorm')) as is_tensor
    from placed
    where op = 'all_reduce'
    group by members, message
),

of_trace as (
    select
        coalesce(bool_or(op = 'all_to_all'), false) as has_exchange,
        count(*) filter (op = 'reduce_scatter') as scatters,
        count(*) filter (op = 'all_gather' and phase is distinct from 'optimizer') as gathers,
        -- with sharded parameters all layers are gathered before the first gradient is reduced
        count(*) filter (op = 'all_gather' and ts < first_scatter) < 0.25 * count(*) filter (op = 'reduce_scatter')
        and count(*) filter (op = 'reduce_scatter') >= 4 * count(distinct step) as is_sequence
    from placed
),

known as (
    select
        p.*,
        coalesce(c.is_tensor, false) or (p.op = 'all_reduce' and p.members <> '' and coalesce(g.is_tensor, false)) as is_tensor,
        regexp_matches(p.names, 'fsdp|fully_?shard|zero_?(optimizer|redundancy)|stage_?3|partitionedparameter|fetch_sub_module') as is_sharded,
        regexp_matches(p.names, 'accumulategrad|distributeddataparallel|reducer|grads?\b|gradient') as is_gradient,
        case
            when p.library = 'DeepEP' or regexp_matches(p.names, 'moe|expert|dispatch|combine|token') then 'experts'
            when regexp_matches(p.names, 'embedding|sparse|pooled|jagged|kjt|base_wait|[_:]emb\b') then 'embeddings'
            when regexp_matches(p.names, 'alltoall4d|ulysses|seq_?all|sequence_?parallel|context_?parallel|attention|attn') then 'sequence'
        end as exchange
    from placed as p
    left join class as c on p.op = 'all_reduce' and c.members = p.members and c.message = p.message
    left join (select members, bool_or(is_tensor) as is_tensor from class group by members) as g on g.members = p.members
)

select
    k.*,
    case
        when contains(k.names, 'syncbatchnorm') then 'other'
        when k.op = 'all_to_all' then 'exchange'
        when k.op in ('send', 'recv') or k.op = 'send_recv' and not t.has_exchange then 'pipeline'
        when k.op in ('all_gather', 'reduce_scatter') and k.exchange = 'embeddings' then 'exchange'
        when k.is_tensor then 'tensor'
        when k.op in ('all_gather', 'reduce_scatter') and k.is_sharded then 'gather'
        when k.op in ('all_gather', 'reduce_scatter') and t.is_sequence then 'tensor'
        when k.op = 'all_gather' and (k.phase = 'optimizer' or t.scatters > 0) then 'gather'
        when k.op = 'reduce_scatter' and t.gathers > 0 then 'gather'
        when k.op in ('all_reduce', 'reduce_scatter', 'reduce') and coalesce(k.bytes, 65536) >= 65536
            and (k.is_gradient or k.phase = 'backward') then 'gradient'
        when k.op in ('all_reduce', 'reduce_scatter') and coalesce(k.bytes, 1048576) >= 1048576
            and k.phase is distinct from 'forward' and k.place > 0.3 then 'gradient'
        else 'other'
    end as role,
    if(count(distinct k.exchange) filter (k.op = 'all_to_all') over () = 1, max(k.exchange) filter (k.op = 'all_to_all') over (), null) as only_exchange
from known as k
cross join of_trace as t
