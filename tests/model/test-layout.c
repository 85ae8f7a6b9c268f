/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of layouts: the grammar and its messages, matching, resolving, strides. */
#include <cornerturn/layout.h>
#include <cornerturn/stage.h>
#include <string.h>

static CtLayout
parse(const char *text)
{
    g_autoptr(GError) error = NULL;
    CtLayout layout;
    if (!ct_layout_parse(&layout, text, &error))
        g_error("%s", error->message);
    return layout;
}

static void
check_text(const CtLayout *layout, const char *wanted)
{
    g_autofree char *text = ct_layout_to_string(layout);
    g_assert_cmpstr(text, ==, wanted);
}

/* A stream of `type` with these axes; time has 100 samples, the others 2, 3, 4 … */
static void
make_stream(CtStream *stream, CtType type, const char *axes)
{
    ct_stream_init(stream);
    stream->type = type;
    g_auto(GStrv) names = g_strsplit(axes, " ", -1);
    for (guint i = 0; names[i]; i++)
        ct_stream_add_axis(stream, names[i], strcmp(names[i], "time") == 0 ? 100 : i + 2);
}

/* ---- grammar ---- */

static const struct {
    const char *text;
    gint column; /* of the caret, from 0 */
    const char *message;
} malformed[] = {
    {"", 0, "the layout is empty: wants one like 'ci8[time station pol]'"},
    {"  ", 2, "the layout is empty: wants one like 'ci8[time station pol]'"},
    {"ci9[time]", 0, "unknown type 'ci9': is 'ci4' meant?"},
    {"CF32[time]", 0, "unknown type 'CF32': is 'cf32' meant?"},
    {"ci8|bananas[time]", 4, "unknown type 'bananas'"},
    {"ci8|[time]", 4, "wants a type, but is given '['"},
    {"ci8|", 4, "wants a type, but is given the end of the text"},
    {"|ci8[time]", 0, "wants a type, '[' or '{', but is given '|'"},
    {"ci8|i8|ci8[time]", 7, "type 'ci8' stands twice"},
    {"ci8", 3, "wants '[' or '{' behind the types, but is given the end of the text"},
    {"ci8 time]", 4, "wants '[' or '{' behind the types, but is given 't'"},
    {"ci8[time", 3, "'[' is never closed by ']'"},
    {"{time ", 0, "'{' is never closed by '}'"},
    {"[time}", 5, "'[' is closed by ']', but is given '}'"},
    {"{time]", 5, "'{' is closed by '}', but is given ']'"},
    {"[time [pol]]", 6, "'[' is closed by ']', but is given '['"},
    {"[time pol]]", 10, "wants nothing behind the layout, but is given ']'"},
    {"[time] x", 7, "wants nothing behind the layout, but is given 'x'"},
    {"[]", 1, "wants at least one axis, or '...', between '[' and ']'"},
    {"cf32{ }", 6, "wants at least one axis, or '...', between '{' and '}'"},
    {"[time pol time]", 10, "axis 'time' stands twice"},
    {"[time time:4 time:8]", 13, "the block of axis 'time' stands twice"},
    {"[... time ...]", 10, "'...' may stand once only"},
    {"[time .. pol]", 6, "further axes are written with three dots, '...'"},
    {"[time .... pol]", 6, "further axes are written with three dots, '...'"},
    {"[time...]", 5, "wants a space behind the axis, but is given '.'"},
    {"[pol time:16]", 5,
     "a block of 'time' wants the axis 'time' itself to stand outside, left of it"},
    {"[... time:16]", 5,
     "a block of 'time' wants the axis 'time' itself to stand outside, left of it"},
    {"[pol time:16 time]", 5,
     "the block of 'time' must stand inside, right of the axis 'time' itself"},
    {"{time time:4 pol}", 13, "between '{' and '}' blocks stand last, but 'pol' stands behind one"},
    {"[time time:0]", 11, "a block of 'time' must hold at least 1 sample"},
    {"[time time:2147483648]", 11, "a block of 'time' may hold 2147483647 samples at most"},
    {"[time time:99999999999999999999999]", 11,
     "a block of 'time' may hold 2147483647 samples at most"},
    {"[time time:]", 11, "wants a count after ':', but is given ']'"},
    {"[time time:-4]", 11, "wants a count after ':', but is given '-'"},
    {"[time time:", 11, "wants a count after ':', but is given the end of the text"},
    {"[time time:4x]", 12, "wants a space behind the axis, but is given 'x'"},
    {"[time :4]", 6, "':' stands right behind an axis name, without a space"},
    {"[time complex:2]", 6, "'complex' cannot be blocked"},
    {"i8|cf32[time complex]", 13,
     "the axis 'complex' is for real types, but 'cf32' is complex already"},
    {"[a b c d e f g h i j k l m]", 25, "a layout has 12 axes at most, blocks included"},
    {"[time, pol]", 5, "axes are separated by spaces, not by commas"},
    {"[time ,pol]", 6, "axes are separated by spaces, not by commas"},
    {"[Time]", 1, "wants an axis name (a-z 0-9 _ and a final '), but is given 'T'"},
    {"[']", 1, "wants an axis name (a-z 0-9 _ and a final '), but is given '''"},
    {"[tiMe]", 3, "wants lower case in axis names, but is given 'M'"},
    {"[p'ol]", 3, "wants a ' only at the end of a name, but is given 'o'"},
    {"[pol'']", 5, "wants a ' only at the end of a name, but is given '''"},
    {"[time/4]", 5, "wants a space behind the axis, but is given '/'"},
    {"[zeitä]", 5, "wants a space behind the axis, but is given 'ä'"},
};

