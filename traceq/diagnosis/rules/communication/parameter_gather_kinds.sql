-- What parameters are gathered for, by collective_role.sql.
select unnest(['layers', 'optimizer']) as kind
