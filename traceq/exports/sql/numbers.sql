-- Process and thread ids that are real.
select pid as number from thread where pid is not null
union
select tid from thread where tid is not null
order by number
