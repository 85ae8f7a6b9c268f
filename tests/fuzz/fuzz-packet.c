/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target: packets with a described header. The first byte chooses one of the descriptions, the
 * rest is a recording, whose packets are found and ordered in time. Up to a zero byte, it is also
 * the text of a field. */
#include "fuzz-recording.h"
#include "packet-source.c" /* the plugin exports only its description */

static const char *const descriptions[] = {
    "header_bytes: 8, counter: u8 at 0, station: u4 at 1, channel: u4 at 1 bit 4, payload: [time "
    "2, "
    "channel 2], counts: packets",
    "header_bytes: 4, counter: u16 little at 0, flag: u1 at 2, constants: [u4 at 3 = 5], payload: "
    "[pol 2, time 3], station: u7 at 2 bit 1",
    "header_bytes: 12, counter: u64 at 0, channel: u16 at 8, payload: [subband 3], counts: ticks, "
    "ticks_per_sample: 3",
    "header_bytes: 2, counter: u12 at 0, station: u4 little at 1, payload: [channel 2, time 1], "
    "stations: [3, 0..1]",
};

static void
check_field(const guint8 *data, gsize size)
{
    static const guint8 header[CT_PACKET_LONGEST_HEADER + 16] = {1, 2, 3};
    g_autofree char *text = g_strndup((const char *)data, size);
    PacketConstant constant;
    if (packet_field_parse(text, &constant.field) || packet_constant_parse(text, &constant)) {
        g_assert_cmpuint(packet_field_end(&constant.field), <=, sizeof header);
        packet_field_get(&constant.field, header);
    }
}

int
LLVMFuzzerTestOneInput(const guint8 *data, gsize size)
{
    if (size < 1)
        return 0;
    const char *description = descriptions[data[0] % G_N_ELEMENTS(descriptions)];
    check_field(data + 1, size - 1);
    g_autofree char *given =
        g_strdup_printf("%s, type: ci8, sample_rate: 1 MHz, max_gap: 1 s", description);
    const int fd = memfd_create("recording", MFD_CLOEXEC);
    g_assert_cmpint(write(fd, data + 1, size - 1), ==, size - 1);
    g_autofree char *text = g_strdup_printf("{ paths: /proc/self/fd/%d, %s }", fd, given);
    describe_files(&source, &packet_source, text);
    close(fd);
    return 0;
}
