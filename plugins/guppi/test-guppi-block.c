/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of GUPPI RAW: cards, headers, levels of 2 bits, and the fast unpacking against the plain.
 */
#include "guppi-block.c" /* the plugin exports only its description */
#include "guppi-header.c"

static GString *
make_cards(const char *const *lines)
{
    GString *cards = g_string_new(NULL);
    for (guint i = 0; lines[i]; i++)
        g_string_append_printf(cards, "%-80s", lines[i]);
    return g_string_append(cards, "END" /* and 77 spaces */
                                  "                                                              "
                                  "               ");
}

/* A header of the given lines, and of these where the lines do not have their keywords. */
static GuppiHeader
parse(const char *const *lines, GError **error)
{
    static const char *const common[] = {"BLOCSIZE=    4096", "OBSNCHAN=       4",
                                         "NPOL    =       4", "OBSBW   =  -187.5",
                                         "OBSFREQ =  1500.0", NULL};
    g_autoptr(GPtrArray) all = g_ptr_array_new();
    for (guint i = 0; lines[i]; i++)
        g_ptr_array_add(all, (gpointer)lines[i]);
    for (guint i = 0; common[i]; i++)
        g_ptr_array_add(all, (gpointer)common[i]);
    g_ptr_array_add(all, NULL);
    GString *cards = make_cards((const char *const *)all->pdata);
    GuppiHeader header = {0};
    g_assert_cmpint(guppi_cards_find_end((const guint8 *)cards->str, cards->len), ==, cards->len);
    guppi_header_parse((const guint8 *)cards->str, cards->len, &header, error);
    g_string_free(cards, TRUE);
    return header;
}

#define PARSE(error, ...) parse((const char *const[]){__VA_ARGS__, NULL}, error)

static void
test_header(void)
{
    g_autoptr(GError) error = NULL;
    GuppiHeader header =
        PARSE(&error, "NBITS   = '4       '   / of a part", "DIRECTIO= 1", "OVERLAP = 16.0",
              "TELESCOP= 'GBT     '", "SRC_NAME= unknown", "RA_STR  = '12:00:00'",
              "DEC_STR = '+30:00:00.0'", "TBIN    = 2.13333333333333E-08", "STT_IMJD= 58132",
              "STT_SMJD= 51093", "STT_OFFS= -0.25");
    g_assert_no_error(error);
    g_assert_cmpint(header.bytes, ==, 1536); /* 17 cards have 1360 bytes */
    g_assert_cmpint(header.bits, ==, 4);
    g_assert_cmpint(header.n_samples, ==, 512);
    g_assert_cmpint(header.overlap, ==, 16);
    g_assert_cmpint(header.n_pols, ==, 2);
    g_assert_false(header.has_index);
    g_assert_cmpstr(header.telescope, ==, "GBT");
    g_assert_cmpstr(header.source, ==, "");
    g_assert_cmpint(header.rate_num, ==, 46875000);
    g_assert_cmpint(header.rate_den, ==, 1);
    g_assert_cmpint(header.second, ==, (58132 - 40587) * 86400LL + 51092);
    g_assert_cmpfloat(header.fraction, ==, 0.75);
    g_assert_cmpfloat(header.frequency_step, ==, -46.875e6);
    g_assert_cmpfloat(header.first_frequency, ==, 1500e6 + 1.5 * 46.875e6);
    g_assert_cmpfloat_with_epsilon(header.direction[0], G_PI, 1e-12);
    g_assert_cmpfloat_with_epsilon(header.direction[1], G_PI / 6, 1e-12);
}

/* The rate is the width of a channel, also where it is no whole number, unless TBIN contradicts. */
static void
test_rate(void)
{
    static const struct {
        const char *lines[4];
        gint64 numerator, denominator;
    } rates[] = {
        {{"TBIN    = 2.13333333333333E-08"}, 46875000, 1},
        {{"OBSBW   = 11.71875", "TBIN    = 3.41333333333333E-07"}, 5859375, 2},
        {{"OBSBW   = 0", "CHAN_BW = -0.5", "TBIN    = 2E-06"}, 500000, 1},
        {{"OBSBW   = 0", "TBIN    = 0.004"}, 250, 1},
        {{"OBSBW   = 4", "TBIN    = 0.00000075"}, 4000000, 3}, /* oversampled by 4/3 */
        {{"OBSBW   = 4", "TBIN    = 7.4999999999999999e-07"}, 4000000, 3},
    };
    for (guint i = 0; i < G_N_ELEMENTS(rates); i++) {
        g_autoptr(GError) error = NULL;
        const GuppiHeader header = parse(rates[i].lines, &error);
        g_assert_no_error(error);
        g_assert_cmpint(header.rate_num, ==, rates[i].numerator);
        g_assert_cmpint(header.rate_den, ==, rates[i].denominator);
    }
}

