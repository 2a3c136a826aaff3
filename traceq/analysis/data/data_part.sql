-- Macro _work_in(pieces): what is done in each of the intervals that were cut into the table `pieces` (host_piece.py), by the innermost
-- slice of the thread at each instant, whatever is around it. An OS call inside an API call is how that call works. The parts of an
-- interval add up to it.
-- makes: _work_in

create or replace temp macro _work_in(pieces) as table
with
slice as (
    select slice_id, kind, name, parent_id
    from cpu_slice
    where slice_id in (select slice_id from query_table(pieces))
),

api_call as (
    select slice_id
    from cpu_slice
    where kind = 'runtime' and slice_id in (select parent_id from slice where kind = 'os')
),

meaning as (
    select
        kind,
        name,
        case
            when kind = 'os' and regexp_matches(name, '^(p?poll|p?select|epoll_p?wait|sem_(timed|clock)?wait|pthread_(cond_(timed|clock)?wait|mutex_(timed)?lock|rwlock_(timed)?(rd|wr)lock|spin_lock|barrier_wait|join)|futex|(clock_)?nanosleep|u?sleep|sched_yield|wait(pid|id|3|4)?|recv(from|m?msg)?|accept4?|sig(timed)?wait(info)?|mq_(timed)?receive|flock)$')
                then 'waiting'
            when kind = 'os' and regexp_matches(name, '^(p?read(v|v2|64|ahead)?|f?open(at|64|at64)?|fread(_unlocked)?|fget(c|s)|getc|getline|getdelim|fclose|close|l?stat(x|64)?|fstat(at)?(64)?|l?seek(64)?|fseeko?|access|readdir(64)?|opendir|io_(submit|getevents))$')
                then 'reading'
            when kind = 'python' and regexp_matches(name, 'built-in (method|function) (acquire|poll|select|wait|recv|recv_into|sleep|epoll_wait|waitpid)\b|(^|/)(threading|queue|selectors)\.py.*: (wait|get|select|join|acquire)$|multiprocessing/(connection|queues|synchronize|popen_\w+)\.py.*: (wait|_?poll|get|_?recv(_bytes)?|acquire|select)$')
                then 'waiting'
            when kind = 'python' and regexp_matches(name, 'built-in (method|function) (read|readinto|readline|readlines|pread|open|stat|listdir|scandir)\b|(^|/)(pathlib|genericpath|tarfile|zipfile|shutil)\.py')
                then 'reading'
            when kind = 'python' then 'python'
            when kind = 'op' then 'transform'
            when kind in ('os', 'runtime') then 'calls'
            else 'range'
        end as part
    from (select distinct kind, name from slice)
)

select
    p.interval_id,
    case when a.slice_id is not null then 'calls' else coalesce(m.part, 'none') end as part,
    sum(p.ts_end - p.ts)::bigint as dur
from query_table(pieces) as p
left join slice as s using (slice_id)
left join api_call as a on s.kind = 'os' and a.slice_id = s.parent_id
left join meaning as m on m.kind = s.kind and m.name = s.name
group by all;