static void
test_malformed(void)
{
    for (guint i = 0; i < G_N_ELEMENTS(malformed); i++) {
        g_autoptr(GError) error = NULL;
        CtLayout layout = {.n_axes = 77};
        g_assert_false(ct_layout_parse(&layout, malformed[i].text, &error));
        g_assert_error(error, CT_ERROR, CT_ERROR_LAYOUT);
        g_autofree char *wanted = g_strdup_printf("%s\n  %s\n  %*s^", malformed[i].message,
                                                  malformed[i].text, malformed[i].column, "");
        g_assert_cmpstr(error->message, ==, wanted);
        g_assert_cmpuint(layout.n_axes, ==, 77);
    }
}

static void
test_malformed_unprintable(void)
{
    g_autoptr(GError) error = NULL;
    CtLayout layout;
    g_assert_false(ct_layout_parse(&layout, "[\ttime 日本\xff\x01]", &error));
    g_assert_cmpstr(error->message, ==,
                    "wants an axis name (a-z 0-9 _ and a final '), but is given '日'\n"
                    "  [ time 日本??]\n"
                    "         ^");
    g_clear_error(&error);
    /* A wide character takes two columns in front of the caret. */
    g_assert_false(ct_layout_parse(&layout, "[time]日\xff", &error));
    g_assert_true(g_str_has_suffix(error->message, "\n  [time]日?\n        ^"));
}

static void
test_malformed_long(void)
{
    g_autofree char *name = g_strnfill(100, 'a');
    g_autofree char *text = g_strdup_printf("[%s ! %s]", name, name);
    g_autoptr(GError) error = NULL;
    CtLayout layout;
    g_assert_false(ct_layout_parse(&layout, text, &error));
    g_auto(GStrv) lines = g_strsplit(error->message, "\n", -1);
    g_assert_cmpuint(g_strv_length(lines), ==, 3);
    g_assert_cmpint(g_utf8_strlen(lines[1], -1), ==, 2 + 1 + 60 + 24 + 1);
    g_assert_cmpuint(strlen(lines[2]), ==, 2 + 1 + 60 + 1);
    g_autofree char *before = g_utf8_substring(lines[1], 0, strlen(lines[2]));
    g_assert_true(g_str_has_suffix(before, "a !"));

    /* Wherever the text ends, no character is cut in two. */
    for (guint shift = 0; shift < 4; shift++) {
        g_autoptr(GString) wide = g_string_new("[");
        for (guint i = 0; i < 50 + shift; i++)
            g_string_append(wide, "a");
        g_string_append(wide, " time] ");
        for (guint i = 0; i < 30; i++)
            g_string_append(wide, "日");
        g_clear_error(&error);
        g_assert_false(ct_layout_parse(&layout, wide->str, &error));
        g_assert_true(g_utf8_validate(error->message, -1, NULL));
        g_assert_null(strchr(error->message, '?'));
    }
}

