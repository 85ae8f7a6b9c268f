/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of headers of SIGPROC files: bytes by hand, every keyword both ways, both byte orders,
 * every cut, damaged lengths, angles. */
#include "sigproc-header.c" /* the plugin exports only its description */

#include <cornerturn/error.h>
#include <math.h>
#include <string.h>

static const char by_hand[] = "\x0c\0\0\0HEADER_START"
                              "\x0b\0\0\0source_name\x05\0\0\0B0531"
                              "\x06\0\0\0nchans\x00\x04\0\0"
                              "\x05\0\0\0tsamp\x9a\x99\x99\x99\x99\x99\xb9\x3f"
                              "\x06\0\0\0signed\x01"
                              "\x0a\0\0\0HEADER_END"
                              "samples";

static void
test_bytes(void)
{
    g_auto(SigprocHeader) header = {0};
    g_autoptr(GError) error = NULL;
    g_assert_true(sigproc_header_parse(&header, "x.fil", (const guint8 *)by_hand,
                                       sizeof by_hand - 1, &error));
    g_assert_no_error(error);
    g_assert_cmpuint(header.bytes, ==, sizeof by_hand - 1 - strlen("samples"));
    g_assert_false(header.big_endian);
    g_assert_cmpuint(header.given, ==,
                     1u << SIGPROC_SOURCE_NAME | 1u << SIGPROC_NCHANS | 1u << SIGPROC_TSAMP |
                         1u << SIGPROC_SIGNED);
    g_assert_cmpstr(header.text[SIGPROC_SOURCE_NAME], ==, "B0531");
    g_assert_cmpfloat(header.number[SIGPROC_NCHANS], ==, 1024);
    g_assert_cmpfloat(header.number[SIGPROC_TSAMP], ==, 0.1);
    g_assert_cmpfloat(header.number[SIGPROC_SIGNED], ==, 1);
    /* The bytes come back; only the order of keywords is the writer's. */
    g_autoptr(GBytes) bytes = sigproc_header_format(&header);
    g_assert_cmpuint(g_bytes_get_size(bytes), ==, header.bytes);
}

static gboolean
is_of_text(SigprocKeyword keyword)
{
    return keyword == SIGPROC_RAWDATAFILE || keyword == SIGPROC_SOURCE_NAME;
}

static gboolean
is_integer(SigprocKeyword keyword)
{
    static const SigprocKeyword reals[] = {
        SIGPROC_AZ_START, SIGPROC_ZA_START, SIGPROC_SRC_RAJ, SIGPROC_SRC_DEJ, SIGPROC_TSTART,
        SIGPROC_TSAMP,    SIGPROC_FCH1,     SIGPROC_FOFF,    SIGPROC_REFDM,   SIGPROC_PERIOD};
    for (guint i = 0; i < G_N_ELEMENTS(reals); i++)
        if (keyword == reals[i])
            return FALSE;
    return TRUE;
}

/* A header with every keyword, each of another value, negative ones too. */
static void
fill(SigprocHeader *header)
{
    for (guint k = 0; k < SIGPROC_N_KEYWORDS; k++) {
        const gdouble number = k % 2 ? -3.0 * k : k + 1;
        if (is_of_text(k))
            sigproc_set_text(header, k, k == SIGPROC_RAWDATAFILE ? "raw.dat" : "J0000+00");
        else
            sigproc_set(header, k, is_integer(k) ? number : number / 7);
    }
    header->n_frequencies = 3;
    header->frequencies = g_new(gdouble, 3);
    for (guint i = 0; i < 3; i++)
        header->frequencies[i] = 1400.5 - i * i;
}

static void
assert_equal(const SigprocHeader *a, const SigprocHeader *b)
{
    g_assert_cmpuint(a->given, ==, b->given);
    for (guint k = 0; k < SIGPROC_N_KEYWORDS; k++) {
        g_assert_cmpfloat(a->number[k], ==, b->number[k]);
        g_assert_cmpstr(a->text[k], ==, b->text[k]);
    }
    g_assert_cmpmem(a->frequencies, a->n_frequencies * sizeof(gdouble), b->frequencies,
                    b->n_frequencies * sizeof(gdouble));
}

/* Reverses the bytes of every number of a header that sigproc_header_format has made. */
static void
reverse(guint8 *bytes, gsize n)
{
    for (gsize at = 0; at < n;) {
        const gsize length = bytes[at];
        const char *text = (const char *)bytes + at + 4;
        gsize value = 0;
        for (guint k = 0; k < SIGPROC_N_KEYWORDS; k++) {
            const char *name = sigproc_keyword(k);
            if (length == strlen(name) && memcmp(text, name, length) == 0)
                value = is_of_text(k) ? 0 : k == SIGPROC_SIGNED ? 1 : is_integer(k) ? 4 : 8;
        }
        if (length == 8 && memcmp(text, "fchannel", 8) == 0)
            value = 8;
        const gsize numbers[][2] = {{at, 4}, {at + 4 + length, value}};
        for (guint i = 0; i < 2; i++)
            for (gsize k = 0; k < numbers[i][1] / 2; k++) {
                guint8 *left = bytes + numbers[i][0] + k;
                guint8 *right = bytes + numbers[i][0] + numbers[i][1] - 1 - k;
                const guint8 kept = *left;
                *left = *right;
                *right = kept;
            }
        at += 4 + length + value;
    }
}

