/* manifest.json: what one run left in its folder, each file with its size and its CRC-32 (zlib's). What is not listed
 * there is not ours: a folder that holds it is not replaced. */
#pragma once

#include "core/writer.h"

#define RER_MANIFEST "manifest.json"
#define RER_JOURNAL "decisions.jsonl" /* of a review: it is no run's, and a folder that holds it is not replaced */

typedef struct rer_manifest_file {
    const char *name;
    int64_t size;
    uint32_t crc32;
} rer_manifest_file;

/* command: whose results these are ("analyze"). */
void rer_manifest_put(rer_writer *writer, const char *command, const rer_manifest_file *files, int count);

/* Whether a folder that is there may give way to results of `command`: it is empty, or holds such results and nothing
 * else. *names: those of its files, each on a line of its own; free() it. names may be NULL. */
rer_status rer_manifest_replaceable(char **names, const char *folder, const char *command, rer_error *error);

/* Whether files [count] of a folder are files, where they are there, and as they were written, where it has a manifest:
 * results of older versions, and those made by hand, have none. */
rer_status rer_manifest_check(const char *folder, const char *const *files, int count, rer_error *error);
/* A pipe or a device goes by this name, which could be waited for, or read, for ever. */
bool rer_path_is_waited_for(const char *path);
