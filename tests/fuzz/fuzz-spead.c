/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target: SPEAD. A recording, whose packets are found and ordered in time. */
#include "fuzz-recording.h"
#include "spead-source.c" /* the plugin exports only its description */

int
LLVMFuzzerTestOneInput(const guint8 *data, gsize size)
{
    const int fd = memfd_create("recording", MFD_CLOEXEC);
    g_assert_cmpint(write(fd, data, size), ==, size);
    g_autofree char *text = g_strdup_printf(
        "{ paths: /proc/self/fd/%d, payload: [channel, time 8, pol 2], ticks_per_sample: 4 }", fd);
    describe_files(&spead_source_files, &spead_source, text);
    close(fd);
    return 0;
}