static void
test_keywords(void)
{
    for (guint big = 0; big <= 1; big++) {
        g_auto(SigprocHeader) written = {0}, read = {0};
        g_autoptr(GError) error = NULL;
        fill(&written);
        g_assert_cmpuint(written.given, ==, (1u << SIGPROC_N_KEYWORDS) - 1);
        g_autoptr(GBytes) bytes = sigproc_header_format(&written);
        gsize n;
        g_autofree guint8 *copy = g_memdup2(g_bytes_get_data(bytes, &n), g_bytes_get_size(bytes));
        if (big)
            reverse(copy, n);
        g_assert_true(sigproc_header_parse(&read, "x.fil", copy, n, &error));
        g_assert_no_error(error);
        g_assert_cmpuint(read.bytes, ==, n);
        g_assert_cmpuint(read.big_endian, ==, big);
        assert_equal(&read, &written);
    }
}

/* A header that is cut anywhere is refused, and nothing behind the cut is read: the copy has no
 * byte more, so that a sanitizer would see it. */
static void
test_cuts(void)
{
    g_auto(SigprocHeader) written = {0};
    fill(&written);
    g_autoptr(GBytes) bytes = sigproc_header_format(&written);
    for (gsize n = 0; n < g_bytes_get_size(bytes); n++) {
        g_auto(SigprocHeader) read = {0};
        g_autoptr(GError) error = NULL;
        g_autofree guint8 *copy = g_memdup2(g_bytes_get_data(bytes, NULL), n);
        g_assert_false(sigproc_header_parse(&read, "x.fil", copy, n, &error));
        g_assert_error(error, CT_ERROR, CT_ERROR_DATA);
    }
}

static void
assert_refused(const char *bytes, gsize n, const char *message)
{
    g_auto(SigprocHeader) header = {0};
    g_autoptr(GError) error = NULL;
    g_assert_false(sigproc_header_parse(&header, "x.fil", (const guint8 *)bytes, n, &error));
    g_assert_error(error, CT_ERROR, CT_ERROR_DATA);
    g_assert_cmpstr(error->message, ==, message);
}

#define REFUSED(bytes_, message_) assert_refused(bytes_, sizeof(bytes_) - 1, message_)
#define START                     "\x0c\0\0\0HEADER_START"

static void
test_messages(void)
{
    REFUSED("not a filterbank file", "x.fil: byte 0: wants HEADER_START, but is given no SIGPROC "
                                     "header");
    REFUSED("\x0d\0\0\0HEADER_START\0",
            "x.fil: byte 0: wants HEADER_START, but is given no SIGPROC header");
    REFUSED(START "\x05\0\0\0npuls\1\0\0\0",
            "x.fil: byte 16: wants a keyword of SIGPROC, but is given 'npuls'");
    REFUSED(START "\x02\0\0\0\x01\n",
            "x.fil: byte 16: wants a keyword of SIGPROC, but is given '\\001\\n'");
    REFUSED(START "\xff\xff\xff\xff",
            "x.fil: byte 16: a keyword wants a length up to 80, but is given -1");
    REFUSED(START "\x0b\0\0\0source_name\x51\0\0\0",
            "x.fil: byte 31: source_name wants a length up to 80, but is given 81");
    REFUSED(START "\x06\0\0\0nchans\1\0",
            "x.fil: byte 26: wants 4 bytes of nchans, but is given 2 (no SIGPROC header, or "
            "truncated)");
    REFUSED(START "\x0f\0\0\0FREQUENCY_START\x06\0\0\0nchans",
            "x.fil: byte 35: wants fchannel or FREQUENCY_END after FREQUENCY_START");
}

static void
test_angles(void)
{
    static const struct {
        gdouble packed;
        gboolean is_hours;
        gdouble seconds; /* of time, or of arc */
    } angles[] = {
        {53431.97, TRUE, 5 * 3600 + 34 * 60 + 31.97},
        {53400, TRUE, 5 * 3600 + 34 * 60},
        {0, TRUE, 0},
        {235959.9999999, TRUE, 86399.9999999},
        {220052.2, FALSE, 22 * 3600 + 52.2},
        {-1.5, FALSE, -1.5}, /* −00:00:01.5 keeps its sign */
        {-895959.5, FALSE, -(89 * 3600 + 59 * 60 + 59.5)},
    };
    for (guint i = 0; i < G_N_ELEMENTS(angles); i++) {
        const gdouble radians = angles[i].seconds * G_PI / (angles[i].is_hours ? 43200 : 648000);
        /* Some rounding errors of 2⁻⁵³ each. */
        g_assert_cmpfloat_with_epsilon(sigproc_angle_read(angles[i].packed, angles[i].is_hours),
                                       radians, 8 * 0x1p-53 * (1 + fabs(radians)));
        g_assert_cmpfloat_with_epsilon(sigproc_angle_write(radians, angles[i].is_hours),
                                       angles[i].packed, 0x1p-52 * (1 + fabs(angles[i].packed)));
    }
    g_assert_cmpfloat(sigproc_angle_write(-G_PI / 12, TRUE), ==, 230000);
    g_assert_cmpfloat(sigproc_angle_write(2 * G_PI, TRUE), ==, 0);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/sigproc-header/bytes", test_bytes);
    g_test_add_func("/sigproc-header/keywords", test_keywords);
    g_test_add_func("/sigproc-header/cuts", test_cuts);
    g_test_add_func("/sigproc-header/messages", test_messages);
    g_test_add_func("/sigproc-header/angles", test_angles);
    return g_test_run();
}