static void
test_round_trip(void)
{
    static const struct {
        const char *text, *wanted;
    } cases[] = {
        {"ci8[time station pol]", NULL},
        {"cf32[channel time station pol]", NULL},
        {"cf32[... time]", NULL},
        {"cf32{time channel station pol}", NULL},
        {"ci8|ci16|cf32[...]", NULL},
        {"ci8[channel time station pol time:16]", NULL},
        {"i8[channel time station pol complex time:4]", NULL},
        {"[time channel baseline pol pol']", NULL},
        {"[time time:1 time_2 0]", NULL},
        {"{... time station time:2147483647 station:3}", NULL},
        {"[complex ...]", NULL},
        {" cf32 | ci8 [ time   pol ] ", "ci8|cf32[time pol]"},
        {"\tci4\t{...}\t", "ci4{...}"},
        {"ci4|ci8|ci16|ci32|ci64|cf16|cf32|cf64|i8|i16|i32|i64|u8|u32|f16|f32|f64[...]", NULL},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        const CtLayout layout = parse(cases[i].text);
        check_text(&layout, cases[i].wanted ? cases[i].wanted : cases[i].text);
        g_autofree char *text = ct_layout_to_string(&layout);
        const CtLayout again = parse(text);
        g_assert_true(ct_layout_equal(&layout, &again));
    }
    check_text(&(CtLayout){0}, "{...}");
}

/* Layouts with up to two characters inserted, removed or changed; some are still layouts. */
static void
test_random_edits(void)
{
    static const char *const texts[] = {"ci8|cf32[channel time station pol time:16]",
                                        "{time pol pol' ...}", "i8[... complex time time:4]"};
    static const char letters[] = "[]{}|:.,' at18\xc3\xa4\x01";
    guint n_right = 0;
    for (guint round = 0; round < 20000; round++) {
        g_autoptr(GString) text =
            g_string_new(texts[g_test_rand_int_range(0, G_N_ELEMENTS(texts))]);
        for (gint n = g_test_rand_int_range(0, 3); n > 0; n--) {
            const gint at = g_test_rand_int_range(0, text->len);
            if (g_test_rand_bit())
                g_string_erase(text, at, 1);
            if (g_test_rand_bit())
                g_string_insert_c(text, at, letters[g_test_rand_int_range(0, sizeof letters - 1)]);
        }
        g_autoptr(GError) error = NULL;
        CtLayout layout;
        if (ct_layout_parse(&layout, text->str, &error)) {
            n_right++;
            g_autofree char *written = ct_layout_to_string(&layout);
            const CtLayout again = parse(written);
            g_assert_true(ct_layout_equal(&layout, &again));
        } else {
            g_assert_true(g_utf8_validate(error->message, -1, NULL));
            g_assert_true(g_str_has_suffix(error->message, " ^"));
            g_auto(GStrv) lines = g_strsplit(error->message, "\n", -1);
            g_assert_cmpuint(g_strv_length(lines), ==, 3);
        }
    }
    g_test_message("%u of 20000 texts are layouts", n_right);
    g_assert_cmpuint(n_right, >, 5000);
    g_assert_cmpuint(n_right, <, 15000);
}

static void
test_random_bytes(void)
{
    for (guint round = 0; round < 20000; round++) {
        char text[40] = {0};
        for (gint n = g_test_rand_int_range(0, sizeof text); n-- > 0;)
            text[n] = g_test_rand_int_range(0, 256);
        g_autoptr(GError) error = NULL;
        CtLayout layout;
        if (!ct_layout_parse(&layout, text, &error))
            g_assert_true(g_utf8_validate(error->message, -1, NULL));
    }
}

