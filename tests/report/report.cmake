target_link_options(test.report.out_of_memory PRIVATE -Wl,--wrap=realloc,--wrap=posix_memalign,--wrap=strdup)
