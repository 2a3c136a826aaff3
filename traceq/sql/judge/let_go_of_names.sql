drop type kernel_names
