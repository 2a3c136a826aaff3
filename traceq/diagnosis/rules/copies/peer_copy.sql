-- Copies from one GPU to another with nothing beside them; those of collectives are communication.
-- title: Exposed copies between GPUs
-- finds: Direct copies from one GPU to another (cudaMemcpyPeer, tensor.to of another device) while nothing else runs
--   on the GPU.
-- matters: Both GPUs wait for the link. Without NVLink, that is the host's link, which is several times slower and
--   shared.
-- measured: The exposed time of copies of kind p2p (copy_overlap); those of collectives are communication. A best rate
--   above that of the host's link (device_model.host_link_bandwidth) shows NVLink; below it, on a GPU that can have
--   NVLink, PCIe. Low, likely and high share: 0.2, 0.6 and 1.
-- try: Copy on a separate stream during computation; larger pieces; GPUs joined by NVLink.
-- references: https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#peer-to-peer-memory-copy
--   https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/#asynchronous-and-overlapping-transfers-with-computation
-- fix: {% set best = pieces | map(attribute='best_bandwidth') | select | max | default(0) -%} {{ remedy('peer_early')
--   }} {{ copies() }} {% if best and worst.host_link_rate and best > worst.host_link_rate %}The best reaches {{
--   gb_per_s(best) }}, more than the host's link carries: they go over {{ 'xGMI' if program.is_amd else 'NVLink' }}.
--   {% elif best and worst.host_link_rate and worst.peer_link_rate and pieces | map(attribute='bytes') | select | max
--   | default(0) >= telling_bytes %}The best reaches {{ gb_per_s(best) }}, no more than PCIe carries, though such
--   GPUs can have {{ 'xGMI' if program.is_amd else 'NVLink' }} ({{ gb_per_s(worst.peer_link_rate) }}): {{
--   remedy('links_between') }}. {% endif %}
-- confidence: medium
-- reason: The copies' kind and time are in the trace; whether other work could overlap them is not known.
-- wrong-if: Every remaining kernel needs the data that is being copied.
-- heading: Overlap copies between GPUs with computation
-- needs: gpu, steps
-- about: copies
-- low: 0.2
-- likely: 0.6
-- high: 1.0
-- threshold: telling_bytes = 1048576: below 1 MiB the rate of a copy is its latency, and says nothing of the link
-- uses: counted_copy
-- only-with: counted_copy: copy_kind = 'p2p' and exposed > 0
select
    c.step, c.ts, c.dur, c.name, c.slice_id, c.exposed as claimed, c.category as cause, c.slice_id as busy_id,
    c.direction, c.bytes, c.bandwidth, c.best_bandwidth, m.host_link_bandwidth as host_link_rate,
    -- AMD joins each pair of eight by one of seven links
    m.peer_link_bandwidth / if(m.peer_link = 'xGMI', 7, 1) as peer_link_rate,
    c.src_device,
    c.dst_device
from counted_copy as c
left join device_model as m on m.trace_id = c.trace_id and m.device = c.device
where
    c.copy_kind = 'p2p'
    and c.exposed > 0
