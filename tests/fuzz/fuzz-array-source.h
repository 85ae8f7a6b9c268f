/* SPDX-License-Identifier: BSD-3-Clause */
/* What the fuzz targets of sources of arrays share: a file of the bytes is opened and, if it is
 * short, read by both variants, which must give the same samples. */
#pragma once

#include "array-source-test.h"
#include "fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

static inline void
fuzz_array_source(const CtArraySource *source, const CtStage *stage, const char *params,
                  const guint8 *data, gsize size)
{
    enum { MOST = 1 << 20, ROOM = 7 };
    const int fd = memfd_create("array", MFD_CLOEXEC);
    g_assert_cmpint(write(fd, data, size), ==, size);
    g_autofree char *text = g_strdup_printf("{ path: /proc/self/fd/%d%s }", fd, params);
    g_autoptr(CtParams) given = array_source_params(stage, text);
    g_auto(ArrayRead) inferred = {0}, fast = {0}, plain = {0};
    g_autoptr(GError) error = NULL;
    if (!array_source_infer(&inferred, source, stage, given, &error)) {
        g_assert_nonnull(error);
        close(fd);
        return;
    }
    g_assert_no_error(error);
    const gint64 n_samples = inferred.stream.axes[0].length;
    const gint64 width = ct_stream_width(&inferred.stream);
    if (n_samples <= MOST && width <= MOST && n_samples * width <= MOST) {
        array_source_read(&fast, source, stage, given, CT_CPU, ROOM, 1, &error);
        g_assert_no_error(error);
        array_source_read(&plain, source, stage, given, CT_REFERENCE, n_samples + 1, 1, &error);
        g_assert_no_error(error);
        g_assert_cmpmem(fast.data->data, fast.data->len, plain.data->data, plain.data->len);
    }
    close(fd);
}
