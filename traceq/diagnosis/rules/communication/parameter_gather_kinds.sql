-- What parameters are gathered for, as collective_role.sql tells it.
select unnest(['layers', 'optimizer']) as kind
