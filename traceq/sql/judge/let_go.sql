drop table held_table
