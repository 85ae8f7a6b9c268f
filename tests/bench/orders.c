/* SPDX-License-Identifier: BSD-3-Clause */
/* Transposes from all orders of four axes to one of them, in turn with copies of as many bytes.
 *
 * The distance of an order: axes that follow one another in both orders count as one; the distance
 * is the number of pairs of these that are in the opposite order (Kendall's tau). */
#include "choices.h"
#include "copies.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define N_AXES   4
#define N_ORDERS 24

/* Sizes of the input, and of the output. */
#define HOST_BYTES   ((gsize)64 << 20)
#define DEVICE_BYTES ((gsize)1 << 30)
#define BRIEF_BYTES  ((gsize)1 << 16)

static const char *const axes[N_AXES] = {"time", "channel", "station", "pol"};

typedef struct {
    const char *name;       /* behind that of the type */
    gint64 lengths[N_AXES]; /* −1: time */
} Shape;

static const Shape usual = {"", {-1, 256, 64, 2}};
/* 64 MiB of cf32 have 541 times. */
static const Shape primes = {" primes", {-1, 127, 61, 2}};

/* All orders are transposed to the order of the table. */
typedef struct {
    guint axes[N_AXES];
    guint n_parts; /* number of axes, counting those that stay together as one */
    guint distance;
} Order;

static void
find_distance(Order *order)
{
    guint parts[N_AXES];
    order->n_parts = order->distance = 0;
    for (guint i = 0; i < N_AXES; i++)
        if (i == 0 || order->axes[i] != order->axes[i - 1] + 1)
            parts[order->n_parts++] = order->axes[i];
    for (guint i = 0; i < order->n_parts; i++)
        for (guint k = i + 1; k < order->n_parts; k++)
            order->distance += parts[i] > parts[k];
}

static gint
compare_orders(gconstpointer a, gconstpointer b)
{
    const Order *x = a, *y = b;
    return x->distance != y->distance ? (gint)x->distance - (gint)y->distance
                                      : memcmp(x->axes, y->axes, sizeof x->axes);
}

/* Lists all orders, the nearest first. */
static void
list_orders(Order orders[N_ORDERS])
{
    for (guint k = 0; k < N_ORDERS; k++) {
        guint left[N_AXES] = {0, 1, 2, 3}, below = k;
        for (guint i = 0, n = N_AXES; i < N_AXES; below /= n--, i++) {
            const guint which = below % n;
            orders[k].axes[i] = left[which];
            for (guint j = which; j + 1 < n; j++)
                left[j] = left[j + 1];
        }
        find_distance(&orders[k]);
    }
    qsort(orders, N_ORDERS, sizeof orders[0], compare_orders);
}

/* The least shares of the slowest order and of the median; 0: no floor. */
typedef struct {
    const Shape *shape;
    const char *type;
    gdouble least, median;
} Case;

static gint64
length_of(const Choices *choices, const Shape *shape, guint axis)
{
    return choices->brief && axis < N_AXES - 1 ? 8 : shape->lengths[axis];
}

/* "cf32 [time channel station pol]" */
static char *
order_name(const char *label, const Order *order)
{
    return g_strdup_printf("%s [%s %s %s %s]", label, axes[order->axes[0]], axes[order->axes[1]],
                           axes[order->axes[2]], axes[order->axes[3]]);
}

static NodeTrial *
turn_new(const Choices *choices, const Case *what, const Order *order, GError **error)
{
    GString *names = g_string_new(NULL), *lengths = g_string_new(NULL);
    for (guint i = 0; i < N_AXES; i++) {
        const guint axis = order->axes[i];
        g_string_append_printf(names, "%s%s", i ? " " : "", axes[axis]);
        g_string_append_printf(lengths, "%s%" G_GINT64_FORMAT, i ? ", " : "",
                               axis == 0 ? -1 : length_of(choices, what->shape, axis));
    }
    g_autofree char *stages = g_strdup_printf(
        "  source: { stage: input, backend: %s, layout: \"%s[%s]\", shape: [%s] }\n"
        "  turn: { stage: transpose, from: source, layout: \"[time channel station pol]\" }\n"
        "  sink: { stage: discard, from: turn }\n",
        choices->backend, what->type, names->str, lengths->str);
    NodeTrial *trial = node_trial_new(choices, names->str, stages, "turn", error);
    g_string_free(names, TRUE);
    g_string_free(lengths, TRUE);
    return trial;
}

/* Prints the line of an order; returns its share of a copy's rate, NaN: it was not measured. */
static gdouble
measure_order(const Choices *choices, CopyMeter *copies, gsize block_bytes, const Case *what,
              const char *label, const Order *order, GError **error)
{
    g_autoptr(NodeTrial) turn = turn_new(choices, what, order, error);
    g_autoptr(GArray) copy_rates = g_array_new(FALSE, FALSE, sizeof(gdouble));
    g_autoptr(GArray) turn_rates = g_array_new(FALSE, FALSE, sizeof(gdouble));
    if (!turn)
        return NAN;
    for (guint round = 0; round < choices->n_rounds; round++) {
        gdouble seconds, rate;
        if (!copy_meter_run(copies, choices->seconds, &rate, error))
            return NAN;
        if (!node_trial_measure(turn, choices, &seconds)) {
            printf("%-11s [%-24s] not run: %s\n", label, turn->name, turn->failure);
            return NAN;
        }
        g_array_append_val(copy_rates, rate);
        rate = turn->load.bytes / seconds;
        g_array_append_val(turn_rates, rate);
    }
    const gdouble rate = choices_median(turn_rates), share = choices_ratio(turn_rates, copy_rates);
    printf("%-11s [%-24s] %8u %5u %9.3f %9.1f %9.1f %8.2f  %s\n", label, turn->name,
           order->distance, order->n_parts, 2e3 * (gdouble)block_bytes / rate, rate * 1e-9,
           choices_median(copy_rates) * 1e-9, share, turn->what.variant->name);
    fflush(stdout);
    return share;
}

