"""Work that the program does now and then, its settings, compiling and loading of code."""