static void
test_queries(void)
{
    const CtLayout blocked = parse("ci8[channel time station pol time:16]");
    g_assert_true(ct_layout_is_concrete(&blocked));
    g_assert_cmpint(ct_layout_type(&blocked), ==, CT_CI8);
    g_assert_cmpint(ct_layout_axis(&blocked, "time"), ==, 1);
    g_assert_cmpint(ct_layout_block_axis(&blocked, "time"), ==, 4);
    g_assert_cmpint(ct_layout_block_axis(&blocked, "pol"), ==, -1);
    g_assert_cmpint(ct_layout_axis(&blocked, "beam"), ==, -1);

    static const char *const patterns[] = {"[time]", "ci8|i8[time]", "ci8{time}", "ci8[... time]"};
    for (guint i = 0; i < G_N_ELEMENTS(patterns); i++) {
        const CtLayout pattern = parse(patterns[i]);
        g_assert_false(ct_layout_is_concrete(&pattern));
        g_assert_false(ct_layout_matches(&pattern, &pattern));
    }
    g_assert_false(ct_layout_is_concrete(&(CtLayout){0}));

    static const char *const others[] = {"ci16[a b]", "ci8{a b}",     "ci8[a b c]",
                                         "ci8[b a]",  "ci8[a b b:2]", "ci8[a]"};
    const CtLayout one = parse("ci8[a b]");
    for (guint i = 0; i < G_N_ELEMENTS(others); i++) {
        const CtLayout other = parse(others[i]);
        g_assert_false(ct_layout_equal(&one, &other));
    }
}

/* ---- matching ---- */

static void
test_matches(void)
{
    static const struct {
        const char *pattern, *layout;
        gboolean wanted;
    } cases[] = {
        {"[time station]", "ci8[time station]", TRUE},
        {"[time station]", "ci8[station time]", FALSE},
        {"[time station]", "ci8[time station pol]", FALSE},
        {"[time station]", "ci8[time]", FALSE},
        {"cf32[time]", "ci8[time]", FALSE},
        {"ci8|cf32[time]", "ci8[time]", TRUE},
        {"[...]", "ci8[time]", TRUE},
        {"[... time]", "ci8[time]", TRUE},
        {"[... time]", "ci8[pol station time]", TRUE},
        {"[... time]", "ci8[time pol]", FALSE},
        {"[time ... pol]", "ci8[time pol]", TRUE},
        {"[time ... pol]", "ci8[time station channel pol]", TRUE},
        {"[time ... pol]", "ci8[pol]", FALSE},
        {"[time ... pol]", "ci8[time station]", FALSE},
        {"{time station}", "ci8[station time]", TRUE},
        {"{time station}", "ci8[station time pol]", FALSE},
        {"{time station}", "ci8[station]", FALSE},
        {"{time ...}", "ci8[station time pol]", TRUE},
        {"{time ...}", "ci8[station pol]", FALSE},
        {"{...}", "ci8[station pol]", TRUE},
        /* Blocks must be named, with their count. */
        {"[channel time time:16]", "ci8[channel time time:16]", TRUE},
        {"[channel time time:16]", "ci8[channel time time:8]", FALSE},
        {"[channel time time:16]", "ci8[channel time]", FALSE},
        {"[... time time:16]", "ci8[channel time time:16]", TRUE},
        {"[...]", "ci8[channel time time:16]", FALSE},
        {"[channel ...]", "ci8[channel time time:16]", FALSE},
        {"[time ... time:16]", "ci8[time channel time:16]", TRUE},
        {"{...}", "ci8[channel time time:16]", FALSE},
        {"{time channel time:16}", "ci8[channel time time:16]", TRUE},
        {"{time channel time:16}", "ci8[time channel time:16]", TRUE},
        {"{time ... time:16}", "ci8[channel time time:16]", TRUE},
        {"{time ... time:16}", "ci8[channel time time:8]", FALSE},
        {"{time ...}", "ci8[channel time time:8]", FALSE},
        {"{time channel}", "ci8[channel time time:8]", FALSE},
        {"{time channel time:16}", "ci8[channel time channel:2 time:16]", FALSE},
        {"{time pol time:4 pol:2}", "ci8[time]", FALSE},
        {"{time pol time:4 pol:2}", "ci8[pol time time:4 pol:2]", TRUE},
        {"{time pol time:4 pol:2}", "ci8[pol time pol:2 time:4]", FALSE},
        /* A complex type is the axis `complex` innermost. */
        {"i8[time complex]", "ci8[time]", TRUE},
        {"ci8[time]", "i8[time complex]", TRUE},
        {"f32[complex time]", "cf32[time]", FALSE},
        {"f32[complex time]", "f32[complex time]", TRUE},
        {"cf32[time]", "f32[complex time]", FALSE},
        {"[... time]", "f32[complex time]", FALSE},
        {"[... time]", "f32[time complex]", TRUE},
        {"{... complex}", "cf32[pol time]", TRUE},
        {"{... complex}", "ci4[pol time]", FALSE},
        {"[time complex]", "u8[time]", FALSE},
        {"cf32[...]", "u8[time complex]", FALSE},
        {"i8[time complex time:4]", "i8[time complex time:4]", TRUE},
        {"ci8[time time:4]", "i8[time time:4 complex]", TRUE},
        {"ci8[time time:4]", "i8[time complex time:4]", FALSE},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        const CtLayout pattern = parse(cases[i].pattern), layout = parse(cases[i].layout);
        g_test_message("%s on %s", cases[i].pattern, cases[i].layout);
        g_assert_cmpint(ct_layout_matches(&pattern, &layout), ==, cases[i].wanted);
    }
    const CtLayout layout = parse("ci8[pol time time:4]");
    g_assert_true(ct_layout_matches(&(CtLayout){0}, &layout));
}

