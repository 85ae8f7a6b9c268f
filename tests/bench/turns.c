/* SPDX-License-Identifier: BSD-3-Clause */
/* What the transpose reaches on a device in all orders of four axes, beside a copy of as many bytes
 * in turn with it.
 *
 *     bench-turns [TYPE…]      "ci8 cf32"; left out, one type of each size of elements */
#include "../variant-test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define N_TIMES  9
#define N_ORDERS 24

typedef struct {
    const char *lengths;
    gint64 n;     /* samples of time */
    gint64 first; /* of the samples that are turned */
} Shape;

static const Shape shapes[] = {
    {"time:4096 channel:256 station:64 pol:2", 4096, 0},
    {"time:4096 channel:256 station:64 pol:2", 4096, 3},
    {"time:4093 channel:255 station:61 pol:2", 4093, 0},
};

static const char *const names[] = {"time", "channel", "station", "pol"};

typedef struct {
    CtDevice *device;
    const CtCudaDriver *driver;
    CtCuStream stream;
    CtQueue *queue;
    CtCuEvent begin, end;
} Clock;

static gint
compare(gconstpointer a, gconstpointer b)
{
    const gdouble x = *(const gdouble *)a, y = *(const gdouble *)b;
    return x < y ? -1 : x > y;
}

static gdouble
median(gdouble *values, guint n)
{
    qsort(values, n, sizeof *values, compare);
    return values[n / 2];
}

static void
must(const GError *error)
{
    if (error)
        g_error("%s", error->message);
}

static void
start(const Clock *clock)
{
    device_test_check(clock->driver->event_record(clock->begin, clock->stream));
}

/* Seconds since it was started. */
static gdouble
stop(const Clock *clock)
{
    float milliseconds = 0;
    device_test_check(clock->driver->event_record(clock->end, clock->stream));
    device_test_check(clock->driver->event_synchronize(clock->end));
    device_test_check(clock->driver->event_elapsed(&milliseconds, clock->begin, clock->end));
    return milliseconds * 1e-3;
}

static void
set_order(guint k, char *order)
{
    guint left[] = {0, 1, 2, 3};
    order[0] = '\0';
    for (guint a = 0; a < 4; k /= 4 - a, a++) {
        const guint taken = k % (4 - a);
        g_strlcat(order, a > 0 ? " " : "", 64);
        g_strlcat(order, names[left[taken]], 64);
        for (guint i = taken; i < 3; i++)
            left[i] = left[i + 1];
    }
}

/* A block as rings hold it: packed, but for axes outside time, which begin at multiples of 16
 * bytes.
 */
static CtBlock
ring_block(const CtStream *stream, const CtLayout *layout, gint64 n, guint8 *data)
{
    CtBlock block = {.data = data, .type = stream->type, .n_axes = layout->n_axes, .n_samples = n};
    gint64 bytes = (gint64)ct_type_info(stream->type)->bytes;
    for (guint a = layout->n_axes; a-- > 0;) {
        const char *name = layout->axes[a].name;
        if ((gint)a < ct_layout_axis(layout, "time"))
            bytes = (bytes + 15) / 16 * 16;
        block.length[a] = strcmp(name, "time") == 0 ? n : ct_stream_length(stream, name);
        block.stride[a] = bytes;
        bytes *= block.length[a];
    }
    return block;
}

