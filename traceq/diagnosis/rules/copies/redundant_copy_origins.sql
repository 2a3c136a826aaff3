-- What copies inside the device are asked for by, most time first.
-- uses: device_copy
select origin
from device_copy
group by origin
order by sum(claimed) desc, origin