static gboolean
check(const char *label, const char *which, gdouble share, gdouble floor)
{
    printf("%-11s %-20s %5.2f of copy", label, which, share);
    if (floor > 0)
        printf(", at least %.2f: %s", floor, share >= floor ? "pass" : "FALL SHORT");
    printf("\n");
    return !(share < floor);
}

static gboolean
measure_case(const Choices *choices, CopyMeter *copies, gsize block_bytes, const Case *what,
             GError **error)
{
    g_autofree char *label = g_strconcat(what->type, what->shape->name, NULL);
    Order orders[N_ORDERS];
    gdouble least = INFINITY;
    GArray *by_distance[N_AXES * (N_AXES - 1) / 2 + 1];
    g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(gdouble));
    for (guint d = 0; d < G_N_ELEMENTS(by_distance); d++)
        by_distance[d] = g_array_new(FALSE, FALSE, sizeof(gdouble));
    list_orders(orders);
    printf("%-11s %-26s %8s %5s %9s %9s %9s %8s\n", "", "from", "distance", "parts", "ms", "GB/s",
           "copy GB/s", "of copy");
    for (guint k = 0; k < N_ORDERS; k++) {
        g_autofree char *name = order_name(label, &orders[k]);
        if (!choices_want(choices, name))
            continue;
        const gdouble share =
            measure_order(choices, copies, block_bytes, what, label, &orders[k], error);
        if (*error)
            break;
        if (isnan(share) || orders[k].distance == 0)
            continue;
        g_array_append_val(by_distance[orders[k].distance], share);
        g_array_append_val(all, share);
        least = MIN(least, share);
    }
    for (guint d = 1; d < G_N_ELEMENTS(by_distance) && !*error; d++)
        if (by_distance[d]->len > 0)
            printf("%-11s distance %u: %5.2f of copy, the median of %u\n", label, d,
                   choices_median(by_distance[d]), by_distance[d]->len);
    for (guint d = 0; d < G_N_ELEMENTS(by_distance); d++)
        g_array_unref(by_distance[d]);
    if (*error)
        return FALSE;
    if (all->len == 0)
        return TRUE;
    const gboolean slowest = check(label, "the slowest order", least, what->least);
    return check(label, "the median", choices_median(all), what->median) && slowest;
}

gboolean
orders_measure(Choices *choices)
{
    static const Case on_host[] = {
        {&usual, "cf32", 0.65, 0.65}, {&usual, "ci8", 0.6, 0.65}, {&usual, "i8", 0, 0},
        {&usual, "ci16", 0, 0},       {&usual, "cf64", 0, 0},     {&primes, "cf32", 0.5, 0.5},
        {&primes, "ci8", 0.5, 0.5},   {&primes, "i8", 0, 0},      {&primes, "ci16", 0, 0},
        {&primes, "cf64", 0, 0},
    };
    static const Case on_a_device[] = {{&usual, "cf32", 0.6, 0}, {&usual, "ci8", 0.45, 0}};
    const gboolean on_device = choices->device != NULL;
    const gsize bytes = choices->brief ? BRIEF_BYTES : on_device ? DEVICE_BYTES : HOST_BYTES;
    g_autoptr(GError) error = NULL;
    choices->options.device_bytes = bytes;
    choices->options.cache_bytes = 2 * bytes; /* of input and output together */
    g_autoptr(CopyMeter) copies = copy_meter_new(choices->device, bytes, &error);
    gboolean good = copies != NULL;
    printf(
        "orders: from each order to [time channel station pol], channel %d, station %d, pol %d "
        "(primes: %d, %d, %d), "
        "blocks of %.3g MiB in and out, %s\n"
        "distance: axes that follow one another in both orders count as one part; pairs of parts "
        "that change sides\n",
        (gint)length_of(choices, &usual, 1), (gint)length_of(choices, &usual, 2),
        (gint)length_of(choices, &usual, 3), (gint)length_of(choices, &primes, 1),
        (gint)length_of(choices, &primes, 2), (gint)length_of(choices, &primes, 3),
        (gdouble)bytes / (1 << 20),
        on_device ? ct_device_info(choices->device)->name : "per worker");
    const Case *cases = on_device ? on_a_device : on_host;
    const guint n_cases = on_device ? G_N_ELEMENTS(on_a_device) : G_N_ELEMENTS(on_host);
    for (guint i = 0; i < n_cases && !error; i++) {
        Case what = cases[i];
        if (choices->brief)
            what.least = what.median = 0;
        good &= measure_case(choices, copies, bytes, &what, &error);
    }
    if (error)
        printf("orders: %s\n", error->message);
    return good && !error;
}
