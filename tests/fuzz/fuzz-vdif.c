/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target: VDIF. The first byte is the number of bits to assume (0: the headers'), the rest is
 * a recording. Its frames are found and ordered in time; the fast code and the plain code decode
 * the payload of the first header to the same samples. */
#define _GNU_SOURCE
#include "fuzz.h"
#include "model/node-params.h"
#include "vdif-source.c" /* the plugin exports only its description */

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LARGEST_PAYLOAD = 1 << 14 };

static const CtParam table[] = {
    {"path", CT_PARAM_PATH, CT_PARAM_LIST, NULL, 0, 0, NULL, NULL, ""},
    {"bits", CT_PARAM_INT, 0, NULL, 0, 0, "0", NULL, ""},
    {"thread_ids", CT_PARAM_INT, CT_PARAM_LIST, NULL, 0, 0, NULL, NULL, ""},
    {"sample_rate", CT_PARAM_QUANTITY, 0, "Hz", 0, 0, "1 MHz", NULL, ""},
    {"max_gap", CT_PARAM_QUANTITY, 0, "s", 0, 0, "10 s", NULL, ""},
    {0},
};
static const CtStage stage = {.name = "vdif.source", .params = table};

static void
check_decoders(const guint8 *data, gsize size, guint bits)
{
    VdifHeader header;
    if (size < VDIF_HEADER_BYTES || vdif_header_parse(data, bits, &header))
        return;
    vdif_unix_time(header.ref_epoch, header.seconds);
    const gsize payload_bytes = header.frame_bytes - header.header_bytes;
    if (payload_bytes > LARGEST_PAYLOAD)
        return;
    g_autofree guint8 *payload = g_malloc0(payload_bytes);
    memcpy(payload, data + header.header_bytes, MIN(size - header.header_bytes, payload_bytes));

    const gsize value_bytes = header.is_complex ? 8 : 4;
    const gsize bytes = header.n_samples * header.n_channels * value_bytes;
    g_autofree guint8 *fast = g_malloc(bytes), *plain = g_malloc(bytes);
    VdifDecoder decoder;
    vdif_decoder_init(&decoder, &header);
    vdif_payload_decode(&decoder, payload, 0, header.n_samples, fast,
                        header.n_channels * value_bytes, value_bytes);
    vdif_payload_decode_plain(&decoder, payload, 0, header.n_samples, plain,
                              header.n_channels * value_bytes, value_bytes);
    vdif_decoder_clear(&decoder);
    g_assert_cmpmem(fast, bytes, plain, bytes);
}

static void
open_recording(const guint8 *data, gsize size, guint bits)
{
    const int fd = memfd_create("recording", MFD_CLOEXEC);
    g_assert_cmpint(write(fd, data, size), ==, size);
    g_autofree char *text = g_strdup_printf("{ path: /proc/self/fd/%d, bits: %u }", fd, bits);
    g_autoptr(CtValue) values = ct_value_parse(text, -1, "g", NULL);
    const CtPlace place = {"g", 1, 1};
    g_autoptr(GError) error = NULL;
    g_autoptr(CtParams) params = ct_params_new("source", &stage, &place, values, &error);
    g_assert_no_error(error);
    g_autoptr(CtRecording) recording = ct_source_open(&source, params, &error);
    g_assert_true((recording == NULL) == (error != NULL));
    if (recording)
        g_assert_cmpint(recording->packets->end, >, recording->packets->first);
    close(fd);
}

int
LLVMFuzzerTestOneInput(const guint8 *data, gsize size)
{
    if (size < 1)
        return 0;
    const guint bits = data[0] % (VDIF_MAX_BITS + 1);
    check_decoders(data + 1, size - 1, bits);
    open_recording(data + 1, size - 1, bits);
    return 0;
}
