/* SPDX-License-Identifier: BSD-3-Clause */
/* The figures of a machine as tables, beside those of another one. */
#include "bench-report.h"
#include "model/table.h"

#include <math.h>
#include <string.h>

/* From this share of waiting threads on, figures are of a machine that others use, too. */
static const gdouble least_load = 0.1;

/* "1.234 G"; "" where it is not known. */
static char *
rate_text(gdouble rate)
{
    static const char prefixes[] = " kMGTP";
    gsize i = 0;
    if (!isfinite(rate))
        return g_strdup("");
    for (; rate >= 1000 && i + 2 < sizeof prefixes; i++)
        rate /= 1000;
    return g_strdup_printf("%.*f %c", rate < 10 ? 2 : rate < 100 ? 1 : 0, rate, prefixes[i]);
}

static char *
megahertz_text(gdouble rate)
{
    return isfinite(rate) ? g_strdup_printf("%.2f", 1e-6 * rate) : g_strdup("");
}

static char *
share_text(gdouble share)
{
    return isfinite(share) && share > 0 ? g_strdup_printf("%.1f%%", 100 * share) : g_strdup("");
}

static char *
ratio_text(gdouble ratio)
{
    return isfinite(ratio) ? g_strdup_printf("%.2f", ratio) : g_strdup("");
}

static char *
joules_text(gdouble joules)
{
    return isfinite(joules) ? g_strdup_printf("%.3g", 1e9 * joules) : g_strdup("not measured");
}

static char *
seconds_text(gdouble seconds)
{
    return !isfinite(seconds) ? g_strdup("")
           : seconds < 1      ? g_strdup_printf("%.3g ms", 1e3 * seconds)
                              : g_strdup_printf("%.3g s", seconds);
}

/* "16384", "1.00 M" */
static char *
count_text(gdouble count)
{
    return count < 1e5 ? g_strdup_printf("%.0f", count) : g_strchomp(rate_text(count));
}

/* "5 x 1024": so many whole sums or runs were measured; "310 of 1024": a part of one was. */
static char *
stretch_text(const CtBenchRow *row)
{
    if (!(row->whole > 0) || !isfinite(row->stretch))
        return g_strdup("");
    g_autofree char *whole = count_text(row->whole), *stretch = count_text(row->stretch);
    return row->stretch < 0.99 * row->whole
               ? g_strdup_printf("%s of %s", stretch, whole)
               : g_strdup_printf("%.0f x %s", row->stretch / row->whole, whole);
}

/* "1.21 x FFTW": the name of the other way is after the last comma. */
static char *
gain_text(const CtBenchRow *row)
{
    const char *comma = row->beside ? strrchr(row->beside, ',') : NULL;
    return isfinite(row->gain) && row->beside
               ? g_strdup_printf("%.2f x %s", row->gain,
                                 comma && comma[1] ? comma + 2 : row->beside)
               : g_strdup("");
}

static char *
published_text(const CtBenchRow *row)
{
    return row->published
               ? g_strdup_printf("%s: %s", row->source ? row->source : "", row->published)
               : g_strdup("");
}

/* ---- the other machine ---- */

static const CtBenchCeiling *
find_ceiling(const CtBench *other, const CtBenchCeiling *like)
{
    for (guint i = 0; other && i < other->ceilings->len; i++) {
        const CtBenchCeiling *one = other->ceilings->pdata[i];
        if (g_str_equal(one->place, like->place) && g_str_equal(one->name, like->name) &&
            (one->workers > 1) == (like->workers > 1))
            return one;
    }
    return NULL;
}

static const CtBenchRow *
find_row(const CtBench *other, const CtBenchRow *like)
{
    for (guint i = 0; other && i < other->rows->len; i++) {
        const CtBenchRow *one = other->rows->pdata[i];
        if (g_str_equal(one->group, like->group) && g_str_equal(one->name, like->name) &&
            g_str_equal(one->place, like->place))
            return one;
    }
    return NULL;
}

/* ---- tables ---- */

/* `other`, unless NULL, is the machine beside it: versions that differ are told. */
static void
append_machine(GString *text, const char *title, const CtBench *bench, const CtBench *other)
{
    g_string_append_printf(text, "%s: %s, %" G_GINT64_FORMAT " worker%s", title,
                           bench->machine ? bench->machine : "not known", bench->workers,
                           bench->workers == 1 ? "" : "s");
    for (guint i = 0; i < bench->devices->len; i++)
        g_string_append_printf(text, "; cuda:%u %s", i, (const char *)bench->devices->pdata[i]);
    if (other && g_strcmp0(bench->version, other->version) != 0)
        g_string_append_printf(text, "; Cornerturn %s",
                               bench->version ? bench->version : "unknown");
    g_string_append_printf(text, "%s\n", bench->is_partial ? "; ended early" : "");
}

