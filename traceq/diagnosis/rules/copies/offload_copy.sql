-- Large copies to the host in forward, backward or optimizer, and such copies back in backward or optimizer, in the same steps: memory that
-- is offloaded.
-- title: Compute waits for offloading
-- finds: Copies of activations, gradients or optimizer state to the host and back, in every step, that run alone on
--   the GPU.
-- matters: Offloading trades time on the link for memory. It is free as long as the copies overlap computation, and costs their
--   full time if they start too late or the program waits for each one.
-- measured: Copies of at least 1 MiB to the host in forward, backward or optimizer, and to the device in backward or optimizer
--   (copy_overlap.position), both in at least half of the counted steps and in at least two, where the bytes out and the bytes
--   back differ by less than a factor of 4: otherwise they have nothing to do with each other. Claimed is their exposed time.
--   Low, likely and high share: 0.3, 0.7 and 1.
-- try: A separate stream, pinned buffers kept from step to step, fetching one layer ahead; or less offloading.
-- references: https://docs.pytorch.org/tutorials/intermediate/autograd_saved_tensors_hooks_tutorial.html
--   https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html
-- fix: {{ remedy('offload_less') }} {{ copies() }} They run in {{ pieces | map(attribute='position') | unique | sort
--   | join(' and ') }}.
-- confidence: medium
-- reason: Positions, sizes and recurrence point to offloading; what the copies contain is not known.
-- wrong-if: The copies to the host are results, and the copies to the device are new input.
-- heading: {% if program.uses('FSDP', 'DeepSpeed') or program.is_server %}Keep on the GPU what is offloaded now{% else
--   %}Offload less, or overlap it with computation{% endif %}
-- needs: gpu, steps, calls, phases, several_steps
-- about: copies
-- low: 0.3
-- likely: 0.7
-- high: 1.0
-- threshold: least_bytes = 1048576: below 1 MiB offloading costs more in latency than it frees
-- threshold: least_steps_share = 0.5: what half of the steps do is a habit of the program
-- threshold: most_ratio = 4: what goes out as one type may come back as another (fp32 and fp16: 2, with fp8: 4);
--   beyond, the two have nothing to do with each other
-- uses: counted_copy
with
copy as (
    select
        c.slice_id, c.step, c.ts, c.dur, c.name,
        c.direction, c.bytes, c.bandwidth, c.category, c.position, c.exposed, c.overlapped
    from counted_copy as c
    where
        c.copy_kind in ('h2d', 'd2h')
        and c.bytes >= $least_bytes
        and c.position in ('forward', 'backward', 'optimizer')
),

offloading as (
    select step
    from copy
    group by step
    having
        count(*) filter (direction = 'd2h') > 0
        and count(*) filter (direction = 'h2d' and position <> 'forward') > 0
        and sum(bytes) filter (direction = 'h2d') between
            sum(bytes) filter (direction = 'd2h') / $most_ratio and sum(bytes) filter (direction = 'd2h') * $most_ratio
)

select
    step, ts, dur, name, slice_id, exposed as claimed, category as cause, slice_id as busy_id,
    direction, bytes, bandwidth, position, overlapped as overlapped_ns
from copy
where
    exposed > 0
    and step in (select step from offloading)
    and (select count(*) from offloading)
    >= greatest(2, $least_steps_share * (select steps from step_stats where trace_id = $trace_id))
