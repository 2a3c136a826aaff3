-- Conversions of the library, and copies of the program, which operators tell; with the shares that go.
select 'conversion' as what, 0.3::double as low, 0.9::double as likely, 1.0::double as high
union all
select 'contiguous', 0.1, 0.4, 0.9
where exists (from cpu_slice where trace_id = $trace_id and kind = 'op')