/* Tells that other programs ran, if they did for long. */
static void
append_load(GString *text, const char *title, const CtBench *bench)
{
    const CtBenchRow *most = NULL;
    for (guint i = 0; i < bench->rows->len; i++) {
        const CtBenchRow *row = bench->rows->pdata[i];
        if (row->waited > (most ? most->waited : 0))
            most = row;
    }
    if (most && most->waited >= least_load)
        g_string_append_printf(text,
                               "%s: other programs ran: threads waited for a processor for up to "
                               "%.0f%% of the time ('%s')\n",
                               title, 100 * most->waited, most->name);
}

/* When a column is there: always, beside another machine, or where a row of the table knows it. */
typedef enum {
    ALWAYS,
    BESIDE,
    TRANSFERS,
    ENERGY,
    STATIONS,
    STATIONS_BESIDE,
    WHOLE,
    GAIN,
    PUBLISHED,
    N_WHENS,
} When;

typedef struct {
    CtColumn column;
    When when;
} Column;

/* Prints rows of `n` cells. `shows` says which columns, by When. */
static void
append_table(GString *text, const Column *columns, guint n, GPtrArray *rows, const gboolean *shows)
{
    g_autofree CtColumn *shown = g_new(CtColumn, n);
    g_autoptr(GPtrArray) chosen = ct_table_rows_new();
    guint n_shown = 0;
    for (guint c = 0; c < n; c++)
        if (shows[columns[c].when])
            shown[n_shown++] = columns[c].column;
    for (guint r = 0; r < rows->len; r++) {
        char **cells = rows->pdata[r], **row = g_new0(char *, n_shown + 1);
        for (guint c = 0, to = 0; c < n; c++)
            if (shows[columns[c].when])
                row[to++] = g_strdup(cells[c]);
        g_ptr_array_add(chosen, row);
    }
    ct_table_print(text, shown, n_shown, chosen);
}

static void
add_cells(GPtrArray *rows, char *const *cells, guint n)
{
    char **row = g_new0(char *, n + 1);
    memcpy(row, cells, n * sizeof *row);
    g_ptr_array_add(rows, row);
}

static void
append_ceilings(GString *text, const CtBench *bench, const CtBench *other)
{
    static const Column columns[] = {
        {{"ceilings", FALSE}},     {{"place", FALSE}}, {{"workers", TRUE}},
        {{"per second", TRUE}},    {{"", FALSE}},      {{"other", TRUE}, BESIDE},
        {{"ratio", TRUE}, BESIDE},
    };
    const gboolean shows[N_WHENS] = {[ALWAYS] = TRUE, [BESIDE] = other != NULL};
    g_autoptr(GPtrArray) rows = ct_table_rows_new();
    for (guint i = 0; i < bench->ceilings->len; i++) {
        const CtBenchCeiling *ceiling = bench->ceilings->pdata[i];
        const CtBenchCeiling *beside = find_ceiling(other, ceiling);
        const gdouble rate = beside ? beside->rate : NAN;
        char *cells[G_N_ELEMENTS(columns)] = {
            g_strdup(ceiling->name),
            g_strdup(ceiling->place),
            ceiling->workers ? g_strdup_printf("%" G_GINT64_FORMAT, ceiling->workers)
                             : g_strdup(""),
            rate_text(ceiling->rate),
            g_strndup(ceiling->unit, strcspn(ceiling->unit, "/")),
            rate_text(rate),
            ratio_text(ceiling->rate / rate),
        };
        add_cells(rows, cells, G_N_ELEMENTS(cells));
    }
    if (rows->len == 0)
        return;
    g_string_append_c(text, '\n');
    append_table(text, columns, G_N_ELEMENTS(columns), rows, shows);
}

/* A case of a device that this machine does not have, and about which the other one knows nothing.
 */
static gboolean
is_left_out(const CtBenchRow *row, const CtBenchRow *beside)
{
    return row->skipped && g_str_has_prefix(row->skipped, "no device: ") &&
           !(beside && beside->samples > 0);
}