static void
test_accepts(void)
{
    static const struct {
        const char *pattern;
        const char *message; /* NULL: accepted */
    } cases[] = {
        {"[time station pol]", NULL},
        {"cf32{pol ...}", NULL},
        {"[...]", NULL},
        {"[time station pol complex time:4]", NULL},
        {"[time beam ...]",
         "[time beam ...] wants an axis 'beam', but is given time 100, station 3, pol 4"},
        {"{time station}",
         "{time station} has no place for the axis 'pol': it is given time 100, station 3, pol 4"},
    };
    CtStream stream;
    make_stream(&stream, CT_CI8, "time station pol");
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        const CtLayout pattern = parse(cases[i].pattern);
        g_assert_cmpint(ct_layout_accepts(&pattern, &stream, &error), ==, !cases[i].message);
        g_assert_cmpstr(error ? error->message : NULL, ==, cases[i].message);
    }
    g_assert_true(ct_layout_accepts(&(CtLayout){0}, &stream, NULL));

    g_autoptr(GError) error = NULL;
    const CtLayout planes = parse("[complex ...]");
    stream.type = CT_CI4;
    g_assert_false(ct_layout_accepts(&planes, &stream, &error));
    g_assert_error(error, CT_ERROR, CT_ERROR_SHAPE);
    g_assert_cmpstr(error->message, ==,
                    "[complex ...] wants a complex type with parts of whole bytes, but is given "
                    "ci4");
    ct_stream_clear(&stream);
}

/* ---- resolving ---- */

