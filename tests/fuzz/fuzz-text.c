/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target: short texts of graphs. The first byte chooses what the others are: a quantity, a
 * time, an angle, a range of indices, or the name of a sink's files, with conversions. */
#include "fuzz.h"
#include "kit/sink-private.h"

#include <cornerturn/observation.h>
#include <cornerturn/text.h>
#include <math.h>

static void
read_quantity(const char *text)
{
    static const char *const units[] = {"Hz", "s", "m", "rad", "B", "pc cm^-3", NULL};
    for (guint i = 0; i < G_N_ELEMENTS(units); i++) {
        CtQuantity quantity;
        g_autoptr(GError) error = NULL;
        const gboolean good = ct_quantity_parse(&quantity, text, units[i], &error);
        g_assert_true(good == !error);
        if (!good || quantity.denominator == 0)
            continue;
        g_assert_cmpint(quantity.denominator, >, 0);
        /* Both roundings, of the fraction's terms and of their quotient. */
        const gdouble exact = (gdouble)quantity.numerator / (gdouble)quantity.denominator;
        g_assert_cmpfloat(fabs(quantity.value - exact), <=, 4 * 0x1p-52 * fabs(exact));
    }
}

static void
read_time(const char *text)
{
    CtUtc utc;
    gint64 seconds;
    g_autoptr(GError) error = NULL, of_seconds = NULL;
    const gboolean good = ct_utc_parse_exact(text, &utc, &error);
    g_assert_true(good == !error);
    if (good) {
        g_assert_cmpint(utc.numerator, >=, 0);
        g_assert_cmpint(utc.numerator, <, utc.denominator);
    }
    if (ct_utc_parse(text, &seconds, &of_seconds)) {
        g_assert_no_error(error);
        g_assert_cmpint(seconds, ==, utc.seconds);
    } else
        g_assert_nonnull(of_seconds);
}

static void
read_angle(const char *text)
{
    for (guint is_hours = 0; is_hours < 2; is_hours++) {
        gdouble angle;
        g_autoptr(GError) error = NULL;
        const gboolean good = ct_angle_parse(text, is_hours, &angle, &error);
        g_assert_true(good == !error);
        g_assert_true(!good || isfinite(angle));
    }
}

static void
read_range(const char *text)
{
    gint64 first, last;
    if (!ct_range_parse(text, &first, &last))
        return;
    g_assert_cmpint(first, >=, 0);
    g_assert_cmpint(first, <=, last);
}

/* A pattern that is accepted names files in the folder of its own. */
static void
name_files(const char *text)
{
    const gint64 ticks[] = {G_MININT64, -1, 0, 1234567, G_MAXINT64};
    CtStream stream;
    ct_stream_init(&stream);
    ct_stream_set_rate(&stream, 1000, 3, 1);
    stream.epoch = 1656466200;
    g_autofree char *folder = g_path_get_dirname(text);
    g_autoptr(GError) refused = NULL;
    const gboolean good = ct_sink_name_check(text, TRUE, &refused);
    g_assert_true(good == !refused);
    for (guint i = 0; good && i < G_N_ELEMENTS(ticks); i++) {
        g_autoptr(GError) error = NULL;
        g_autofree char *name = ct_sink_name(text, &stream, ticks[i], i, &error);
        g_assert_true(!name == !!error);
        g_autofree char *of_name = name ? g_path_get_dirname(name) : NULL;
        g_assert_true(!name || g_str_equal(of_name, folder));
    }
    ct_stream_clear(&stream);
}

int
LLVMFuzzerTestOneInput(const guint8 *data, gsize size)
{
    static void (*const readers[])(const char *) = {read_quantity, read_time, read_angle,
                                                    read_range, name_files};
    if (size < 1)
        return 0;
    g_autofree char *text = g_strndup((const char *)data + 1, size - 1);
    readers[data[0] % G_N_ELEMENTS(readers)](text);
    return 0;
}
