/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of a sink: PATH.partial and PATH.json.partial while it writes, then PATH and PATH.json.
 *
 * The lock of PATH.json.partial is held from the start until it has taken its final name, which is
 * the last step, so no other run writes any of the four files meanwhile. PATH.json is never beside
 * an array that it does not describe: the old one is removed before the array is replaced. */
#pragma once

#include <glib.h>

typedef struct {
    char *path, *partial, *json, *json_partial;
    int fd;      /* of PATH.partial; −1: not open */
    int json_fd; /* of PATH.json.partial */
    int folder_fd;
} CtSinkFiles;

/* Whether PATH and PATH.json are regular files or do not exist: others would be replaced, not
 * written. */
gboolean ct_sink_files_check(const char *path, GError **error);

/* Creates PATH.partial and PATH.json.partial, empty, or takes those that another run has left.
 * Fails without changes while another run writes them. Call ct_sink_files_close in either case. */
gboolean ct_sink_files_open(CtSinkFiles *files, const char *path, GError **error);

/* Removes PATH.partial, so that a library can create it by its name. The lock of PATH.json.partial
 * keeps other runs away. */
gboolean ct_sink_files_lend(CtSinkFiles *files, GError **error);
/* Opens the PATH.partial that the library has created. */
gboolean ct_sink_files_take_back(CtSinkFiles *files, GError **error);

/* Replaces the contents of PATH.json.partial. */
gboolean ct_sink_files_describe(const CtSinkFiles *files, const char *text, GError **error);

/* Adds the bytes of PATH.partial to `checksum`. */
gboolean ct_sink_files_digest(const CtSinkFiles *files, GChecksum *checksum, GError **error);

/* Writes `text`, the final PATH.json, and waits until the bytes of both files are on the disk. */
gboolean ct_sink_files_seal(const CtSinkFiles *files, const char *text, GError **error);

/* Gives both sealed files their final names. After a failure there is no PATH.json, or the old one
 * beside the old array. */
gboolean ct_sink_files_commit(const CtSinkFiles *files, GError **error);

/* Closes the files, so that other runs may write them. */
void ct_sink_files_close(CtSinkFiles *files);
