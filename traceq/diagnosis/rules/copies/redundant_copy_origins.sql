-- What copies within the device are asked for by, most time first, and the shares that go: more where a switch leaves the copy out.
-- uses: device_copy
select
    origin,
    if(origin in ('bucket', 'buffer'), 0.3, 0.1)::double as low,
    if(origin in ('bucket', 'buffer'), 0.8, 0.5)::double as likely
from device_copy
group by origin
order by sum(claimed) desc, origin
