/* SPDX-License-Identifier: BSD-3-Clause */
/* What the fuzz targets of sources of arrays share: a file of the bytes is opened and, if it is
 * short, read by both variants, which must give the same samples. */
#pragma once

#include "array-source-test.h"
#include "fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

/* The same of files that are there: "{ path: x }". */
static inline void
fuzz_array_files(const CtArraySource *source, const CtStage *stage, const char *text)
{
    enum { MOST = 1 << 20, ROOM = 7 };
    g_autoptr(CtParams) given = array_source_params(stage, text);
    g_auto(ArrayRead) inferred = {0}, fast = {0}, plain = {0};
    g_autoptr(GError) error = NULL;
    if (!array_source_infer(&inferred, source, stage, given, &error)) {
        g_assert_nonnull(error);
        return;
    }
    g_assert_no_error(error);
    const gint time = ct_stream_axis(&inferred.stream, "time");
    const gint64 n_samples = time < 0 ? 1 : inferred.stream.axes[time].length;
    const gint64 width = ct_stream_width(&inferred.stream);
    if (n_samples > MOST || width > MOST || n_samples * width > MOST)
        return;
    array_source_read(&fast, source, stage, given, CT_CPU, ROOM, 1, &error);
    g_assert_no_error(error);
    array_source_read(&plain, source, stage, given, CT_REFERENCE, n_samples + 1, 1, &error);
    g_assert_no_error(error);
    g_assert_cmpmem(fast.data->data, fast.data->len, plain.data->data, plain.data->len);
}

static inline void
fuzz_array_source(const CtArraySource *source, const CtStage *stage, const char *params,
                  const guint8 *data, gsize size)
{
    const int fd = memfd_create("array", MFD_CLOEXEC);
    g_assert_cmpint(write(fd, data, size), ==, size);
    g_autofree char *text = g_strdup_printf("{ path: /proc/self/fd/%d%s }", fd, params);
    fuzz_array_files(source, stage, text);
    close(fd);
}
