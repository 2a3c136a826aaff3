-- Fetches by loader: also those of other training processes in the same capture, which data_stall leaves out.

create or replace view data_loader as
select
    trace_id, thread_id, is_training, loader,
    any_value(loader_kind) as loader_kind,
    count(*) as fetches,
    sum(dur)::bigint as dur,
    median(dur) as median,
    max(dur) as longest,
    sum(columns(['stalled', 'waiting', 'reading', 'transform', 'python', 'calls', 'unexplained']))::bigint
from data_fetch
group by trace_id, thread_id, is_training, loader;
comment on view data_loader is 'One row per thread and loader it fetches from: sums over data_fetch, in and outside of steps.';
comment on column data_loader.thread_id is 'Thread that fetches.';
comment on column data_loader.is_training is 'Whether training waits for it; see data_fetch.';
comment on column data_loader.loader is 'Loader; see data_fetch.';
comment on column data_loader.loader_kind is 'multi_process or in_process; NULL when the names do not tell.';
comment on column data_loader.fetches is 'Fetches.';
comment on column data_loader.dur is 'Their time, ns.';
comment on column data_loader.median is 'Their median, ns.';
comment on column data_loader.longest is 'The longest, ns.';
comment on column data_loader.stalled is 'Their time that held up a device, ns; NULL without a GPU.';
comment on column data_loader.waiting is 'Sum, ns; see data_fetch.';
comment on column data_loader.reading is 'As waiting.';
comment on column data_loader.transform is 'As waiting.';
comment on column data_loader.python is 'As waiting.';
comment on column data_loader.calls is 'As waiting.';
comment on column data_loader.unexplained is 'As waiting.';