/* Which of the keywords says how the index grows, and when it was that of the start. */
static void
test_index(void)
{
    static const struct {
        const char *lines[6];
        gint64 step, origin;
    } indices[] = {
        {{"PKTIDX  = 30"}, 0, 0},
        {{"PKTIDX  = 30", "PKTSIZE = 1024"}, 4, 0},
        {{"PKTIDX  = 30", "PKTSIZE = 1024", "NBITS   = 2"}, 16, 0},
        {{"PKTIDX  = 30", "PKTSIZE = 1024", "NBITS   = 4"}, 8, 0},
        {{"PKTIDX  = 30", "PKTSIZE = 1024", "NBITS   = 16"}, 4, 0},
        {{"PKTIDX  = 30", "PKTSIZE = 1000"}, 0, 0},
        {{"PKTIDX  = 30", "PKTSIZE = 1024", "PKTNTIME= 16"}, 16, 0},
        {{"PKTIDX  = 30", "PKTSIZE = 1024", "PIPERBLK= 8", "PKTSTART= 20"}, 8, 20},
        {{"PKTIDX  = 30", "PIPERBLK= 8", "SYNCTIME= 1600000000"}, 8, -1},
    };
    for (guint i = 0; i < G_N_ELEMENTS(indices); i++) {
        g_autoptr(GError) error = NULL;
        const GuppiHeader header = parse(indices[i].lines, &error);
        g_assert_no_error(error);
        g_assert_true(header.has_index);
        g_assert_cmpint(header.index, ==, 30);
        g_assert_cmpint(header.index_step, ==, indices[i].step);
        g_assert_cmpint(header.index_origin, ==, indices[i].origin);
    }
}

