"""Records of collectives kept while a program ran: what each operation took on each rank, over thousands of steps."""
