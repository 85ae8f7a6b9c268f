/* SPDX-License-Identifier: BSD-3-Clause */
/* What the targets of sources of recordings share. */
#pragma once

#define _GNU_SOURCE
#include "fuzz.h"
#include "model/node-params.h"

#include <cornerturn/kit/source.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Opens and describes the files of a recording: "{ path: x, n_channels: 2 }". */
static inline void
describe_files(const CtSource *source, const CtStage *stage, const char *text)
{
    g_autoptr(CtValue) values = ct_value_parse(text, -1, "g", NULL);
    const CtPlace place = {"g", 1, 1};
    g_autoptr(GError) error = NULL;
    g_autoptr(CtParams) params = ct_params_new("source", stage, &place, values, &error);
    g_assert_no_error(error);
    CtStream stream;
    ct_stream_init(&stream);
    CtNode node = {.stage = stage, .params = params, .n_outputs = 1, .outputs = &stream};
    const gboolean good = ct_source_infer(source, &node, &error);
    g_assert_true(good == (error == NULL));
    if (good)
        g_assert_cmpint(stream.axes[0].length, >, 0);
    ct_stream_clear(&stream);
}

/* The same of a recording of these bytes, with parameters besides `path`: "n_channels: 2". */
static inline void
describe_recording(const CtSource *source, const CtStage *stage, const guint8 *data, gsize size,
                   const char *given)
{
    const int fd = memfd_create("recording", MFD_CLOEXEC);
    g_assert_cmpint(write(fd, data, size), ==, size);
    g_autofree char *text = g_strdup_printf("{ path: /proc/self/fd/%d, %s }", fd, given);
    describe_files(source, stage, text);
    close(fd);
}
