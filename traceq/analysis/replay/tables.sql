-- What the steps would last without one cause.

create table if not exists replay (
    trace_id integer not null,
    scenario varchar not null,
    removable bigint not null,
    saved bigint,
    share double,
    share_low double,
    share_high double,
    error double
);
comment on table replay is 'One row per scenario: the counted steps executed again with the time of one cause taken away. Definition: docs/metrics.md.';
comment on column replay.trace_id is 'Trace.';
comment on column replay.scenario is 'What is taken away: a category of time_ledger (idle_sync: nothing waits for the GPU; compute: a quarter of each kernel), or data_in_workers: idle_data, with the host slower beside the workers.';
comment on column replay.removable is 'Time of the critical device that the ledger holds for it over the counted steps, ns; of idle_sync also the rest of the gaps that synchronizing calls drained; of compute a quarter.';
comment on column replay.saved is 'Time by which the counted steps get shorter together, ns; NULL when the steps cannot be replayed.';
comment on column replay.share is 'saved over removable, at most 1: what is left of an upper bound when other waits take the place of the one removed. NULL as saved.';
comment on column replay.share_low is 'The same when all other work of the host takes longer by a quarter of what it takes: a cautious estimate. NULL as saved.';
comment on column replay.share_high is 'The most that can be hoped for: 1, or more where the cause also keeps other work waiting that the ledger counts elsewhere. NULL as saved.';
comment on column replay.error is 'How far the replay with nothing removed, and typical latencies, is from what was recorded, as a share of it. NULL as saved.';
