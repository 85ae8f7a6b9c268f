/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target: what `select` picks, as lists of indices, labels, frequencies and times, of a stream
 * with all of them. */
#include "fuzz.h"
#include "model/node-params.h"
#include "select.c" /* the plugin exports only its description */

static void
describe_input(CtStream *stream)
{
    static const char *const stations[] = {"CS001", "CS002", "RS106"}, *const pols[] = {"X", "Y"};
    ct_stream_init(stream);
    stream->type = CT_CF32;
    ct_stream_add_axis(stream, "time", 1000);
    CtAxis *channel = ct_stream_add_axis(stream, "channel", 40);
    channel->coordinate = (CtCoordinate){.unit = g_intern_string("Hz"), .first = 1e8, .step = 1e5};
    g_autoptr(CtLabels) names = ct_labels_new(stations, G_N_ELEMENTS(stations));
    ct_axis_take_labels(ct_stream_add_axis(stream, "baseline", 6),
                        ct_labels_new_pairs(names, NULL, 0));
    ct_axis_take_labels(ct_stream_add_axis(stream, "pol", G_N_ELEMENTS(pols)),
                        ct_labels_new(pols, G_N_ELEMENTS(pols)));
    ct_stream_set_rate(stream, 200000000, 1024, 1024);
    stream->start = -512;
    stream->epoch = 1656466200;
}

int
LLVMFuzzerTestOneInput(const guint8 *data, gsize size)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(CtValue) values = ct_value_parse(size > 0 ? (const char *)data : "", size, "g", NULL);
    const CtPlace place = {"g", 1, 1};
    g_autoptr(CtParams) given = values && values->kind == CT_VALUE_MAPPING
                                    ? ct_params_new("select", &stage, &place, values, NULL)
                                    : NULL;
    if (!given)
        return 0;
    CtStream in, out;
    describe_input(&in);
    ct_stream_init(&out);
    CtNode node = {.stage = &stage,
                   .params = given,
                   .n_inputs = 1,
                   .inputs = &in,
                   .n_outputs = 1,
                   .outputs = &out};
    const gboolean good = ct_pick_infer(&node, &error);
    g_assert_true(good == !error);
    for (guint a = 0; good && a < out.n_axes; a++) {
        g_assert_cmpint(out.axes[a].length, >, 0);
        g_assert_cmpint(out.axes[a].length, <=, ct_stream_length(&in, out.axes[a].name));
        g_assert_true(!out.axes[a].labels ||
                      (gint64)ct_labels_count(out.axes[a].labels) == out.axes[a].length);
    }
    ct_stream_clear(&in);
    ct_stream_clear(&out);
    return 0;
}