/* Seconds of the turn over those of a copy. */
static gdouble
measure(const Clock *clock, const CtVariant *variant, CtType type, const Shape *shape,
        const char *order, guint8 *const memory[2])
{
    g_autofree char *parameters = g_strdup_printf("{ layout: '[%s]' }", order);
    g_autoptr(GError) error = NULL;
    VariantTest *test = variant_test_new("transpose", parameters, type, shape->lengths);
    const CtBinding in = {&test->in, variant_test_layout(type, "time channel station pol"),
                          shape->n};
    const CtBinding out = {&test->out, variant_test_layout(type, order), shape->n};
    gint64 tuning[CT_MAX_TUNABLES];
    ct_tuning_defaults(variant, tuning);
    CtPrepare prepare = {
        .nodes = &test->node,
        .n_nodes = 1,
        .n_inputs = 1,
        .inputs = &in,
        .n_outputs = 1,
        .outputs = &out,
        .n_workers = 1,
        .tuning = tuning,
        .device = clock->device,
    };
    const CtBlock blocks[2] = {ring_block(&test->in, &in.layout, shape->n, memory[0]),
                               ring_block(&test->out, &out.layout, shape->n, memory[1])};
    const gint64 n = shape->n - shape->first;
    const CtBlock from = variant_test_slice(&blocks[0], &in.layout, shape->first, n);
    const CtBlock to = variant_test_slice(&blocks[1], &out.layout, shape->first, n);
    const CtWork work = {
        .inputs = &from, .outputs = &to, .begin = 0, .end = 1, .queue = clock->queue};
    const gsize bytes = (gsize)(from.stride[0] * n);
    gpointer state = NULL;
    gdouble copies[N_TIMES], turns[N_TIMES];

    variant->prepare(&prepare, &state, &error);
    must(error);
    for (gint i = -2; i < N_TIMES; i++) {
        start(clock);
        ct_queue_copy(clock->queue, memory[1], memory[0], bytes, &error);
        const gdouble copied = stop(clock);
        start(clock);
        variant->work(state, &work, &error);
        const gdouble turned = stop(clock);
        must(error);
        copies[MAX(i, 0)] = copied;
        turns[MAX(i, 0)] = turned;
    }
    variant->finish(state);
    variant_test_free(test);
    const gdouble copy = median(copies, N_TIMES), turn = median(turns, N_TIMES);
    printf("%-5s %s from %" G_GINT64_FORMAT " to [%-24s] %6.0f GB/s  copy %6.0f  %5.3f\n",
           ct_type_info(type)->name, shape->lengths, shape->first, order,
           2e-9 * (gdouble)bytes / turn, 2e-9 * (gdouble)bytes / copy, copy / turn);
    fflush(stdout);
    return copy / turn;
}

int
main(int argc, char **argv)
{
    static char *const all[] = {"i8", "ci8", "ci16", "cf32", "cf64"};
    char *const *types = argc > 1 ? argv + 1 : all;
    const guint n_types = argc > 1 ? (guint)argc - 1 : G_N_ELEMENTS(all);
    g_autoptr(GError) error = NULL;
    const char *reason;
    if (ct_devices(NULL, &reason) == 0) {
        printf("there is no device: %s\n", reason);
        return 77;
    }
    Clock clock = {.device = device_test_device()};
    clock.driver = ct_device_driver(clock.device);
    ct_device_enter(clock.device, &error);
    must(error);
    device_test_check(clock.driver->stream_create(&clock.stream, 1));
    device_test_check(clock.driver->event_create(&clock.begin, 0));
    device_test_check(clock.driver->event_create(&clock.end, 0));
    clock.queue = ct_queue_new(clock.device, clock.stream, 0, 1, &error);
    must(error);
    g_autoptr(CtRegistry) registry = ct_registry_new(&error);
    must(error);
    const GPtrArray *variants = ct_registry_variants(registry, "transpose");
    const CtVariant *variant = NULL;
    for (guint i = 0; i < variants->len; i++) {
        const CtVariant *one = variants->pdata[i];
        if (one->backend == CT_CUDA && !one->covers[1])
            variant = one;
    }

    for (guint i = 0; i < n_types; i++) {
        const CtType type = ct_type_from_name(types[i]);
        const gsize most = (gsize)4096 * 256 * 64 * 2 * ct_type_info(type)->bytes;
        guint8 *const memory[2] = {device_test_alloc(most), device_test_alloc(most)};
        /* Not zeros: they may move faster. */
        const gsize piece = MIN(most, (gsize)64 << 20);
        g_autofree guint32 *words = g_malloc(piece);
        for (gsize k = 0; k < piece / sizeof *words; k++)
            words[k] = (guint32)k * 2654435761u ^ (guint32)(k >> 7);
        for (gsize at = 0; at < most; at += piece)
            device_test_copy(memory[0] + at, words, piece);
        for (guint s = 0; s < G_N_ELEMENTS(shapes); s++) {
            gdouble shares[N_ORDERS - 1];
            for (guint k = 1; k < N_ORDERS; k++) {
                char order[64];
                set_order(k, order);
                shares[k - 1] = measure(&clock, variant, type, &shapes[s], order, memory);
            }
            const gdouble middle = median(shares, N_ORDERS - 1);
            printf("%-5s %s from %" G_GINT64_FORMAT ": least %5.3f of copy, median %5.3f\n",
                   types[i], shapes[s].lengths, shapes[s].first, shares[0], middle);
        }
        ct_device_free(clock.device, memory[0]);
        ct_device_free(clock.device, memory[1]);
    }
    ct_queue_free(clock.queue);
    return 0;
}
