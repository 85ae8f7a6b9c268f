/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the radices of passes. */
#include "fft-radices.h"

/* Values in a sector of the cache. The measured cost of a pass and of pieces that are no whole
 * sectors, in times that of as many values as a thread has. */
#define SECTOR_VALUES 4
#define PASS_COST     0.4
#define PIECES_COST   0.5
#define OTHER_COST    0.001

/* Those of fft-radix.h, the largest first. */
static const guint known[] = {16, 15, 12, 10, 9, 8, 6, 5, 4, 3, 2};

/* The search: its aim, the radices tried so far, and the best ones. */
typedef struct {
    gint64 length;
    guint unit, n_values;
    FftRadices made, best;
    guint least_cost;
} Search;

static guint
held(guint radix, guint n_values)
{
    return ((n_values - 1) / radix + 1) * radix;
}

/* The values by which those of some threads exceed n_values, of all passes. */
static guint
count_idle(const FftRadices *radices, guint n_values)
{
    guint sum = 0;

    for (guint pass = 0; pass < radices->n_passes; pass++)
        sum += held(radices->radix[pass], n_values) - n_values;
    return sum;
}

/* Few passes count most, but threads side by side write channels side by side if there are two.
 * Then threads that have a transform less than others count, and then the size of the radices. */
static guint
cost(const FftRadices *radices, guint n_values)
{
    const gboolean is_one = radices->n_passes == 1;
    guint sum = (radices->n_passes + is_one) << 20;

    for (guint pass = 0; pass < radices->n_passes; pass++)
        sum += radices->radix[pass];
    return sum + count_idle(radices, n_values) * 1024 + is_one;
}

/* The last pass writes, so all threads have as many values, and if the length is even, half of it
 * is a number of them. */
static gboolean
is_last(const Search *search, guint radix)
{
    return search->n_values % radix == 0 && (radix % 2 == 0 || search->length % 2 != 0);
}

/* Tries all radices of what is left of the length. */
static void
search_from(Search *search, gint64 left)
{
    FftRadices *made = &search->made;

    for (guint i = 0; i < G_N_ELEMENTS(known) && made->n_passes < FFT_MOST_PASSES; i++) {
        const guint radix = known[i];
        if (left % radix != 0 || radix % search->unit != 0 || radix > search->n_values)
            continue;
        made->radix[made->n_passes++] = radix;
        const guint now = cost(made, search->n_values);
        if (now < search->least_cost && left > radix) {
            search_from(search, left / radix);
        } else if (now < search->least_cost && is_last(search, radix)) {
            search->best = *made;
            search->least_cost = now;
        }
        made->n_passes--;
    }
}

gboolean
ct_fft_radices_find(FftRadices *radices, gint64 length, guint unit, guint n_values)
{
    Search search = {.length = length, .unit = unit, .n_values = n_values, .least_cost = G_MAXUINT};

    search_from(&search, length);
    *radices = search.best;
    return radices->n_passes > 0;
}

guint
ct_fft_radices_held(const FftRadices *radices, guint n_values)
{
    guint most = 0;

    for (guint pass = 0; pass < radices->n_passes; pass++)
        most = MAX(most, held(radices->radix[pass], n_values));
    return most;
}

/* The cost of passes of a thread with n_values. */
static gdouble
cost_of(const FftRadices *radices, gint64 length, guint n_values)
{
    const gint64 piece = length / radices->radix[radices->n_passes - 1];
    return PASS_COST * radices->n_passes + (gdouble)count_idle(radices, n_values) / n_values +
           (piece % SECTOR_VALUES != 0 ? PIECES_COST : 0);
}

guint
ct_fft_radices_choose(FftRadices *radices, gint64 length, guint unit, guint least, guint usual)
{
    gdouble least_cost = G_MAXDOUBLE;
    guint chosen = 0;

    for (guint n = least; n <= usual + usual / 4; n++) {
        FftRadices found;
        if (!ct_fft_radices_find(&found, length, unit, unit * n))
            continue;
        const gdouble now =
            cost_of(&found, length, unit * n) + OTHER_COST * (n > usual ? usual : usual - n);
        if (now >= least_cost)
            continue;
        least_cost = now;
        *radices = found;
        chosen = n;
    }
    return chosen;
}

guint
ct_fft_radices_registers(const FftRadices *radices)
{
    guint sum = 0;

    for (guint pass = 1; pass < radices->n_passes; pass++) {
        const guint radix = radices->radix[pass];
        const guint inner = radix % 4 == 0 ? 4 : radix % 5 == 0 ? 5 : radix % 3 == 0 ? 3 : 2;
        const guint outer = radix / inner;
        const gboolean is_power = (radix & (radix - 1)) == 0;
        const guint n_squares = inner != 4 ? 0 : outer > 2 ? 2 : 1;
        sum += 2 * (is_power ? outer / 2 + outer + n_squares : inner + outer - 2);
    }
    return sum;
}

char *
ct_fft_radices_define(const FftRadices *radices)
{
    GString *text = g_string_new("RADICES=");

    for (guint pass = 0; pass < radices->n_passes; pass++)
        g_string_append_printf(text, pass > 0 ? ",%u" : "%u", radices->radix[pass]);
    return g_string_free(text, FALSE);
}
