-- A table that stands for what a query finds while a trace is judged.
create or replace temp table held_table as held_query
