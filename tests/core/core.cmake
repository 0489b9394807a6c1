target_link_options(test.core.out_of_memory PRIVATE -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=free
                    -Wl,--wrap=posix_memalign,--wrap=strdup,--wrap=mmap,--wrap=munmap,--wrap=fsync)

target_link_options(test.core.folder PRIVATE -Wl,--wrap=rename,--wrap=renameat2,--wrap=fsync,--wrap=fwrite,--wrap=fflush
                    -Wl,--wrap=fclose,--wrap=close,--wrap=read,--wrap=mkdir,--wrap=open64)

# valgrind does not know that pages which were given back come zeroed
set_tests_properties(core.memory PROPERTIES LABELS once)
