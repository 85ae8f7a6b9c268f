/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of a sink: PATH.partial and PATH.json.partial while it writes, then PATH and PATH.json.
 *
 * The lock of PATH.json.partial is held from the start until it has taken its final name, the last
 * step of all; so no other run writes any of the four meanwhile. PATH.json stands beside no array
 * but the one that it came with: the old one is removed before the array is replaced. */
#pragma once

#include <glib.h>

typedef struct {
    char *path, *partial, *json, *json_partial;
    int fd;      /* of PATH.partial; −1: not open */
    int json_fd; /* of PATH.json.partial */
    int folder_fd;
} SinkFiles;

/* Whether PATH and PATH.json are regular files or not there: others would be replaced, not written.
 */
gboolean sink_files_check(const char *path, GError **error);

/* Creates PATH.partial and PATH.json.partial, empty, or takes those that another run has left.
 * Fails, and touches nothing, while another run writes them. sink_files_close is due either way. */
gboolean sink_files_open(SinkFiles *files, const char *path, GError **error);

/* Replaces what stands in PATH.json.partial. */
gboolean sink_files_describe(const SinkFiles *files, const char *text, GError **error);

/* Adds the bytes of PATH.partial to `checksum`. */
gboolean sink_files_digest(const SinkFiles *files, GChecksum *checksum, GError **error);

/* Makes `text` what PATH.json will be, and waits until the bytes of both files are on the disk. */
gboolean sink_files_seal(const SinkFiles *files, const char *text, GError **error);

/* Gives both files their final names, once they are sealed. After a failure there is no PATH.json,
 * or the old one beside the old array. */
gboolean sink_files_commit(const SinkFiles *files, GError **error);

/* Closes the files, which lets other runs write them. */
void sink_files_close(SinkFiles *files);
