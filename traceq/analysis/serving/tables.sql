-- Steps of a server of language or diffusion models, as its annotations tell of them. Definitions: docs/metrics.md.

create table if not exists serving_mark (
    trace_id integer not null,
    slice_id bigint not null,
    thread_id integer,
    dialect varchar not null,
    kind varchar,
    requests bigint,
    prefill_requests bigint,
    decode_requests bigint,
    new_tokens bigint,
    prefill_tokens bigint,
    decode_tokens bigint,
    kv_tokens bigint,
    ts bigint not null,
    dur bigint not null
);
comment on table serving_mark is 'One row per annotation that a server of models puts around one step of a batch of requests; of annotations inside one another the outermost, but SGLang''s own where it stands inside one in vLLM''s form. Those of a step without requests are left out. Where the host has none, those that the profiler projected onto the stream with most of them. Definition: docs/metrics.md.';
comment on column serving_mark.slice_id is 'The annotation in cpu_slice; in gpu_annotation where thread_id is NULL.';
comment on column serving_mark.thread_id is 'Thread it stands on; NULL for one that the trace holds on the GPU only.';
comment on column serving_mark.dialect is 'Who writes such annotations: vllm (execute_...), sglang (step[...]), tensorrt_llm ([Executor] _forward_step ...), atom (prefill[...], decode[...]), diffusion (execute_diffusion_...).';
comment on column serving_mark.kind is 'prefill (prompts only), decode (next tokens only), mixed (both in one batch), diffusion; NULL where the annotation does not say.';
comment on column serving_mark.requests is 'Requests in the batch; NULL where the annotation does not say.';
comment on column serving_mark.prefill_requests is 'Those whose prompt, or a part of it, is computed; NULL likewise.';
comment on column serving_mark.decode_requests is 'Those that get their next token; NULL likewise.';
comment on column serving_mark.new_tokens is 'Tokens computed in the step, all requests: prefill_tokens and decode_tokens; NULL likewise.';
comment on column serving_mark.prefill_tokens is 'Tokens of prompts among them; NULL likewise.';
comment on column serving_mark.decode_tokens is 'Tokens of decoding requests among them: one a request, or with speculative decoding the drafted ones as well; NULL likewise.';
comment on column serving_mark.kv_tokens is 'Tokens whose keys and values attention reads in the step, the new ones included, summed over the requests; NULL likewise.';
comment on column serving_mark.dur is 'Duration of the annotation, ns: on the host it ends when the work is launched, not when it is done.';

create table if not exists serving_bytes (
    trace_id integer not null,
    step integer not null,
    device integer,
    weight_bytes bigint,
    kv_bytes bigint,
    token_bytes bigint
);
comment on table serving_bytes is 'One row per serving step and device with operators whose shapes tell what they read of weights, or of keys and values. Definition: docs/metrics.md.';
comment on column serving_bytes.step is 'Step whose kernels they launched.';
comment on column serving_bytes.device is 'Device of the kernels; NULL for operators that launched none, or on several.';
comment on column serving_bytes.weight_bytes is 'Bytes of the weights of its matrix products, each product''s read once; NULL when it has none whose shapes are recorded.';
comment on column serving_bytes.kv_bytes is 'Bytes of the keys and values that its attention reads; NULL when no attention gives their shapes, as those over a paged cache do not.';
comment on column serving_bytes.token_bytes is 'Bytes of the keys and values of one token, over all layers: what operators that write to the cache write of each. NULL where none is recorded with its shapes.';
