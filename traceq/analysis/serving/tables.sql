-- Steps of a server of language or diffusion models, as its annotations tell of them. Definitions: docs/metrics.md.

--: One row per annotation that a server of models puts around one step of a batch of requests; of annotations inside
--: one another the outermost, but SGLang's own where it stands inside one in vLLM's form. Those of a step without
--: requests are left out. Where the host has none, those that the profiler projected onto the stream with most of them.
--: Definition: docs/metrics.md.
create table if not exists serving_mark (
    --: Trace.
    trace_id integer not null,
    --: The annotation in cpu_slice; in gpu_annotation where thread_id is NULL.
    slice_id bigint not null,
    --: Thread it stands on; NULL for one that the trace holds on the GPU only.
    thread_id integer,
    --: Who writes such annotations: vllm (execute_...), sglang (step[...]), tensorrt_llm ([Executor] _forward_step
    --: ...), atom (prefill[...], decode[...]), diffusion (execute_diffusion_...).
    dialect varchar not null,
    --: prefill (prompts only), decode (next tokens only), mixed (both in one batch), diffusion; NULL where the
    --: annotation does not say.
    kind varchar,
    --: Requests in the batch; NULL where the annotation does not say.
    requests bigint,
    --: Those whose prompt, or a part of it, is computed; NULL likewise.
    prefill_requests bigint,
    --: Those that get their next token; NULL likewise.
    decode_requests bigint,
    --: Tokens computed in the step, all requests: prefill_tokens and decode_tokens; NULL likewise.
    new_tokens bigint,
    --: Tokens of prompts among them; NULL likewise.
    prefill_tokens bigint,
    --: Tokens of decoding requests among them: one a request, or with speculative decoding the drafted ones as well;
    --: NULL likewise.
    decode_tokens bigint,
    --: Tokens whose keys and values attention reads in the step, the new ones included, summed over the requests; NULL
    --: likewise.
    kv_tokens bigint,
    --: Start, ns.
    ts bigint not null,
    --: Duration of the annotation, ns: on the host it ends when the work is launched, not when it is done.
    dur bigint not null
);

--: One row per serving step and device with operators whose shapes tell what they read of weights, or of keys and
--: values. Definition: docs/metrics.md.
create table if not exists serving_bytes (
    --: Trace.
    trace_id integer not null,
    --: Step whose kernels they launched.
    step integer not null,
    --: Device of the kernels; NULL for operators that launched none, or on several.
    device integer,
    --: Bytes of the weights of its matrix products, each product's read once; NULL when it has none whose shapes are
    --: recorded.
    weight_bytes bigint,
    --: Bytes of the keys and values that its attention reads; NULL when no attention gives their shapes, as those over
    --: a paged cache do not.
    kv_bytes bigint,
    --: Bytes of the keys and values of one token, over all layers: what operators that write to the cache write of
    --: each. NULL where none is recorded with its shapes.
    token_bytes bigint
);
