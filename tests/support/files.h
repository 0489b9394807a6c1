/* Small input files for tests of the readers, in a folder that is made for each test and removed. */
#pragma once

#include "core/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

int files_setup(void **state);
int files_teardown(void **state);
#define FILES_TEST(test) cmocka_unit_test_setup_teardown(test, files_setup, files_teardown)

/* Path of a file in the folder; valid until the eighth call after this one. */
const char *file_path(const char *name);
/* Each writes a file and returns its path. */
const char *write_file(const char *name, const void *data, int64_t size);
const char *write_text(const char *name, const char *text);
const char *write_gzip(const char *name, const void *data, int64_t size);
/* .npy with this header text (without its padding) before the data. */
const char *write_npy_header(const char *name, const char *header, const void *data, int64_t size);
/* .npy; shape as text: "(3, 2)" */
const char *write_npy(const char *name, const char *descr, int fortran, const char *shape, const void *data,
                      int64_t size);
/* Whole file; free() it. */
unsigned char *read_whole(const char *path, int64_t *size);
/* .npz of two files that are there already, as members a.npy and b.npy */
const char *write_npz(const char *name, const char *a, const char *b, int deflated);

/* Reads standard input from a file until restored. */
int redirect_input(const char *path);
void restore_input(int saved);

/* Asserts RER_BAD_INPUT and that the message has all the parts, NULL at the end. */
void assert_bad_input(const rer_error *error, ...) __attribute__((sentinel));