/* Adds a row of cells; `shows` gets the columns for which it has something. */
static void
add_case(GPtrArray *rows, const CtBenchRow *row, const CtBenchRow *found, gboolean *shows)
{
    static const CtBenchRow none = {
        .samples = NAN, .of_fma = NAN, .of_copy = NAN, .of_station = NAN};
    const CtBenchRow *beside = found ? found : &none;
    char *cells[] = {
        g_strdup(row->name),
        g_strdup(row->place),
        rate_text(row->samples),
        rate_text(beside->samples),
        ratio_text(row->samples / beside->samples),
        rate_text(row->operations),
        share_text(row->of_fma),
        share_text(beside->of_fma),
        rate_text(row->bytes),
        share_text(row->of_copy),
        share_text(beside->of_copy),
        share_text(row->of_transfer),
        joules_text(row->joules),
        megahertz_text(row->of_station),
        megahertz_text(beside->of_station),
        stretch_text(row),
        seconds_text(row->run),
        seconds_text(row->planning),
        seconds_text(row->allocation),
        gain_text(row),
        published_text(row),
        row->skipped ? g_strconcat("skipped: ", row->skipped, NULL)
                     : g_strdup(row->variants ? row->variants : ""),
    };
    add_cells(rows, cells, G_N_ELEMENTS(cells));
    shows[TRANSFERS] |= row->of_transfer > 0;
    shows[ENERGY] |= isfinite(row->joules);
    shows[STATIONS] |= isfinite(row->of_station) || isfinite(beside->of_station);
    shows[WHOLE] |= row->whole > 0;
    shows[GAIN] |= row->beside != NULL;
    shows[PUBLISHED] |= row->published != NULL;
}

/* The cases of a group and, unless it is NULL, of a family. */
static void
append_cases(GString *text, const CtBench *bench, const CtBench *other, const char *group,
             const char *family)
{
    g_autofree char *title = g_strjoin(" ", group, family, NULL);
    const Column columns[] = {
        {{title, FALSE}},
        {{"place", FALSE}},
        {{"samples/s", TRUE}},
        {{"other", TRUE}, BESIDE},
        {{"ratio", TRUE}, BESIDE},
        {{"operations/s", TRUE}},
        {{"of FMA", TRUE}},
        {{"other", TRUE}, BESIDE},
        {{"bytes/s", TRUE}},
        {{"of copies", TRUE}},
        {{"other", TRUE}, BESIDE},
        {{"of transfers", TRUE}, TRANSFERS},
        {{"nJ/operation", TRUE}, ENERGY},
        {{"MHz of a station", TRUE}, STATIONS},
        {{"other", TRUE}, STATIONS_BESIDE},
        {{"measured", TRUE}, WHOLE},
        {{"one takes", TRUE}, WHOLE},
        {{"planning", TRUE}, WHOLE},
        {{"allocation", TRUE}, WHOLE},
        {{"gain", FALSE}, GAIN},
        {{"published", FALSE}, PUBLISHED},
        {{"variants", FALSE}},
    };
    gboolean shows[N_WHENS] = {[ALWAYS] = TRUE, [BESIDE] = other != NULL};
    g_autoptr(GPtrArray) rows = ct_table_rows_new();
    guint n_left_out = 0;
    const char *reason = NULL;
    for (guint i = 0; i < bench->rows->len; i++) {
        const CtBenchRow *row = bench->rows->pdata[i], *beside = find_row(other, row);
        if (!g_str_equal(row->group, group) || (family && !g_str_equal(row->family, family)))
            continue;
        if (is_left_out(row, beside)) {
            n_left_out++;
            reason = row->skipped;
        } else {
            add_case(rows, row, beside, shows);
        }
    }
    shows[STATIONS_BESIDE] = shows[STATIONS] && other;
    if (rows->len > 0 || n_left_out > 0)
        g_string_append_c(text, '\n');
    if (rows->len > 0)
        append_table(text, columns, G_N_ELEMENTS(columns), rows, shows);
    if (n_left_out > 0)
        g_string_append_printf(text, "%s on a device: %u case%s skipped: %s\n", title, n_left_out,
                               n_left_out == 1 ? "" : "s", reason);
}

/* The published cases differ in what is known of them: a table for each family. */
static void
append_published(GString *text, const CtBench *bench, const CtBench *other)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint i = 0; i < bench->rows->len; i++) {
        const CtBenchRow *row = bench->rows->pdata[i];
        if (g_str_equal(row->group, "published") && g_hash_table_add(seen, row->family))
            append_cases(text, bench, other, row->group, row->family);
    }
}

char *
ct_bench_to_text(const CtBench *bench, const CtBench *other)
{
    GString *text = g_string_new(NULL);
    const char *title = other ? "this machine" : "machine";
    append_machine(text, title, bench, other);
    append_load(text, title, bench);
    if (other) {
        append_machine(text, "other machine", other, bench);
        append_load(text, "other machine", other);
    }
    if (bench->energy)
        g_string_append_printf(text, "energy: not measured: %s\n", bench->energy);
    append_ceilings(text, bench, other);
    append_cases(text, bench, other, "stages", NULL);
    append_cases(text, bench, other, "pipelines", NULL);
    append_published(text, bench, other);
    if (other)
        ct_bench_append_comparison(text, bench, other);
    return g_string_free(text, FALSE);
}