static void
test_resolve(void)
{
    static const struct {
        const char *pattern, *like;
        CtType type;
        const char *wanted, *message;
    } cases[] = {
        {"[...]", NULL, CT_CI8, "ci8[time channel station pol]", NULL},
        {"{...}", "[pol station channel time]", CT_CI8, "ci8[pol station channel time]", NULL},
        {"[... time]", "[pol time station channel]", CT_CI8, "ci8[pol station channel time]", NULL},
        {"{pol time ...}", "[station ...]", CT_CI8, "ci8[station time channel pol]", NULL},
        {"{...}", "[... station]", CT_CI8, "ci8[time channel pol station]", NULL},
        {"{...}", "[phase ... station]", CT_CI8, "ci8[time channel pol station]", NULL},
        {"{...}", "{pol time ...}", CT_CI8, "ci8[time channel station pol]", NULL},
        {"{...}", "[station time time:4]", CT_CI8, "ci8[station time channel pol]", NULL},
        {"{... time time:4}", "[pol time ...]", CT_CI8, "ci8[pol time channel station time:4]",
         NULL},
        {"[channel time ... time:16]", NULL, CT_CI8, "ci8[channel time station pol time:16]", NULL},
        {"[... complex time time:4]", NULL, CT_CI8, "i8[channel station pol complex time time:4]",
         NULL},
        {"{... complex}", NULL, CT_CF32, "f32[time channel station pol complex]", NULL},
        {"{... complex}", "f32[complex ...]", CT_CF32, "f32[complex time channel station pol]",
         NULL},
        {"f32[... complex]", NULL, CT_F32, "f32[time channel station pol complex]", NULL},
        {"[time channel station]", NULL, CT_CI8, NULL,
         "[time channel station] has no place for the axis 'pol': it is given time 100, channel 3, "
         "station 4, pol 5"},
        {"ci16|cf32[...]", NULL, CT_CI8, NULL, "wants ci16|cf32[...], but is given the type ci8"},
        {"[... complex]", NULL, CT_CI4, NULL, "wants [... complex], but is given the type ci4"},
    };
    CtStream stream;
    make_stream(&stream, CT_CI8, "time channel station pol");
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        const CtLayout pattern = parse(cases[i].pattern);
        const CtLayout like = cases[i].like ? parse(cases[i].like) : (CtLayout){0};
        CtLayout concrete;
        const gboolean fits = ct_layout_resolve(&concrete, &pattern, &stream, cases[i].type,
                                                cases[i].like ? &like : NULL, &error);
        g_assert_cmpstr(error ? error->message : NULL, ==, cases[i].message);
        g_assert_cmpint(fits, ==, cases[i].wanted != NULL);
        if (fits)
            check_text(&concrete, cases[i].wanted);
    }
    CtLayout canonical;
    ct_layout_canonical(&canonical, &stream);
    check_text(&canonical, "ci8[time channel station pol]");
    ct_stream_clear(&stream);
}

static void
test_resolve_too_many(void)
{
    g_autoptr(GError) error = NULL;
    CtStream stream;
    make_stream(&stream, CT_CI8, "time a b c d e f g h i j k");
    const CtLayout pattern = parse("[... time time:4]");
    CtLayout concrete;
    g_assert_false(ct_layout_resolve(&concrete, &pattern, &stream, CT_CI8, NULL, &error));
    g_assert_cmpstr(error->message, ==,
                    "[... time time:4] wants 13 axes in memory for this stream, but there may be "
                    "12 at most");
    ct_stream_clear(&stream);
}

static const char *const four[] = {"time", "channel", "station", "pol"};

/* The `order`th of the 24 orders of four axes. */
static CtLayout
permuted(guint order)
{
    CtLayout layout = {.types = 1u << CT_CF32, .n_axes = 4};
    const char *rest[4];
    memcpy(rest, four, sizeof rest);
    for (guint n = 4; n > 0; n--) {
        const guint i = order % n;
        order /= n;
        layout.axes[4 - n] = (CtLayoutAxis){ct_axis_name(rest[i]), 0};
        memmove(&rest[i], &rest[i + 1], (n - 1 - i) * sizeof *rest);
    }
    return layout;
}

