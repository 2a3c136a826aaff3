-- Requests to a server, joined with its steps. Definitions: docs/requests.md.

--: One row per request and serving step that overlap in time, of requests whose log is placed on the clock of the trace.
create table if not exists request_step (
    --: Trace.
    trace_id integer not null,
    --: Request; see request.
    request_number bigint not null,
    --: Step; see serving_step.
    step integer not null,
    --: Time of the step in which the request waits in the queue, ns; NULL where the log does not say when it was scheduled.
    queue bigint,
    --: Time of the step before its first token, that in the queue included, ns; NULL where the log does not say when that
    --: came.
    before_first bigint,
    --: Time of the step between its first token and its end, ns; NULL likewise.
    decode bigint,
    --: Tokens that it got of the step: those that came after the step's GPU work was done, and before that of the next
    --: one was. NULL where the log does not say when each token came.
    tokens bigint
);
