-- GPU work of decode steps against what reading the model's weights and the requests' keys and values takes at $reachable of the
-- bandwidth of memory. The part that can go is what is above that.
-- title: Decoding is far slower than the memory bandwidth allows
-- finds: Decode steps of a server whose kernels take much longer than reading weights, keys and values once would.
-- matters: A decode step computes one token per request. With the batch sizes of most servers, it takes about as long as
--   reading all weights and the cached keys and values once. Anything beyond that comes from kernels that read slowly: grids
--   too small for the GPU, products not tuned for a few rows, attention that does not split long caches.
-- measured: serving_roofline of the counted steps of kind decode: bytes from the shapes of matrix products and of what writes
--   to the cache, times the number of tokens in the step's annotation; for steps in CUDA graphs, the smallest weights that any
--   other step in the trace reads, unless a second capture (`--capture`) shows those of the graph. Quantised weights whose
--   operators have no shapes are not included, so this is a lower bound. The time to read these bytes at 0.8 of the bandwidth,
--   as copies and reductions do, is compared with the time in which kernels run, without those of experts, whose weights no
--   shape shows. The claim is the time beyond that: all of it if the kernels take at least twice as long, and proportionally
--   less below. Shares: 0.1 low, 0.4 likely, 0.8 high: larger batches also spend time computing, and small layers do not keep
--   the memory busy.
-- try: Another attention backend, tuned matrix kernels, fusion of the small kernels between them; then fewer bytes:
--   weights and cache in fp8.
-- references: https://kipp.ly/transformer-inference-arithmetic/
--   https://docs.vllm.ai/en/stable/configuration/optimization/
-- fix: {% if facts.dialect == 'vllm' %}Try another `--attention-backend`, and tuned kernels: `--compilation-config` with
--   `cudagraph_mode` FULL {%- if program.is_amd %}, `VLLM_ROCM_USE_AITER=1`{% endif %} {%- elif facts.dialect == 'sglang' %}Try
--   another `--attention-backend` {%- if program.is_amd %} (aiter){% else %} (fa3, flashinfer){% endif %} and
--   `--enable-torch-compile` {%- elif facts.dialect == 'tensorrt_llm' %}Build with the attention and GEMM plugins for this
--   batch size, or turn autotuning on {%- else %}Try another attention backend, and matrix kernels tuned for a few rows {%-
--   endif %}. Weights and cache in fp8 halve what is read. A decode step of {{ plural(facts.requests, 'request') }} has to read
--   {{ size(facts.weight_bytes) }} of weights {%- if facts.kv_bytes %} and {{ size(facts.kv_bytes) }} of keys and values{%
--   endif %}, which takes {{ time(facts.least_ns) }} at the peak memory bandwidth; its kernels take {{ time(facts.busy_ns) }}
--   (medians {%- if facts.expert_ns > 1000 %}, {{ time(facts.expert_ns) }} of experts left aside{% endif %}), mostly {{
--   kernel_name(worst.name) }}.
-- confidence: medium
-- reason: The bytes follow from shapes and from the step's own annotation; how close kernels can get to the bandwidth with
--   these sizes is estimated.
-- wrong-if: The batch is so large that arithmetic limits the products, or requests read different weights from those of the
--   first steps (adapters, experts).
-- heading: Read weights and cache faster: decoding is far below the memory bandwidth
-- needs: gpu, steps
-- absent: {% set told = ask('serving_told') and ask('decode_bandwidth_told') %}{% if not told or not told[0].steps %}no step
--   only decodes {%- elif told[0].known and told[0].slow_share <= 1 / reachable %}decode steps take {{ '%.1f' %
--   told[0].slow_share }} times as long as reading weights, keys and values at the peak memory bandwidth: only fewer bytes
--   (fp8, int4) make them shorter {%- endif %}
-- unknown: {% set told = ask('serving_told') and ask('decode_bandwidth_told') %}{% if told and told[0].steps and not told[0].known %}{{ told[0].reason }}
--   {%- endif %}
-- facts: decode_bandwidth_told
-- low: 0.1
-- likely: 0.4
-- high: 0.8
-- down-to: limit
-- threshold: reachable = 0.8: copies reach 0.8 to 0.9 of the peak bandwidth (STREAM, bandwidthTest)
-- threshold: slow = 2: twice the time of reading: beyond what kernels, batches and contexts of other sizes differ by; of less the
--   share counts that it is on the way there
-- uses: dense_busy
-- categories: compute
with
step_busy as (
    select step, sum(ledger_dur) as dur from dense_busy group by step
),

slow as (
    -- of a little more than reading nobody can tell whether it can go
    select
        r.step,
        (1 - r.least_dur / $reachable / b.dur) * least(1, (b.dur / (r.least_dur / $reachable) - 1) / ($slow - 1)) as spare
    from serving_roofline as r
    inner join step_busy as b using (step)
    where
        r.trace_id = $trace_id
        and r.excluded is null
        and b.dur > r.least_dur / $reachable
)

select
    b.step, b.ts, b.dur, b.name, b.slice_id,
    b.ledger_dur * s.spare as claimed,
    'compute' as cause, b.slice_id as busy_id, b.family
from dense_busy as b
inner join slow as s using (step)