static void
test_all_orders(void)
{
    CtStream stream;
    make_stream(&stream, CT_CF32, "time channel station pol");
    const CtLayout any = parse("cf32{time channel station pol}"), open = parse("{station ...}");
    const CtLayout last = parse("[... time]"), one = parse("[channel time station pol]");
    guint n_last = 0, n_one = 0;
    for (guint i = 0; i < 24; i++) {
        const CtLayout order = permuted(i);
        for (guint j = 0; j < i; j++) {
            const CtLayout other = permuted(j);
            g_assert_false(ct_layout_equal(&order, &other));
        }
        g_assert_true(ct_layout_matches(&any, &order));
        g_assert_true(ct_layout_matches(&open, &order));
        n_last += ct_layout_matches(&last, &order);
        n_one += ct_layout_matches(&one, &order);
        CtLayout resolved;
        g_assert_true(ct_layout_resolve(&resolved, &any, &stream, CT_CF32, &order, NULL));
        g_assert_true(ct_layout_equal(&resolved, &order));
        g_assert_true(ct_layout_resolve(&resolved, &open, &stream, CT_CF32, &order, NULL));
        g_assert_true(ct_layout_equal(&resolved, &order));
    }
    g_assert_cmpuint(n_last, ==, 6);
    g_assert_cmpuint(n_one, ==, 1);
    ct_stream_clear(&stream);
}

/* ---- strides ---- */

static void
check_strides(const char *text, CtType type, gint64 n_samples, gsize bytes, const gint64 *lengths,
              const gint64 *strides)
{
    CtStream stream;
    make_stream(&stream, type, "time station pol");
    const CtLayout layout = parse(text);
    gint64 length[CT_MAX_AXES], stride[CT_MAX_AXES];
    g_assert_cmpuint(ct_layout_strides(&layout, &stream, n_samples, length, stride), ==, bytes);
    for (guint a = 0; a < layout.n_axes; a++) {
        g_assert_cmpint(length[a], ==, lengths[a]);
        g_assert_cmpint(stride[a], ==, strides[a]);
    }
    ct_stream_clear(&stream);
}

static void
test_strides(void)
{
    check_strides("ci8[time station pol]", CT_CI8, 10, 240, (gint64[]){10, 3, 4},
                  (gint64[]){24, 8, 2});
    check_strides("cf32[pol station time]", CT_CF32, 10, 960, (gint64[]){4, 3, 10},
                  (gint64[]){240, 80, 8});
    check_strides("ci8[station time pol time:16]", CT_CI8, 33, 1152, (gint64[]){3, 3, 4, 16},
                  (gint64[]){384, 128, 32, 2});
    check_strides("i8[station time pol complex time:4]", CT_CI8, 8, 192, (gint64[]){3, 2, 4, 2, 4},
                  (gint64[]){64, 32, 8, 4, 1});
    check_strides("ci4[time station pol station:2]", CT_CI4, 5, 80, (gint64[]){5, 2, 4, 2},
                  (gint64[]){16, 8, 2, 1});
    check_strides("ci8[station time pol]", CT_CI8, 0, 0, (gint64[]){3, 0, 4}, (gint64[]){8, 8, 2});
    check_strides("cf64[station time pol]", CT_CF64, G_MAXINT64, G_MAXSIZE,
                  (gint64[]){3, G_MAXINT64, 4}, (gint64[]){G_MAXINT64, 64, 16});
}

/* Every element of a packed block has a place of its own, and every place has an element. */
static void
test_strides_cover(void)
{
    static const char *const texts[] = {"i8[time station pol]", "i8[pol time station time:7]",
                                        "ci8[pol station time station:2 time:3]",
                                        "i8[complex pol time station]"};
    CtStream stream;
    make_stream(&stream, CT_CI8, "time station pol");
    for (guint i = 0; i < G_N_ELEMENTS(texts); i++) {
        const CtLayout layout = parse(texts[i]);
        gint64 length[CT_MAX_AXES], stride[CT_MAX_AXES];
        const gint64 n_samples = g_test_rand_int_range(1, 40);
        const gsize bytes = ct_layout_strides(&layout, &stream, n_samples, length, stride);
        const gsize element = ct_type_info(ct_layout_type(&layout))->bytes;
        g_autofree guint8 *seen = g_malloc0(bytes);
        for (gsize n = 0; n < bytes / element; n++) {
            gsize rest = n, place = 0;
            for (guint a = 0; a < layout.n_axes; a++) {
                place += rest % length[a] * stride[a];
                rest /= length[a];
            }
            g_assert_cmpuint(rest, ==, 0);
            g_assert_cmpuint(place + element, <=, bytes);
            g_assert_cmpuint(seen[place]++, ==, 0);
        }
    }
    ct_stream_clear(&stream);
}

