target_link_options(test.core.out_of_memory PRIVATE -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=free
                    -Wl,--wrap=posix_memalign,--wrap=strdup,--wrap=mmap,--wrap=munmap,--wrap=fsync)