static void
test_header_errors(void)
{
    static const struct {
        const char *line, *message;
    } wrong[] = {
        {"NBITS   = 3", "NBITS wants 2, 4, 8 or 16, but is given '3'"},
        {"NBITS   = many", "NBITS wants a whole number from -9223372036854775808 to "
                           "9223372036854775807, but is given 'many'"},
        {"DATATYPE= 'FLOAT'", "DATATYPE wants INTEGER, but is given 'FLOAT'"},
        {"NPOL    = 3", "NPOL wants 1, 2 or 4, but is given '3'"},
        {"OBSNCHAN= 0", "OBSNCHAN wants a whole number from 1 to 16777216, but is given '0'"},
        {"NANTS   = 3", "OBSNCHAN wants the same number of channels for each of 3 stations "
                        "(NANTS), but is given '4'"},
        {"BLOCSIZE= 15", "BLOCSIZE wants whole samples of 128 bits, but is given '15' bytes"},
        {"BLOCSIZE= 24", "BLOCSIZE wants whole samples of 128 bits, but is given '24' bytes"},
        {"BLOCSIZE= -1", "BLOCSIZE wants a whole number from 1 to 1099511627776, but is given "
                         "'-1'"},
        {"OVERLAP = 256", "OVERLAP wants a whole number from 0 to 255, but is given '256'"},
        {"PKTIDX  = 1.5", "PKTIDX wants a whole number from 0 to 1152921504606846976, but is given "
                          "'1.5'"},
        {"TBIN    = nan", "TBIN wants a finite number, but is given 'nan'"},
        {"TBIN    = 1e-300", "TBIN wants the seconds from one sample to the next, for a rate from "
                             "1 mHz to 4 GHz, but is given '1e-300' (and OBSBW '-187.5')"},
        {"STT_OFFS= 1e9", "STT_OFFS wants a part of a second, but is given '1e9'"},
        {"STT_SMJD= 86401", "STT_SMJD wants a whole number from 0 to 86400, but is given '86401'"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_autoptr(GError) error = NULL;
        PARSE(&error, wrong[i].line);
        g_assert_error(error, CT_ERROR, CT_ERROR_DATA);
        g_assert_cmpstr(error->message, ==, wrong[i].message);
    }
}

static void
test_cards(void)
{
    GString *cards = make_cards((const char *const[]){"A", "ENDS    = 1", "C", NULL});
    const guint8 *bytes = (const guint8 *)cards->str;
    g_assert_cmpint(guppi_cards_find_end(bytes, cards->len), ==, 320);
    g_assert_cmpint(guppi_cards_find_end(bytes, 319), ==, 0);
    cards->str[170] = '\n';
    g_assert_cmpint(guppi_cards_find_end(bytes, cards->len), ==, -1);
    g_string_free(cards, TRUE);

    cards = make_cards((const char *const[]){"ANTNMS00= '1a, 1b'", "ANTNMS01= '2c'", NULL});
    g_auto(GStrv) names = guppi_header_stations((const guint8 *)cards->str, cards->len);
    g_autofree char *all = g_strjoinv(" ", names);
    g_assert_cmpstr(all, ==, "1a 1b 2c");
    g_string_free(cards, TRUE);
}

/* Two polarisations of 2 bits: 0xe4 is 3 2 1 0 from the high end. */
static void
test_levels(void)
{
    static const GuppiHeader header = {
        .bits = 2, .n_stations = 1, .n_channels = 1, .n_pols = 2, .n_samples = 1};
    static const GuppiStrides strides = {.time = 16, .pol = 8};
    static const gfloat high[] = {-3.335875f, -1, 1, 3.335875f},
                        low[] = {3.335875f, 1, -1, -3.335875f};
    const guint8 byte = 0xe4;
    gfloat out[4];
    guppi_block_unpack_plain(&header, FALSE, &byte, 0, 1, (guint8 *)out, &strides);
    g_assert_cmpmem(out, sizeof out, high, sizeof high);
    guppi_block_unpack_plain(&header, TRUE, &byte, 0, 1, (guint8 *)out, &strides);
    g_assert_cmpmem(out, sizeof out, low, sizeof low);
}

/* All types, shapes and orders in the block, to four orders in memory. */
static void
test_unpack(void)
{
    static const gint64 all_bits[] = {2, 4, 8, 16};
    const guint32 seed = g_test_rand_int();
    g_autoptr(GRand) random = g_rand_new_with_seed(seed);
    g_test_message("seed %u", seed);
    for (guint i = 0; i < 256; i++) {
        const GuppiHeader header = {
            .bits = all_bits[i % 4],
            .n_pols = 1 + i / 4 % 2,
            .n_stations = 1 + i / 8 % 2,
            .is_time_first = i / 16 % 2,
            .n_channels = g_rand_int_range(random, 1, 6),
            .n_samples = 2 * g_rand_int_range(random, 1, 100),
        };
        const gint64 n = header.n_samples, c = header.n_channels, s = header.n_stations,
                     p = header.n_pols, bytes = header.bits == 2 ? 8 : header.bits / 4;
        const GuppiStrides orders[] = {
            {.pol = bytes,
             .station = p * bytes,
             .channel = s * p * bytes,
             .time = c * s * p * bytes},
            {.pol = bytes,
             .time = p * bytes,
             .channel = n * p * bytes,
             .station = c * n * p * bytes},
            {.time = bytes,
             .channel = n * bytes,
             .station = c * n * bytes,
             .pol = s * c * n * bytes},
            {.channel = bytes,
             .pol = c * bytes,
             .time = p * c * bytes,
             .station = n * p * c * bytes},
        };
        const gsize block_bytes = n * c * s * p * 2 * header.bits / 8, all = n * c * s * p * bytes;
        g_autofree guint8 *block = g_malloc(block_bytes), *fast = g_malloc(all),
                          *plain = g_malloc(all);
        for (gsize b = 0; b < block_bytes; b++)
            block[b] = g_rand_int(random);
        memset(fast, 0xee, all);
        memset(plain, 0xee, all);
        const gint64 begin = g_rand_int_range(random, 0, n),
                     end = g_rand_int_range(random, begin, n) + 1;
        const GuppiStrides *order = &orders[i / 32 % 4];
        guppi_block_unpack(&header, i / 128, block, begin, end, fast, order);
        guppi_block_unpack_plain(&header, i / 128, block, begin, end, plain, order);
        g_assert_cmpmem(fast, all, plain, all);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/guppi/header", test_header);
    g_test_add_func("/guppi/rate", test_rate);
    g_test_add_func("/guppi/index", test_index);
    g_test_add_func("/guppi/header-errors", test_header_errors);
    g_test_add_func("/guppi/cards", test_cards);
    g_test_add_func("/guppi/levels", test_levels);
    g_test_add_func("/guppi/unpack", test_unpack);
    return g_test_run();
}