/* ---- properties over random patterns ---- */

/* A random pattern that `stream` fits: it names some of its axes, perhaps with blocks of them, and
 * may have `...`. */
static CtLayout
random_pattern(const CtStream *stream)
{
    CtLayout pattern = {.any_order = g_test_rand_bit()};
    const char *rest[CT_MAX_AXES];
    guint n_rest = stream->n_axes;
    for (guint a = 0; a < n_rest; a++)
        rest[a] = stream->axes[a].name;
    const gboolean open = g_test_rand_bit();
    const guint dots = open ? (guint)g_test_rand_int_range(0, 3) : G_MAXUINT;
    while (n_rest > 0 && !(open && g_test_rand_int_range(0, 4) == 0)) {
        if (pattern.n_axes == dots)
            pattern.axes[pattern.n_axes++] = (CtLayoutAxis){ct_axis_name("..."), 0};
        const guint i = g_test_rand_int_range(0, n_rest);
        pattern.axes[pattern.n_axes++] = (CtLayoutAxis){rest[i], 0};
        rest[i] = rest[--n_rest];
    }
    if (open && ct_layout_axis(&pattern, "...") < 0)
        pattern.axes[pattern.n_axes++] = (CtLayoutAxis){ct_axis_name("..."), 0};
    const CtLayoutAxis blocked = pattern.axes[g_test_rand_int_range(0, pattern.n_axes)];
    if (strcmp(blocked.name, "...") != 0 && g_test_rand_bit())
        pattern.axes[pattern.n_axes++] = (CtLayoutAxis){blocked.name, g_test_rand_int_range(1, 20)};
    return pattern;
}

static void
test_random_patterns(void)
{
    CtStream stream;
    make_stream(&stream, CT_CF32, "time channel station pol");
    for (guint round = 0; round < 20000; round++) {
        const CtLayout pattern = random_pattern(&stream);
        g_autofree char *text = ct_layout_to_string(&pattern);
        const CtLayout again = parse(text);
        g_assert_true(ct_layout_equal(&pattern, &again));

        const CtLayout like = permuted(g_test_rand_int_range(0, 24));
        CtLayout concrete;
        g_autoptr(GError) error = NULL;
        if (!ct_layout_resolve(&concrete, &pattern, &stream, CT_CF32, &like, &error))
            g_error("%s: %s", text, error->message);
        g_assert_true(ct_layout_is_concrete(&concrete));
        g_assert_true(ct_layout_matches(&pattern, &concrete));
        /* Resolving with the result as the wish changes nothing. */
        CtLayout twice;
        g_assert_true(ct_layout_resolve(&twice, &pattern, &stream, CT_CF32, &concrete, NULL));
        g_assert_true(ct_layout_equal(&twice, &concrete));
        if (pattern.axes[pattern.n_axes - 1].count == 0)
            g_assert_cmpint(ct_layout_matches(&pattern, &like), ==,
                            ct_layout_equal(&concrete, &like));
    }
    ct_stream_clear(&stream);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/layout/malformed", test_malformed);
    g_test_add_func("/layout/malformed-unprintable", test_malformed_unprintable);
    g_test_add_func("/layout/malformed-long", test_malformed_long);
    g_test_add_func("/layout/round-trip", test_round_trip);
    g_test_add_func("/layout/random-edits", test_random_edits);
    g_test_add_func("/layout/random-bytes", test_random_bytes);
    g_test_add_func("/layout/queries", test_queries);
    g_test_add_func("/layout/matches", test_matches);
    g_test_add_func("/layout/accepts", test_accepts);
    g_test_add_func("/layout/resolve", test_resolve);
    g_test_add_func("/layout/resolve-too-many", test_resolve_too_many);
    g_test_add_func("/layout/all-orders", test_all_orders);
    g_test_add_func("/layout/strides", test_strides);
    g_test_add_func("/layout/strides-cover", test_strides_cover);
    g_test_add_func("/layout/random-patterns", test_random_patterns);
    return g_test_run();
}
