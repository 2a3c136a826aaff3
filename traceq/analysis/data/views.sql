-- Fetches by loader: also those of other training processes in the same capture, which data_stall leaves out.

--: One row per thread and loader it fetches from: sums over data_fetch, in and outside of steps.
create or replace view data_loader as
select
    --: Trace.
    trace_id,
    --: Thread that fetches.
    thread_id,
    --: Whether training waits for it; see data_fetch.
    is_training,
    --: Loader; see data_fetch.
    loader,
    --: multi_process or in_process; NULL when the names do not tell.
    any_value(loader_kind) as loader_kind,
    --: Fetches.
    count(*) as fetches,
    --: Their time, ns.
    sum(dur)::bigint as dur,
    --: Their median, ns.
    median(dur) as median,
    --: The longest, ns.
    max(dur) as longest,
    sum(columns(['stalled', 'waiting', 'reading', 'transform', 'python', 'calls', 'unexplained']))::bigint
from data_fetch
group by trace_id, thread_id, is_training, loader;
comment on column data_loader.stalled is 'Their time that held up a device, ns; NULL without a GPU.';
comment on column data_loader.waiting is 'Sum, ns; see data_fetch.';
comment on column data_loader.reading is 'As waiting.';
comment on column data_loader.transform is 'As waiting.';
comment on column data_loader.python is 'As waiting.';
comment on column data_loader.calls is 'As waiting.';
comment on column data_loader.unexplained is 'As waiting.';
